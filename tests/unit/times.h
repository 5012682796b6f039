/**
 * Times that were measured by different clocks. What came in is timed by the
 * kernel's stamp, of the wall clock and converted (base/stamp.h); what we do
 * ourselves by CLOCK_MONOTONIC. A reading that the scheduler interrupts, or a
 * step of the wall clock, moves the one against the other.
 */
#ifndef TESTS_UNIT_TIMES_H
#define TESTS_UNIT_TIMES_H

#include "base/clock.h"

#define CLOCKS_NS (20 * NS_PER_MS)

/** The later time is not before the earlier one, as far as two clocks tell. */
#define assert_not_before(later_ns, earlier_ns) \
	assert_true((later_ns) >= (earlier_ns)-CLOCKS_NS)

/** A duration, ns, reached its bound, as far as two clocks tell. */
#define assert_lasted(took_ns, bound_ns) \
	assert_true((took_ns) >= (bound_ns)-CLOCKS_NS)

#endif
