/**
 * What the receiving and sending threads tell the analysis thread about one
 * packet: a record of 32 bytes, pushed through a ring (base/ring.h).
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RECORD_H
#define OFFHOOK_MEDIA_ANALYSIS_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#define PACKET_MARKER_BIT 0x80
#define PACKET_PT_MASK    0x7f

enum packet_kind {
	PACKET_RTP_RECEIVED = 0,
	PACKET_RTP_SENT = 1,
	/* From here on the values belong to the owner of the ring (control
	 * messages in the same order as packets); the analysis ignores them. */
	PACKET_PRIVATE = 16,
};

struct packet_record {
	int64_t mono_ns; /* received: the kernel's receive time; sent:
				 * the time of the send call; monotonic */
	uint32_t rtp_ts; /* RTP timestamp, ticks */
	uint32_t ssrc;
	uint32_t session;    /* index of the session at its owner */
	int32_t lateness_us; /* sent: due to sent, saturated; received: 0 */
	uint16_t seq;
	uint16_t payload_bytes; /* without header and padding */
	uint16_t header_bytes;  /* fixed header, CSRCs and extension */
	uint8_t marker_pt;      /* second octet of the header: M and PT */
	uint8_t kind;           /* enum packet_kind */
};

_Static_assert(sizeof(struct packet_record) == 32, "ring record size");

/* Packets of a stream that are taken into account at once: half a second of
 * 20 ms, so that few wait when a second is closed. */
#define RTP_RUN_MAX 25
/* Arrays of a run: of whole vectors; what is beyond the run is never used. */
#define RTP_RUN_WHOLE 28

static inline uint8_t packet_pt(const struct packet_record *r)
{
	return r->marker_pt & PACKET_PT_MASK;
}

static inline bool packet_marker(const struct packet_record *r)
{
	return (r->marker_pt & PACKET_MARKER_BIT) != 0;
}

#endif
