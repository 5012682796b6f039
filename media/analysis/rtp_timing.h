/**
 * Timing of one received stream: interarrival jitter, delay variation,
 * timestamp discontinuities.
 * Source: RFC 3550 6.4.1 and A.8, RFC 5481, RFC 7160; docs/measurement.md
 * Thread: the owner's; no allocation. Embedded by rtp_stream.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RTP_TIMING_H
#define OFFHOOK_MEDIA_ANALYSIS_RTP_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/record.h"

/** What one packet contributed. All times in ms. */
struct rtp_sample {
	bool audio;     /* took part in timing at all */
	bool reference; /* set the reference only: an epoch begins */
	bool has_ipdv;
	double ipdv_ms;   /* |D| */
	double jitter_ms; /* J after it; valid if has_ipdv */
	bool has_delta;
	double delta_ms; /* distance of arrival to the packet before */
	bool has_pdv;
	double pdv_ms;     /* transit above the epoch's minimum so far */
	double transit_ms; /* relative to the epoch's first packet; valid if
			    * has_pdv */
	double media_ms;   /* media time since the epoch's first packet */
	bool same_ts;
	bool discontinuity;
	bool clock_change;
};

/** Samples of `count` packets in sequence; members as in rtp_sample, all of
 * them known. None is a reference. */
struct rtp_run_samples {
	size_t count;
	double ipdv_ms[RTP_RUN_MAX];
	double jitter_ms[RTP_RUN_MAX];
	double delta_ms[RTP_RUN_MAX];
	double pdv_ms[RTP_RUN_MAX];
	double transit_ms[RTP_RUN_MAX];
	double media_ms[RTP_RUN_MAX];
};

struct rtp_timing {
	/* warm: every run of packets; two cache lines */
	int64_t ref_ns;   /* arrival of the packet before */
	int64_t ref_ext;  /* its extended sequence number */
	double jitter_ms; /* J */
	double tick_ms;   /* of the clock */
	uint32_t samples;
	uint32_t ref_ts;
	uint32_t clock_hz;
	uint32_t period_ticks;   /* P: last step of adjacent packets */
	uint32_t int_transit;    /* integer A.8 */
	uint32_t int_jitter;     /* 16 * J */
	uint32_t int_jitter_max; /* highest reported value */
	bool has_ref;
	bool has_period; /* period_ticks was measured, not assumed */
	bool gap_kind;   /* CN or an event came since: no delta */
	int64_t epoch_ns;
	int64_t media_ticks; /* since the epoch's first packet */
	double min_transit_ms;
	/* cold */
	uint64_t discontinuities;
	uint64_t clock_changes;
	uint64_t same_ts;
};

void rtp_timing_init(struct rtp_timing *t);

/** Forget the reference; J stays (a new segment, 3550 8.2). */
void rtp_timing_restart(struct rtp_timing *t);

/**
 * Take an audio packet (no duplicate, not very late).
 * @param ext       extended sequence number
 * @param clock_hz  > 0
 * @param ret       all zero before
 */
void rtp_timing_update(struct rtp_timing *t, const struct packet_record *r,
		       int64_t ext, uint32_t clock_hz, struct rtp_sample *ret);

/**
 * rtp_timing_update() of packets in sequence without marker, as far as each
 * is a sample at the distance of the packets before.
 * @param count  1..RTP_RUN_MAX
 * @param ext    extended sequence number of the first
 * @param ret    its count: the packets taken; 0: the first is not such a
 *               packet, to be taken by rtp_timing_update()
 */
void rtp_timing_run(struct rtp_timing *t, const struct rtp_arrival *run,
		    size_t count, int64_t ext, uint32_t clock_hz,
		    struct rtp_run_samples *ret);

/** A comfort noise or telephone-event packet went by. */
void rtp_timing_skip(struct rtp_timing *t);

/** J of the integer variant of A.8, ticks. */
uint32_t rtp_timing_jitter_ticks(const struct rtp_timing *t);

#endif
