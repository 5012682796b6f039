/**
 * De-jitter buffer models: which packets a receiver would have discarded, and
 * how long it would have delayed the others. Two models: fixed and adaptive
 * playout delay.
 * Source: Ramjee et al., INFOCOM 1994, algorithms 1 and 2, with our own
 * parameters (docs/reference/measurement.md "De-jitter buffers"); not
 * standardised
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_JITTER_BUFFER_H
#define OFFHOOK_MEDIA_ANALYSIS_JITTER_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/rtp_timing.h"

#define JB_FIXED_DELAY_MS  60.0
#define JB_FIXED_MAX_MS    200.0 /* longest playout delay */
#define JB_FIXED_EARLY_MS  140.0 /* room for earlier packets than the first */
#define JB_FIXED_REANCHOR  50    /* consecutive discards */
#define JB_ADAPTIVE_MIN_MS 20.0
#define JB_ADAPTIVE_MAX_MS 200.0
/* The minimum of the adaptive model covers the last one to two windows of this
 * many packets. Clocks drift apart by 200 ms in an hour (50 ppm), and routes
 * change: with the minimum of the whole call nothing would be played at the
 * end. */
#define JB_ADAPTIVE_WINDOW 3000

enum jb_fate {
	JB_PLAYED,
	JB_LATE,  /* arrived after its playout time */
	JB_EARLY, /* the buffer was full */
};

/** Transit times of consecutive packets. */
struct jb_run {
	const double *transit_ms;
	size_t count; /* 1..32 */
	double min_ms;
	double max_ms;
};

static inline struct jb_run jb_run_of(const struct rtp_run_samples *r)
{
	return (struct jb_run){
		.transit_ms = r->transit_ms,
		.count = r->count,
		.min_ms = r->transit_min_ms,
		.max_ms = r->transit_max_ms,
	};
}

/** Fixed playout delay. */
struct jb_fixed {
	double delay_ms;
	double depth_ms;  /* longest time that it can keep a packet */
	double anchor_ms; /* transit time of the packet with which playout
			   * started */
	uint32_t in_row;  /* consecutive discards */
	uint64_t late;
	uint64_t early;
	uint64_t resyncs;
};

/** Initialise; the depth is JB_FIXED_EARLY_MS more than the delay.
 * @param delay_ms  playout delay */
void jb_fixed_init(struct jb_fixed *j, double delay_ms);
/** A new timing epoch begins: transit times are relative to its first packet.
 */
void jb_fixed_epoch(struct jb_fixed *j);
/** One packet.
 * @param transit_ms  relative to the epoch's first packet */
enum jb_fate jb_fixed_update(struct jb_fixed *j, double transit_ms);
/** Consecutive packets.
 * @return bit n: packet n is played */
uint32_t jb_fixed_run(struct jb_fixed *j, const struct jb_run *run);
/** A packet so late that its transit time was not measured. */
void jb_fixed_very_late(struct jb_fixed *j);

/** Adaptive playout delay. */
struct jb_adaptive {
	double delay_min_ms; /* constant: playout above the minimum transit
			      * time */
	double delay_max_ms;
	bool started;
	double playout_ms;    /* E: set before the next packet arrives */
	double mean_ms;       /* d */
	double spread_ms;     /* 4 v: DEVIATIONS */
	double min_ms;        /* m */
	double window_min_ms; /* minimum in the open window */
	uint32_t window_packets;
	double delay_sum_ms;
	uint64_t played;
	uint64_t late;
};

/** Initialise with JB_ADAPTIVE_MIN_MS and JB_ADAPTIVE_MAX_MS. */
void jb_adaptive_init(struct jb_adaptive *j);
/** The same with other limits of the playout delay.
 * @param min_ms  > 0
 * @param max_ms  >= min_ms */
void jb_adaptive_init_range(struct jb_adaptive *j, double min_ms,
			    double max_ms);
/** A new timing epoch begins, as in jb_fixed_epoch(). */
void jb_adaptive_epoch(struct jb_adaptive *j);
/** @param period_ms  packet time: the playout delay shrinks by at most a tenth
 *                   of it per packet */
enum jb_fate jb_adaptive_update(struct jb_adaptive *j, double transit_ms,
				double period_ms);
/** See jb_fixed_run(). */
uint32_t jb_adaptive_run(struct jb_adaptive *j, const struct jb_run *run,
			 double period_ms);
/** A packet so late that its transit time was not measured. */
void jb_adaptive_very_late(struct jb_adaptive *j);
/** @return mean time for which packets were delayed; 0 if none was played */
double jb_adaptive_delay_ms(const struct jb_adaptive *j);

#endif
