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

/** Scheduling state of one thread. All zero: normal class. */
struct scheduling {
	_Atomic unsigned class; /* enum media_scheduling; any thread reads */
	int64_t busy_since_ns;  /* written by the thread; 0: it has waited */
};

/**
 * Give the calling thread real-time priority. If that is refused, lower its
 * nice value as far as allowed. If that is refused too, leave it unchanged.
 * @param priority  of SCHED_FIFO, sched(7); or SCHEDULING_NICE_ONLY
 */
void scheduling_take(struct scheduling *s, int priority);

/**
 * Return to the normal class after SCHEDULING_BUSY_MAX_NS without waiting. Only
 * then it makes a system call. Thread: the one of scheduling_take(), each time
 * it looks for work.
 * @param waited  the thread has waited, or is about to
 * @param now_ns  monotonic
 */
void scheduling_watch(struct scheduling *s, bool waited, int64_t now_ns);

/** @return the present class. Thread: any. */
enum media_scheduling scheduling_read(const struct scheduling *s);

#endif
