/*
 * Any order of any sequence numbers, timestamps, payload types and arrival
 * times. The counters add up after every packet, and the live analysis finds
 * the same loss as the detailed one.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "media/analysis/detail.h"
#include "media/analysis/quality.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEP_BYTES 8

static void check(struct rtp_stream *s)
{
	struct rtp_counters c;

	rtp_stream_counters(s, &c);
	if (c.packets != c.received + c.duplicates + c.stray + c.pending ||
	    c.expected < c.received || c.lost != c.expected - c.received ||
	    !isfinite(s->timing.jitter_ms) || s->timing.jitter_ms < 0)
		abort();
}

static struct packet_record next_record(struct packet_record *at,
					const uint8_t *p)
{
	struct packet_record r;
	uint16_t seq = (uint16_t)(p[1] << 8 | p[2]);

	/*
	 * Mostly a regular stream, with jumps: this reaches deeper states than
	 * noise.
	 */
	at->seq++;
	at->rtp_ts += 160;
	at->mono_ns += p[7] * INT64_C(200000);
	r = *at;
	r.marker_pt = p[6] & 0x80;
	if (p[0] & 1)
		r.seq = (uint16_t)(r.seq - (seq & 0x7ff));
	if (p[0] & 2)
		at->seq = r.seq = seq;
	if (p[0] & 4)
		r.rtp_ts += (uint32_t)p[3] << 24 | (uint32_t)p[4] << 12 | p[5];
	if (p[0] & 8)
		r.marker_pt = p[6];
	if (p[0] & 16)
		at->mono_ns += p[3] * INT64_C(1000000000);
	if (p[0] & 32)
		at->rtp_ts = r.rtp_ts;
	return r;
}

/* The figures that live streams and captures share. */
struct both {
	struct stream_detail detail;
	struct rtp_quality quality;
};

static void observe(const struct rtp_observation *o, void *arg)
{
	struct both *b = arg;

	stream_detail_observe(o, &b->detail);
	rtp_quality_observer.packet(o, &b->quality);
}

static void observe_run(const struct rtp_run *run, void *arg)
{
	struct both *b = arg;

	stream_detail_observe_run(run, &b->detail);
	rtp_quality_observer.run(run, &b->quality);
}

static const struct rtp_observer observer = {.packet = observe,
					     .run = observe_run};

/*
 * The seconds of the live figures sum to the stream's; the jitter buffers are
 * the same.
 */
static void check_quality(struct both *b, const uint64_t sums[3],
			  const struct stream_total *total)
{
	struct rtcp_stat_summary summary;
	struct rtcp_voip_metrics voip;

	rtp_quality_voip(&b->quality, &voip);
	rtp_quality_summary(&b->quality, &summary);
	if (sums[0] != total->fixed.discarded ||
	    sums[1] != total->fixed.burst_lost ||
	    sums[2] != total->out_of_order ||
	    total->out_of_order > total->reordered ||
	    total->fixed.discarded !=
		    b->detail.jb_fixed.late + b->detail.jb_fixed.early ||
	    total->adaptive.discarded != b->detail.jb_adaptive.late ||
	    b->quality.fixed_pattern.packets > b->detail.fixed.packets ||
	    (total->has_gap && !(total->gap_max_ms >= 0)) ||
	    (total->has_skew && !isfinite(total->skew_ppm)))
		abort();
}

static void add(uint64_t sums[3], const struct stream_second *n)
{
	sums[0] += n->discarded;
	sums[1] += n->burst_lost;
	sums[2] += n->out_of_order;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rtp_payload_map map;
	static struct rtp_stream stream;
	static struct rtp_rest rest;
	static struct both both;
	struct stream_detail *detail = &both.detail;
	struct packet_record at = {.mono_ns = 1, .header_bytes = 12};
	struct stream_second second;
	struct stream_total total;
	struct rtcp_voip_metrics xr;
	uint64_t sums[3] = {0};
	int64_t lost = 0;

	if (map.count == 0) {
		rtp_payload_map_add(&map, 0, "PCMU", 8000);
		rtp_payload_map_add(&map, 13, "CN", 8000);
		rtp_payload_map_add(&map, 96, "opus", 48000);
		rtp_payload_map_add(&map, 97, "odd", 11025);
		rtp_payload_map_add(&map, 101, "telephone-event", 8000);
	}
	rtp_stream_init(&stream, 0, 0, &map, &rest);
	stream_detail_init(detail, &stream);
	rtp_quality_init(&both.quality, &stream);
	rtp_stream_observe(&stream, &observer, &both);
	for (; size >= STEP_BYTES; size -= STEP_BYTES, data += STEP_BYTES) {
		struct packet_record r = next_record(&at, data);

		rtp_stream_update(&stream, &r);
		if (data[0] & 64) /* this ends a run */
			check(&stream);
		if (r.mono_ns >= stream.second_start_ns + 1000000000) {
			rtp_stream_close_second(&stream, r.mono_ns, &second);
			rtp_quality_close_second(&both.quality, &second);
			lost += second.lost;
			add(sums, &second);
		}
	}
	check(&stream);
	rtp_quality_finish(&both.quality);
	rtp_stream_close_second(&stream, at.mono_ns + 1, &second);
	rtp_quality_close_second(&both.quality, &second);
	lost += second.lost;
	add(sums, &second);
	stream_detail_finish(detail);
	rtp_stream_total(&stream, &total);
	rtp_quality_total(&both.quality, &total);
	check_quality(&both, sums, &total);
	stream_detail_xr(detail, &xr);
	if (lost != total.lost || detail->network.packets != total.expected ||
	    detail->network.runs.lost != (uint64_t)total.lost ||
	    detail->fixed.packets != total.expected ||
	    detail->fixed.runs.lost < detail->network.runs.lost ||
	    total.burst_ratio < 1.0)
		abort();
	return 0;
}
