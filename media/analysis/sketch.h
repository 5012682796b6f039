/**
 * A mergeable quantile sketch with logarithmic buckets (DDSketch) for values of
 * either sign. A quantile is off by at most SKETCH_ACCURACY of its value.
 * Merging is exactly associative and commutative (counts only).
 * Source: Masson, Rim, Lee: DDSketch, VLDB 2019; docs/internals/wire.md
 * "sketch"
 * Thread: one at a time; no allocation.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_SKETCH_H
#define OFFHOOK_MEDIA_ANALYSIS_SKETCH_H

#include <stddef.h>
#include <stdint.h>

#define SKETCH_ACCURACY 0.01 /* relative */
/* index = ceil(log(|x|)/log(g)), g = (1+a)/(1-a): this range covers 1e-6 to
 * 1e9. A magnitude outside is counted in the last bucket on that side. */
#define SKETCH_INDEX_MIN (-691)
#define SKETCH_INDEX_MAX 1037
#define SKETCH_BUCKETS   (SKETCH_INDEX_MAX - SKETCH_INDEX_MIN + 1)

/** All zero: empty. */
struct sketch {
	uint64_t zeros; /* |x| < 1e-9 */
	uint64_t n;
	uint32_t positive[SKETCH_BUCKETS]; /* saturating */
	uint32_t negative[SKETCH_BUCKETS];
};

/** @param x  finite; NaN and infinities are ignored */
void sketch_add(struct sketch *s, double x);

/**
 * Quantile at rank p*(n-1), linearly interpolated between neighbours.
 * @param p  0..1
 * @return 0 if the sketch is empty
 */
double sketch_quantile(const struct sketch *s, double p);

/** Encoding: iterate over the non-empty buckets of a sign in ascending index.
 * @param cursor  0 to start; advanced
 * @return 1 and *ret_index, *ret_count written; 0: no more */
int sketch_next(const struct sketch *s, int sign, size_t *cursor,
		int *ret_index, uint32_t *ret_count);

/** Decoding: add counts to a bucket.
 * @return 0; -EINVAL sign not 1 or -1 (0 adds zeros); -ERANGE index */
int sketch_add_bucket(struct sketch *s, int sign, int index, uint32_t count);

#endif
