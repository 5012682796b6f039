/**
 * All samples of one figure: exact up to a ceiling, from then on a histogram
 * (1.6 %, see struct histogram).
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
	bool over; /* not all of them are here */
};

/** Doubles that all figures of a capture may hold together. */
struct samples_budget {
	size_t left;
};

void samples_add(struct samples *s, struct samples_budget *budget, double x);

/** @param h  a histogram of the very same samples
 *  @return true: exact; false: of the histogram */
bool samples_distribution(struct samples *s, const struct histogram *h,
			  struct distribution *ret);

void samples_release(struct samples *s);

#endif
