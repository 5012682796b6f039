/**
 * De-jitter buffer models: what a receiver would have had to discard, and how
 * long it would have held packets back. Two models: a fixed playout delay,
 * and an adaptive one.
 * Source: Ramjee et al., INFOCOM 1994, algorithms 1 and 2, and our own
 * parameters (docs/reference/measurement.md "De-jitter buffers"); not standardised
 * Thread: the owner's; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_JITTER_BUFFER_H
#define OFFHOOK_MEDIA_ANALYSIS_JITTER_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/rtp_timing.h"

#define JB_FIXED_DELAY_MS 60.0
#define JB_FIXED_DEPTH_MS 200.0
#define JB_FIXED_REANCHOR 50 /* discards in a row */
/* Packets that the adaptive model's minimum looks back over: as many to twice
 * as many. Clocks drift apart by 200 ms in an hour (50 ppm), and routes change:
 * the least transit of all time would leave nothing to be played. */
#define JB_ADAPTIVE_WINDOW 3000

enum jb_fate {
	JB_PLAYED,
	JB_LATE,  /* after its playout time */
	JB_EARLY, /* the buffer was full */
};

/** Transit times of packets one after another. */
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
	double anchor_ms; /* transit of the packet the playout started with */
	uint32_t in_row;  /* discards one after another */
	uint64_t late;
	uint64_t early;
	uint64_t resyncs;
};

void jb_fixed_init(struct jb_fixed *j, double delay_ms);
/** A new timing epoch: transit times are relative to its first packet. */
void jb_fixed_epoch(struct jb_fixed *j);
/** One packet. @param transit_ms  relative to the epoch's first packet */
enum jb_fate jb_fixed_update(struct jb_fixed *j, double transit_ms);
/** Packets one after another. @return bit 0: the first is played */
uint32_t jb_fixed_run(struct jb_fixed *j, const struct jb_run *run);
/** A packet so late that its transit time is not measured. */
void jb_fixed_very_late(struct jb_fixed *j);

/** Adaptive playout delay. */
struct jb_adaptive {
	bool started;
	double playout_ms;    /* E: decided before a packet is seen */
	double mean_ms;       /* d */
	double spread_ms;     /* 4 v: DEVIATIONS */
	double min_ms;        /* m */
	double window_min_ms; /* of the open window */
	uint32_t window_packets;
	double delay_sum_ms;
	uint64_t played;
	uint64_t late;
};

void jb_adaptive_init(struct jb_adaptive *j);
void jb_adaptive_epoch(struct jb_adaptive *j);
/** @param period_ms  packet time: the playout delay shrinks by a tenth of it
 * a packet at most */
enum jb_fate jb_adaptive_update(struct jb_adaptive *j, double transit_ms,
				double period_ms);
/** As jb_fixed_run(). */
uint32_t jb_adaptive_run(struct jb_adaptive *j, const struct jb_run *run,
			 double period_ms);
void jb_adaptive_very_late(struct jb_adaptive *j);
/** Mean time a packet was held back; 0 if none was played. */
double jb_adaptive_delay_ms(const struct jb_adaptive *j);

#endif
