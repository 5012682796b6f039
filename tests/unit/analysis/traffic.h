/* A reproducible stream with every kind of impairment. */
#ifndef OFFHOOK_TESTS_UNIT_ANALYSIS_TRAFFIC_H
#define OFFHOOK_TESTS_UNIT_ANALYSIS_TRAFFIC_H

#include "media/analysis/stream.h"

static inline void traffic_map(struct rtp_payload_map *map)
{
	*map = (struct rtp_payload_map){0};
	rtp_payload_map_add(map, 0, "PCMU", 8000);
	rtp_payload_map_add(map, 8, "PCMA", 8000);
	rtp_payload_map_add(map, 13, "CN", 8000);
	rtp_payload_map_add(map, 101, "telephone-event", 8000);
	rtp_payload_map_add(map, 111, "opus", 48000);
}

/*
 * The next packet: mostly in order; sometimes a loss, a duplicate, a late
 * packet, a marker, an event, silence, another clock rate or a jump.
 */
static inline struct packet_record traffic_next(struct packet_record *at,
						uint64_t *seed)
{
	static const uint8_t octets[] = {0x80, 101, 13, 111, 99, 8};
	uint64_t dice = *seed = *seed * UINT64_C(6364136223846793005) + 1;
	struct packet_record r;

	dice >>= 40;
	at->seq++;
	at->rtp_ts += 160;
	at->mono_ns += 19000000 + (int64_t)(dice % 2000000);
	r = *at;
	if (dice % 16 == 0)
		r.seq = (uint16_t)(r.seq - dice / 16 % 1100);
	else if (dice % 64 == 1)
		at->seq = (uint16_t)(at->seq + dice / 64 % 300);
	else if (dice % 2048 == 2)
		at->seq = (uint16_t)(dice >> 4);
	else if (dice % 64 == 3)
		r.marker_pt = octets[dice / 64 % sizeof(octets)];
	return r;
}

#endif
