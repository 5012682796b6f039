/**
 * Timers of the loop: a heap on the monotonic clock (base/timer_queue.h) behind one
 * timerfd. libre's own are one sorted list, which every start walks, and follow
 * the wall clock.
 * Thread: the loop's, between sip_loop_init() and sip_loop_close().
 */
#ifndef OFFHOOK_SIP_MONO_TIMER_H
#define OFFHOOK_SIP_MONO_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/timer_queue.h"

/** All zero: not running. Its owner cancels it before the memory is released. */
struct mono_timer {
	struct timer_entry entry;
};

/**
 * Start a timer, or start it anew if it runs. Its handler is called from the
 * loop, never from within this function, and never early. Of equal times the
 * one that was started first comes first.
 * @param t         zero, or started before
 * @param delay_ms  0: as soon as the loop runs
 * @param handler   the timer does not run when it is called; it may start and
 *                  cancel any timer, and release the memory of its own
 */
void mono_timer_start(struct mono_timer *t, uint64_t delay_ms,
		      void (*handler)(void *arg), void *arg);

void mono_timer_cancel(struct mono_timer *t);
bool mono_timer_running(const struct mono_timer *t);

/** For sip_loop_init(), after libre's. @return 0; -errno */
int mono_timers_open(void);
/** For sip_loop_close(), before libre's. Timers that still run are kept until the
 * next mono_timers_open(). */
void mono_timers_close(void);

#endif
