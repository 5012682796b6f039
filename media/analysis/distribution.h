/**
 * Distributions: moments by Welford, exact figures of an array of samples, and
 * a log-linear histogram of fixed size for long streams.
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_DISTRIBUTION_H
#define OFFHOOK_MEDIA_ANALYSIS_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

#include "media/analysis/count_parts.h"
#include "media/analysis/summary.h"

/** Running moments (Welford); mergeable (Chan). All zero: empty. */
struct moments {
	uint64_t n;
	double min;
	double max;
	double mean;
	double m2; /* sum of squared deviations from the mean */
};

/** Add a sample. */
void moments_add(struct moments *m, double x);
/** Add several samples at once: the moments of the block are merged. */
void moments_add_block(struct moments *m, const double *x, size_t n);
/** Add the samples of another set. */
void moments_merge(struct moments *into, const struct moments *from);

/** @return standard deviation of the population; 0 if n is 0 */
double moments_stddev(const struct moments *m);

/** Extend a range to include a sample. In this order of operands each
 * comparison is one x86 instruction. */
static inline void range_add(double x, double *low, double *high)
{
	*low = *low < x ? *low : x;
	*high = *high > x ? *high : x;
}

/** Minimum and maximum of samples.
 * @param n  >= 1 */
static inline void samples_range(const double *x, size_t n, double *ret_min,
				 double *ret_max)
{
	double low = x[0];
	double high = x[0];

	for (size_t i = n % 2; i < n; i += 2) {
		range_add(x[i], &low, &high);
		range_add(x[i + 1], &low, &high);
	}
	*ret_min = low;
	*ret_max = high;
}

/** Sort samples in place, ascending. No NaN. */
void samples_sort(double *samples, size_t n);

/**
 * Percentile by linear interpolation at p*(n-1) (Hyndman-Fan type 7,
 * PostgreSQL percentile_cont).
 * @param sorted  ascending, n >= 1
 * @param p       0..1
 */
double percentile(const double *sorted, size_t n, double p);

/** The median (percentile() with p 0.5) of samples in any order.
 * @param samples  reordered
 * @param n        >= 1 */
double samples_median(double *samples, size_t n);

/** Compute the exact figures of samples; sorts them in place. n = 0 sets ret->n
 * to 0. */
void distribution_of_samples(struct distribution *ret, double *samples,
			     size_t n);

/* Histogram of milliseconds: linear in steps of 1.024 us below 32.8 us, then 32
 * buckets per octave up to 34.4 s (the last bucket also counts longer ones). */
#define HISTOGRAM_SUB_BUCKETS 32
#define HISTOGRAM_OCTAVES     20
#define HISTOGRAM_BUCKETS     (HISTOGRAM_SUB_BUCKETS * (HISTOGRAM_OCTAVES + 1))

/**
 * Samples >= 0 in ms. n, min, max, mean and standard deviation are exact. A
 * percentile is off by at most 1.6 % of its value or 0.6 us. All zero: empty.
 */
struct histogram {
	struct moments moments;
	uint32_t counts[HISTOGRAM_BUCKETS]; /* saturating */
};

/** Add a sample.
 * @param ms  >= 0 */
void histogram_add(struct histogram *h, double ms);
/** Add several samples at once: the moments of the block are merged. */
void histogram_add_block(struct histogram *h, const double *ms, size_t n);
/** @param p  0..1
 * @return a percentile, ms */
double histogram_percentile(const struct histogram *h, double p);
/** Compute the figures of a histogram; n = 0 sets ret->n to 0. */
void distribution_of_histogram(struct distribution *ret,
			       const struct histogram *h);

#define HISTOGRAM_PARTS COUNT_PARTS_OF(HISTOGRAM_BUCKETS)

/** A histogram with the same buckets and figures, which takes memory for the
 * buckets in use. All zero: empty. */
struct sparse_histogram {
	struct moments moments;
	uint8_t parts[HISTOGRAM_PARTS]; /* numbers in struct count_parts */
};

/** Add a sample.
 * @param parts  always the same for a histogram
 * @param ms     >= 0 */
void sparse_histogram_add(struct sparse_histogram *h, struct count_parts *parts,
			  double ms);
/** Add several samples at once: the moments of the block are merged.
 * @param n  > 0
 * @return number of the part of the last sample */
uint8_t sparse_histogram_add_block(struct sparse_histogram *h,
				   struct count_parts *parts, const double *ms,
				   size_t n);
/** Copy it to a histogram of fixed size. */
void sparse_histogram_copy(struct histogram *ret,
			   const struct sparse_histogram *h,
			   struct count_parts *parts);
/** As distribution_of_histogram(). */
void distribution_of_sparse(struct distribution *ret,
			    const struct sparse_histogram *h,
			    struct count_parts *parts);

#endif
