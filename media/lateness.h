/**
 * How late packets were sent: a histogram that one thread fills and others may
 * read at any time. n, min, max and mean are exact. Percentiles and the
 * standard deviation are off by at most 0.8 % of the value.
 */
#ifndef OFFHOOK_MEDIA_LATENESS_H
#define OFFHOOK_MEDIA_LATENESS_H

#include "media/analysis/summary.h"

#include <stdatomic.h>
#include <stdint.h>

/* 64 buckets an octave of nanoseconds; linear below 64 ns; up to 73 min */
#define LATENESS_SUB_BITS 6
#define LATENESS_BUCKETS  ((43 - LATENESS_SUB_BITS) << LATENESS_SUB_BITS)

/** All zero: empty. Embedded by its owner. */
struct lateness {
	_Atomic uint64_t n;
	_Atomic int64_t sum_ns;
	_Atomic int64_t min_ns;
	_Atomic int64_t max_ns;
	_Atomic uint64_t counts[LATENESS_BUCKETS];
};

/** Count one packet. Thread: the one writer.
 * @param ns  lateness; a negative one counts as 0 */
void lateness_add(struct lateness *l, int64_t ns);

/**
 * Read the histogram. Thread: any; packets counted during the call may be
 * missing.
 * @param ret  ms
 * @param ret_p99_ms  99th percentile; 0 if the histogram is empty
 */
void lateness_read(const struct lateness *l, struct distribution *ret,
		   double *ret_p99_ms);

#endif
