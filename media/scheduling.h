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

/* Real-time priorities, low ones: threads of the kernel and of a sound server
 * go before. A packet that is due goes before one that came: that one has its
 * time stamp. */
#define SCHEDULING_PRIORITY_TX 2
#define SCHEDULING_PRIORITY_RX 1
#define SCHEDULING_NICE_ONLY   0

/* A real-time thread that never waits for so long takes the processor away from
 * whatever it waits for. */
#define SCHEDULING_BUSY_MAX_NS INT64_C(1000000000)

/** Of one thread. All zero: a normal one. */
struct scheduling {
	_Atomic unsigned class; /* enum media_scheduling; any thread reads */
	int64_t busy_since_ns;  /* the thread; 0: it waited */
};

/**
 * Give the calling thread real-time priority; where that is refused, the nice
 * value that is allowed; or leave it as it is.
 * @param priority  of SCHED_FIFO, sched(7); or SCHEDULING_NICE_ONLY
 */
void scheduling_take(struct scheduling *s, int priority);

/**
 * Give it back after SCHEDULING_BUSY_MAX_NS without waiting; a system call then
 * and only then. Thread: the one of scheduling_take(), each time it looks for
 * work.
 * @param waited  it has waited, or is about to
 */
void scheduling_watch(struct scheduling *s, bool waited, int64_t now_ns);

/** What it is. Thread: any. */
enum media_scheduling scheduling_read(const struct scheduling *s);

#endif
