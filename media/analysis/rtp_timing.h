/**
 * Timing of one received stream: interarrival jitter, delay variation,
 * timestamp discontinuities.
 * Source: RFC 3550 section 6.4.1 and appendix A.8, RFC 5481, RFC 7160;
 * docs/reference/measurement.md
 * Thread: one at a time; no allocation. Embedded in rtp_stream.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_RTP_TIMING_H
#define OFFHOOK_MEDIA_ANALYSIS_RTP_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/record.h"

/** Timing of one packet. All times in ms. */
struct rtp_sample {
	bool audio;     /* it took part in timing */
	bool reference; /* it only set the reference: an epoch begins */
	bool has_ipdv;
	double ipdv_ms;   /* |D| */
	double jitter_ms; /* J after this packet; valid if has_ipdv */
	bool has_delta;
	double delta_ms; /* time between its arrival and the previous one */
	bool has_pdv;
	double pdv_ms;     /* transit time above the epoch's minimum so far */
	double transit_ms; /* transit time, relative to the epoch's first
			    * packet; valid if has_pdv */
	double media_ms;   /* media time since the epoch's first packet */
	bool same_ts;
	bool discontinuity;
	bool clock_change;
};

/** Samples of `count` consecutive packets; members as in rtp_sample, all valid.
 * None is a reference. */
struct rtp_run_samples {
	size_t count;
	_Alignas(16) double ipdv_ms[RTP_RUN_WHOLE];
	double jitter_ms[RTP_RUN_WHOLE];
	double delta_ms[RTP_RUN_WHOLE];
	double transit_ms[RTP_RUN_WHOLE];
	double transit_min_ms;
	double transit_max_ms;
	/* of the packet before the run */
	double min_before_ms; /* the epoch's minimum so far */
	double media_before;  /* media time, ticks */
	double period_ticks;
	double tick_ms;
};

/** Media time since the epoch's first packet.
 * @param i  < r->count */
static inline double rtp_run_media_ms(const struct rtp_run_samples *r, size_t i)
{
	return (r->media_before + r->period_ticks * (double)((int)i + 1)) *
	       r->tick_ms;
}

/** Transit time above the epoch's minimum so far, of each packet. */
void rtp_run_pdv_ms(const struct rtp_run_samples *r,
		    double ret[static RTP_RUN_MAX]);

/* Maximum time from the packet before a run to a packet of the run, ns. */
#define RTP_RUN_NS_MAX INT32_MAX

struct rtp_timing {
	/* warm: used for every run of packets; two cache lines */
	int64_t ref_ns;   /* arrival of the previous packet */
	int64_t ref_ext;  /* its extended sequence number */
	double jitter_ms; /* J */
	double tick_ms;   /* of the clock */
	uint32_t samples;
	uint32_t ref_ts;
	uint32_t clock_hz;
	uint32_t period_ticks; /* P: last timestamp step of adjacent packets */
	bool has_ref;
	bool has_period; /* period_ticks was measured */
	bool gap_kind;   /* CN or an event was received since: no delta */
	int64_t epoch_ns;
	int64_t media_ticks; /* since the epoch's first packet */
	double min_transit_ms;
	/* cold */
	uint64_t discontinuities;
	uint64_t clock_changes;
	uint64_t same_ts;
};

/** Initialise, before the first packet. */
void rtp_timing_init(struct rtp_timing *t);

/** Forget the reference; J is kept (a new segment, RFC 3550 section 8.2). */
void rtp_timing_restart(struct rtp_timing *t);

/**
 * Process an audio packet (not a duplicate, not very late).
 * @param ext       extended sequence number
 * @param clock_hz  > 0
 * @param ret       all zero before
 */
void rtp_timing_update(struct rtp_timing *t, const struct packet_record *r,
		       int64_t ext, uint32_t clock_hz, struct rtp_sample *ret);

/**
 * @return the packet after `ext` gives a sample like the one before, provided
 *         that it arrives in sequence, one period later, without marker
 */
bool rtp_timing_is_plain(const struct rtp_timing *t, int64_t ext,
			 uint32_t clock_hz);

/**
 * rtp_timing_update() for such packets.
 * @param at_ns    [0] is 0; then each arrival after t->ref_ns, ns, 0 to
 *                 RTP_RUN_NS_MAX; RTP_RUN_WHOLE + 1 elements
 * @param count    1..RTP_RUN_MAX
 * @param transit  also compute transit_ms and the members after it in *ret
 */
void rtp_timing_run(struct rtp_timing *t, const uint32_t *at_ns, size_t count,
		    bool transit, struct rtp_run_samples *ret);

/** A comfort noise or telephone-event packet was received. */
void rtp_timing_skip(struct rtp_timing *t);

/** J in RTP timestamp units, rounded down, as in a report block. */
uint32_t rtp_timing_jitter_ticks(const struct rtp_timing *t);

#endif
