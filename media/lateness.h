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

/** A reader's place: what was added up to it. All zero: nothing. */
struct lateness_mark {
	uint64_t counts[LATENESS_BUCKETS];
};

struct lateness_figures {
	uint64_t n;     /* 0: the times below are not valid */
	uint64_t later; /* of n: later than the bound asked for */
	double p99_ms;
	double max_ms; /* off by at most 0.8 % */
};

/**
 * Read what was added since a mark, and move the mark on. Thread: any; each mark has
 * one reader.
 * @param bound_ns  of `later`, > 0; what is within 0.8 % of it may count or not
 */
void lateness_since(const struct lateness *l, struct lateness_mark *mark,
		    int64_t bound_ns, struct lateness_figures *ret);

#endif
