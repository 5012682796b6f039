/**
 * From samples of an error to the bound that is stated. Pure.
 * Docs: docs/reference/calibration.md "How the bounds are derived"
 * Thread: any.
 */
#ifndef OFFHOOK_AGENT_CALIBRATE_BOUNDS_H
#define OFFHOOK_AGENT_CALIBRATE_BOUNDS_H

#include <stdbool.h>
#include <stddef.h>

/* An error bound holds for this share of streams ... */
#define BOUNDS_COVERAGE 0.95
/* ... and is stated with a confidence of 95 %: the quantile of the normal distribution. */
#define BOUNDS_Z 1.645

/* With fewer samples not even the largest is above the 95th percentile with 95 %
 * confidence: 0.95^59 < 0.05 <= 0.95^58 (Wilks 1941). */
#define BOUNDS_SAMPLES_MIN 59

/** Samples that grow; all zero: none. */
struct samples {
	double *values;
	size_t count;
	size_t room;
};

/** @return 0; -ENOMEM (the sample is not in it) */
int samples_put(struct samples *s, double value);
/** Put them into ascending order. */
void samples_ascend(struct samples *s);
/** @return 0: there are none. @param s  in ascending order */
double samples_middle(const struct samples *s);
double samples_most(const struct samples *s);
/** Release the values; none are left. */
void samples_clear(struct samples *s);

/**
 * Upper confidence limit of the 95th percentile, without an assumption about the
 * distribution: the sample of rank n * 0.95 + z * sqrt(n * 0.95 * 0.05), rounded up.
 * Source: David, Nagaraja: Order Statistics, 7.1, with the normal approximation
 * @param sorted  ascending
 * @return false: too few samples (ret untouched)
 */
bool bounds_upper(const double *sorted, size_t count, double *ret);

#endif
