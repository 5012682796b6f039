/**
 * Clocks. All internal times are monotonic int64 nanoseconds. The wall clock is
 * read only for times on the wire or in a log.
 * Thread: any.
 */
#ifndef OFFHOOK_BASE_CLOCK_H
#define OFFHOOK_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

/** Monotonic time (CLOCK_MONOTONIC), ns, >= 0. */
int64_t clock_mono_ns(void);

/** Wall clock (CLOCK_REALTIME), ns since 1970-01-01 UTC. */
int64_t clock_wall_ns(void);

/**
 * Wall clock minus monotonic clock, ns. Added to a monotonic time it gives the
 * wall time. It changes when the wall clock is stepped, so read it once per
 * batch. The wall clock is read between two readings of the monotonic clock; of
 * three tries the one with the shortest interval is used.
 */
int64_t clock_wall_offset_ns(void);

/** Size of a buffer for clock_format(), terminator included. */
#define CLOCK_TEXT_BYTES 20

/**
 * Format a wall time as the API does: `YYYY-MM-DD HH:MM:SS`, UTC.
 * @param text     at least CLOCK_TEXT_BYTES bytes
 * @param wall_ns  ns since 1970
 */
void clock_format(char text[static CLOCK_TEXT_BYTES], int64_t wall_ns);

/** The same for ms since 1970: up to the year 9999, while ns end in 2262. */
void clock_format_ms(char text[static CLOCK_TEXT_BYTES], int64_t wall_ms);

/** Milliseconds until a time, rounded up, for a timer.
 * @return 0: the time has passed */
uint64_t clock_ms_until(int64_t at_ns, int64_t now_ns);

#endif
