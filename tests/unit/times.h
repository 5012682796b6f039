/**
 * Comparison of times from different clocks. Received packets have the kernel's
 * wall-clock timestamp, converted (base/stamp.h); our own actions have
 * CLOCK_MONOTONIC. A reading interrupted by the scheduler, or a step of the
 * wall clock, shifts one against the other.
 */
#ifndef TESTS_UNIT_TIMES_H
#define TESTS_UNIT_TIMES_H

#include "base/clock.h"

#define CLOCKS_NS (20 * NS_PER_MS)

/**
 * Assert that the later time is not before the earlier one, within the
 * tolerance between two clocks.
 */
#define assert_not_before(later_ns, earlier_ns) \
	assert_true((later_ns) >= (earlier_ns)-CLOCKS_NS)

/**
 * Assert that a duration, ns, reached its bound, within the tolerance between
 * two clocks.
 */
#define assert_lasted(took_ns, bound_ns) \
	assert_true((took_ns) >= (bound_ns)-CLOCKS_NS)

#endif
