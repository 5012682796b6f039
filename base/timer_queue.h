/**
 * Timers: starting and cancelling one costs the same whether ten or ten thousand
 * run, and nothing is allocated. Time is a parameter: the queue neither reads a
 * clock nor waits.
 * Thread: one at a time.
 */
#ifndef OFFHOOK_BASE_TIMER_QUEUE_H
#define OFFHOOK_BASE_TIMER_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A level of the wheel has 64 slots: one bit each in a word. */
#define TIMER_QUEUE_SLOT_BITS 6
#define TIMER_QUEUE_SLOTS     (1 << TIMER_QUEUE_SLOT_BITS)
/* Levels that int64_t times need, in ticks of 2^22 ns. */
#define TIMER_QUEUE_LEVELS 7

/** All zero: empty. */
struct timer_queue {
	struct timer_entry *root; /* heap of the timers due until `tick` */
	uint64_t started;         /* number of timers started so far; orders
				   * equal times */
	int64_t tick;             /* of the latest time that was given */
	/* wheel of the timers due after `tick` */
	uint64_t used[TIMER_QUEUE_LEVELS]; /* bit n: slot n has a timer */
	struct timer_entry *slots[TIMER_QUEUE_LEVELS][TIMER_QUEUE_SLOTS];
};

/** Embedded in its owner. All zero: not running. The owner cancels it before
 * the memory is released. */
struct timer_entry {
	struct timer_queue *queue; /* NULL: not running */
	int64_t due_ns;
	uint64_t order;
	void (*handler)(void *arg);
	void *arg;
	/* Pairing heap: a parent is due before its children. In a slot of the
	 * wheel timers are siblings without parent and children. */
	struct timer_entry *child; /* first child */
	struct timer_entry *next;  /* sibling */
	struct timer_entry *back;  /* previous sibling, or the parent */
};

/**
 * Start a timer, or restart it if it runs.
 * @param q        borrowed until the timer has fired or is cancelled
 * @param t        borrowed likewise; all zero, or started before
 * @param due_ns   when it is due, on the caller's clock, ns
 * @param handler  not NULL
 */
void timer_queue_start(struct timer_queue *q, struct timer_entry *t,
		       int64_t due_ns, void (*handler)(void *arg), void *arg);

/** Cancel a timer: its handler will not be called. Does nothing if it does not
 * run. */
void timer_queue_cancel(struct timer_entry *t);

static inline bool timer_queue_runs(const struct timer_entry *t)
{
	return t->queue != NULL;
}

/** @return when the next timer is due, ns; INT64_MAX: none runs */
int64_t timer_queue_next_ns(const struct timer_queue *q);

/**
 * Call the handler of the timer that is due first; of equal times, that of the
 * one started first. The timer no longer runs when its handler is called. The
 * handler may start and cancel any timer and release the memory of its own.
 * @param now_ns  on the caller's clock, ns
 * @return false: none is due
 */
bool timer_queue_run_one(struct timer_queue *q, int64_t now_ns);

#endif
