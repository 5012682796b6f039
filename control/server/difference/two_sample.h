/**
 * Tests whether two samples are of the same distribution.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_SERVER_DIFFERENCE_TWO_SAMPLE_H
#define OFFHOOK_SERVER_DIFFERENCE_TWO_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

/* Up to this product of the sizes the Kolmogorov-Smirnov test is exact. */
#define TWO_SAMPLE_EXACT_MAX 1000000u

/** Sort a sample in ascending order. */
void two_sample_sort(double *values, size_t count);

/**
 * Two-sided two-sample Kolmogorov-Smirnov test. Exact by counting lattice paths
 * up to TWO_SAMPLE_EXACT_MAX, by the limit distribution above. Equal values
 * make it conservative.
 * Source: Hodges, The significance probability of the Smirnov two-sample test,
 * Arkiv foer Matematik 3 (1957); Stephens (1970) for the limit
 * @param a, b  ascending, not empty, finite
 * @return p, the probability of a distance at least as large by chance
 */
double two_sample_ks(const double *a, size_t a_count, const double *b,
		     size_t b_count);

/** @return the smallest p that two_sample_ks() can give for these sizes */
double two_sample_ks_smallest(size_t a_count, size_t b_count);

/**
 * Fisher's exact test, two-sided: compare how often something was seen in two samples.
 * @param a_hits, b_hits    how often it was seen
 * @param a_count, b_count  size of the samples
 * @return p, the probability of a difference at least as large by chance
 */
double two_sample_share(size_t a_hits, size_t a_count, size_t b_hits,
			size_t b_count);

/** Quantile of an ascending sample at rank p*(n-1), interpolated. */
double two_sample_quantile(const double *values, size_t count, double p);

#endif
