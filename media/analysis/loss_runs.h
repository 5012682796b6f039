/**
 * Runs of lost packets, and the burst ratio.
 * Source: ITU-T G.107 clause 7.5; docs/reference/measurement.md "Loss patterns"
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_LOSS_RUNS_H
#define OFFHOOK_MEDIA_ANALYSIS_LOSS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

/** Runs of consecutive lost packets, from a scan in order of sequence numbers.
 * All zero: start. */
struct loss_runs {
	uint64_t open; /* length of the run at the present position */
	uint64_t lost;
	uint64_t runs;
	uint64_t longest;
};

/** Add the next packet in order of sequence numbers. */
void loss_runs_add(struct loss_runs *l, bool lost);
/** Add consecutive lost packets at once. */
void loss_runs_add_lost(struct loss_runs *l, uint64_t count);

/**
 * Burst ratio: mean length of observed runs divided by that of random loss.
 * Source: ITU-T G.107 clause 7.5; (lost/runs) * (1 - lost/expected), >= 1
 */
double loss_runs_burst_r(const struct loss_runs *l, uint64_t expected);

#endif
