/**
 * Where a quantile of a sequence of values lies, whenever one looks: those values for which the test
 * of a share (mean_test.h) does not refuse that the quantile is there. Each end costs half of the
 * error. Nothing is assumed about the distribution; values may be equal, and infinite.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_SEQUENCE_QUANTILE_H
#define OFFHOOK_SERVER_SEQUENCE_QUANTILE_H

#include <stddef.h>

/**
 * @param values    they are sorted
 * @param share     0.95: the 95th percentile
 * @param error     chance that the quantile ever lies outside, 0 to 1
 * @param ret_low   -INFINITY: too few values to tell
 * @param ret_high  INFINITY: likewise
 */
void quantile_interval(double *values, size_t count, double share, double error,
		       double *ret_low, double *ret_high);

#endif
