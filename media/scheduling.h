/**
 * Inside of the media engine: the scheduling class of the threads that send
 * and receive, so that other programs and threads of the host do not make
 * packets late. Docs: docs/internals/media.md "Scheduling"
 */
#ifndef OFFHOOK_MEDIA_SCHEDULING_H
#define OFFHOOK_MEDIA_SCHEDULING_H

#include "media/media.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Low real-time priorities: kernel threads and a sound server go first. Sending
 * goes before receiving: a received packet already has its kernel time
 * stamp. */
#define SCHEDULING_PRIORITY_TX 2
#define SCHEDULING_PRIORITY_RX 1
#define SCHEDULING_NICE_ONLY   0

/* A real-time thread that does not wait for this long starves the work that it
 * depends on. */
#define SCHEDULING_BUSY_MAX_NS INT64_C(1000000000)

/* It takes the class back once it has used less than half a processor in each of
 * so many seconds. The number doubles with each time it had to leave, so that an
 * engine that is always overloaded seldom blocks others. */
#define SCHEDULING_QUIET_S     10u
#define SCHEDULING_QUIET_MAX_S 320u

/** Scheduling state of one thread. All zero: normal class. */
struct scheduling {
	_Atomic unsigned class; /* enum media_scheduling; any thread reads */
	/* the rest: of the thread alone */
	int64_t busy_since_ns; /* 0: it has waited */
	int priority;          /* of the real-time class */
	bool away;             /* it has left the real-time class */
	unsigned quiet_s;      /* seconds in a row with little work */
	unsigned quiet_wanted_s;
	int64_t window_ns; /* when the present one of them began; 0: not yet */
	int64_t window_cpu_ns;
};

/**
 * Give the calling thread real-time priority. If that is refused, lower its
 * nice value as far as allowed. If that is refused too, leave it unchanged.
 * @param priority  of SCHED_FIFO, sched(7); or SCHEDULING_NICE_ONLY
 */
void scheduling_take(struct scheduling *s, int priority);

/**
 * Leave the real-time class after SCHEDULING_BUSY_MAX_NS without waiting, and take
 * it back after SCHEDULING_QUIET_S with little work. It makes a system call only
 * then, and once a second while away. Thread: the one of scheduling_take(), each
 * time it looks for work.
 * @param waited  the thread has waited, or is about to
 * @param now_ns  monotonic
 */
void scheduling_watch(struct scheduling *s, bool waited, int64_t now_ns);

/**
 * Part of scheduling_watch() while the thread is away.
 * @param cpu_ns  processor time of the thread until now_ns
 * @return true: the thread used little processor time for so many seconds that it
 *         may return to the real-time class
 */
bool scheduling_quiet(struct scheduling *s, int64_t now_ns, int64_t cpu_ns);

/** @return the class; OVERRUN also after the thread has taken it back: the
 *          evidence of a run. Thread: any. */
enum media_scheduling scheduling_read(const struct scheduling *s);

#endif
