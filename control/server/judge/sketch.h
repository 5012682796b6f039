/**
 * Quantiles of merged intervals: the `sketch` member of docs/wire.md, counts
 * by the logarithm of the magnitude. Source: Masson, Rim, Lee, "DDSketch",
 * VLDB 2019, section 2; relative error as the sketches state it (`a`).
 * Thread: one owner.
 */
#ifndef OFFHOOK_SERVER_JUDGE_SKETCH_H
#define OFFHOOK_SERVER_JUDGE_SKETCH_H

#include <jansson.h>

struct sketch;

/* A measure over 24 orders of magnitude at 1 % error needs 2800 buckets. */
#define SKETCH_BUCKETS_MAX 8192

int sketch_new(struct sketch **ret);
struct sketch *sketch_free(struct sketch *s);

/**
 * Add an encoded sketch.
 * @return 0; -EINVAL malformed, or of another error than the ones before;
 *         -ENOMEM
 */
int sketch_merge(struct sketch *s, const json_t *encoded);

/**
 * The value at a fraction of the sorted samples.
 * @param fraction  0..1
 * @return 0; -EINVAL nothing was added
 */
int sketch_quantile(const struct sketch *s, double fraction, double *ret);

#endif
