/**
 * The queue of requests for the workers. Parked requests wait for
 * http_queue_wake() or their deadline without occupying a worker.
 * Thread: any; guarded by its own lock.
 */
#ifndef OFFHOOK_SERVER_HTTP_QUEUE_H
#define OFFHOOK_SERVER_HTTP_QUEUE_H

#include "control/server/request/parked.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct queue;

/** Embedded in a queued object; zero-initialised. */
struct queue_item {
	struct queue_item *next;
	int64_t deadline_ns;               /* monotonic; 0: was never parked */
	uint64_t wakes_seen[PARKED_KINDS]; /* counts when a worker took it */
	bool expired; /* the deadline has passed: do not park again */
	bool woken;   /* by http_queue_wake(), since it was parked */
};

typedef bool(queue_match_h)(const struct queue_item *item, const void *arg);

/** Make a queue. @param max  items, waiting and parked together
 * @return 0; -ENOMEM */
int http_queue_new(struct queue **ret, size_t max);
/** Release; the queue must be empty. Accepts NULL. @return NULL */
struct queue *http_queue_free(struct queue *q);

/** Add at the end. @return 0; -EAGAIN full; -ESHUTDOWN closed */
int http_queue_push(struct queue *q, struct queue_item *item);

/**
 * Take the next item, waiting for one. Its deadline may have passed: then
 * item->expired is set.
 * @return NULL: the queue is closed and empty, the worker ends
 */
struct queue_item *http_queue_take(struct queue *q);

/**
 * Park a taken item until its kind is woken or its deadline comes. The first parking
 * sets the deadline, later ones keep it. If a wake came since the item was
 * taken, or the queue is closed, the item is queued again at once; without memory,
 * as expired.
 */
void http_queue_park(struct queue *q, struct queue_item *item, enum parked kind,
		     int64_t now_ns, int64_t park_ns);

/** Count items, waiting and parked. */
size_t http_queue_count(struct queue *q);

/** Queue all parked items of these kinds. @param kinds  a sum of PARKED_BIT() */
void http_queue_wake(struct queue *q, unsigned kinds);

/** Queue the parked items that match, as expired. One that is about to be parked is
 * queued again instead, without a question. */
void http_queue_end(struct queue *q, enum parked kind, queue_match_h *match,
		    const void *arg);

/**
 * Refuse new items and expire parked ones. Workers take the remaining items,
 * then end.
 */
void http_queue_close(struct queue *q);

#endif
