/**
 * What the threads of the media engine have in common: commands from the loop,
 * a wake-up, a scheduling class, counters. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_MEDIA_THREAD_H
#define OFFHOOK_MEDIA_MEDIA_THREAD_H

#include "base/ring.h"
#include "media/scheduling.h"
#include "media/wake.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Statistics counters: one or several threads write, any thread reads. relaxed:
 * they order nothing. */
#define COUNTER_ADD(p, n) \
	atomic_fetch_add_explicit((p), (n), memory_order_relaxed)
#define COUNTER_SUB(p, n) \
	atomic_fetch_sub_explicit((p), (n), memory_order_relaxed)
#define COUNTER_READ(p) atomic_load_explicit((p), memory_order_relaxed)

/** One thread, as seen by itself and by the loop. Created by the engine. */
struct media_thread {
	struct wake wake;      /* for commands, or answers */
	struct ring *commands; /* pointers to its commands, see command.h */
	struct scheduling scheduling;
	bool realtime;            /* constant: try to get a better scheduling
				   * class */
	sem_t *scheduled;         /* constant; posted once the class is set */
	const _Atomic bool *quit; /* constant */
};

/** Set the scheduling class of the thread, if the engine wants one, and report
 * to the engine. Thread: the thread itself, before anything else.
 * @param priority  SCHEDULING_PRIORITY_..., or SCHEDULING_NICE_ONLY */
static inline void media_thread_schedule(struct media_thread *t, int priority)
{
	if (t->realtime)
		scheduling_take(&t->scheduling, priority);
	sem_post(t->scheduled);
}

/** @return the engine asks the thread to end. Thread: the thread itself. */
static inline bool media_thread_quits(const struct media_thread *t)
{
	/* acquire: pairs with the release in threads_stop(); nothing else is
	 * published by it */
	return atomic_load_explicit(t->quit, memory_order_acquire);
}

#endif
