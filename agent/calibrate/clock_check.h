/**
 * What the clocks of this host do while it measures: the wall clock, by which the
 * kernel stamps packets, against the monotonic one and the hardware's.
 * Source: clock_gettime(2)
 * Thread: one.
 */
#ifndef OFFHOOK_AGENT_CALIBRATE_CLOCK_CHECK_H
#define OFFHOOK_AGENT_CALIBRATE_CLOCK_CHECK_H

#include <stdint.h>

struct clock_check {
	int64_t start_raw_ns; /* CLOCK_MONOTONIC_RAW */
	int64_t start_ns;     /* CLOCK_MONOTONIC, at the same time */
	int64_t offset_ns;    /* wall clock minus monotonic, when last read */
	int64_t step_ns;      /* largest change of it, >= 0 */
};

struct clock_figures {
	double resolution_ns; /* smallest difference of two readings */
	double step_ms;       /* largest step of the wall clock */
	double drift_ppm;     /* of the adjusted clock against the hardware's */
};

void clock_check_start(struct clock_check *c);
/** Look for a step; often. */
void clock_check_watch(struct clock_check *c);
void clock_check_end(struct clock_check *c, struct clock_figures *ret);

#endif
