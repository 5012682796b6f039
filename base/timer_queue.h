/**
 * Timers in a heap: what is due first is found at once, starting one costs the
 * same whether ten or ten thousand run, and nothing is ever allocated.
 * Time is a parameter: the queue reads no clock and waits for nothing.
 * Thread: one at a time.
 */
#ifndef OFFHOOK_BASE_TIMER_QUEUE_H
#define OFFHOOK_BASE_TIMER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** All zero: empty. */
struct timer_queue {
	struct timer_entry *root; /* due first */
	uint64_t started;         /* timers ever; orders equal times */
};

/** Embedded in what it belongs to. All zero: not running. Its owner cancels it
 * before the memory is released. */
struct timer_entry {
	struct timer_queue *queue; /* NULL: not running */
	int64_t due_ns;
	uint64_t order;
	void (*handler)(void *arg);
	void *arg;
	/* Pairing heap: a parent is due before its children. */
	struct timer_entry *child; /* the first one */
	struct timer_entry *next;  /* sibling */
	struct timer_entry *back;  /* previous sibling, or the parent */
};

/**
 * Start a timer, or start it anew if it runs.
 * @param q        borrowed until the timer ended or is cancelled
 * @param t        borrowed likewise; zero, or started before
 * @param due_ns   when it is due, on the caller's clock, ns
 * @param handler  not NULL
 */
void timer_queue_start(struct timer_queue *q, struct timer_entry *t,
		       int64_t due_ns, void (*handler)(void *arg), void *arg);

/** Its handler will not be called. A timer that does not run is left as it is. */
void timer_queue_cancel(struct timer_entry *t);

static inline bool timer_queue_runs(const struct timer_entry *t)
{
	return t->queue != NULL;
}

/** When the next timer is due, ns. @return INT64_MAX: none runs */
int64_t timer_queue_next_ns(const struct timer_queue *q);

/**
 * Call the handler of the timer that is due first; of equal times, of the one
 * that was started first. It does not run any more when its handler is called,
 * which may start and cancel any timer, and release the memory of its own.
 * @param now_ns  on the caller's clock, ns
 * @return false: none is due
 */
bool timer_queue_run_one(struct timer_queue *q, int64_t now_ns);

#endif
