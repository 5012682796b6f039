/**
 * All samples of one figure, for an exact distribution. Above a ceiling they are
 * dropped and the histogram of the figure is used (within 1.6 %, see struct
 * histogram).
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_SAMPLES_H
#define OFFHOOK_CAPTURE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

#include "media/analysis/distribution.h"

#define SAMPLES_MAX 16384 /* of one figure */

struct samples {
	double *all;
	size_t n;
	size_t allocated;
	bool over; /* above the ceiling: the samples were dropped */
};

/** Doubles that all figures of a capture may hold in total. */
struct samples_budget {
	size_t left;
};

/** Add a sample. Above a ceiling, or without memory, all are dropped. */
void samples_add(struct samples *s, struct samples_budget *budget, double x);

/**
 * The distribution of all samples.
 * @param s  in/out: is sorted
 * @param h  histogram of the same samples
 * @return true: exact; false: computed from the histogram
 */
bool samples_distribution(struct samples *s, const struct histogram *h,
			  struct distribution *ret);

/** Free the samples; the budget stays as it is. */
void samples_release(struct samples *s);

#endif
