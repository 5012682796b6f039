#include "control/server/http/queue.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct list {
	struct queue_item *first;
	struct queue_item *last;
};

/* Parked items; the first one has the earliest deadline. A binary heap: with
 * thousands of them a deadline comes many times a second. */
struct heap {
	struct queue_item **items;
	size_t count;
	size_t size; /* allocated */
};

struct queue {
	size_t max; /* constant */
	pthread_mutex_t lock;
	pthread_cond_t ready;
	/* all below: lock */
	struct list waiting;
	struct heap parked[PARKED_KINDS];
	size_t count; /* waiting and parked */
	uint64_t wakes[PARKED_KINDS];
	unsigned idle;  /* workers that wait for an item */
	unsigned woken; /* of these, signalled */
	bool closed;
};

/* Wake one worker at a time; a worker that leaves items in the queue wakes the
 * next one. If a burst woke all of them they would wait for the lock, and busy
 * workers soon take the next item anyway.
 * @return true: signal q->ready, when the lock is no longer held */
static bool must_wake(struct queue *q)
{
	if (q->woken > 0 || q->idle == 0)
		return false;
	q->woken++;
	return true;
}

static void unlock(struct queue *q, bool wake)
{
	pthread_mutex_unlock(&q->lock);
	if (wake)
		pthread_cond_signal(&q->ready);
}

static void list_add(struct list *l, struct queue_item *item)
{
	item->next = NULL;
	if (l->last)
		l->last->next = item;
	else
		l->first = item;
	l->last = item;
}

static struct queue_item *list_take(struct list *l)
{
	struct queue_item *item = l->first;

	if (item) {
		l->first = item->next;
		if (!l->first)
			l->last = NULL;
		item->next = NULL;
	}
	return item;
}

/* ---- parked items ---- */

static bool earlier(const struct heap *h, size_t a, size_t b)
{
	return h->items[a]->deadline_ns < h->items[b]->deadline_ns;
}

static void heap_swap(struct heap *h, size_t a, size_t b)
{
	struct queue_item *item = h->items[a];

	h->items[a] = h->items[b];
	h->items[b] = item;
}

static void sift_down(struct heap *h, size_t at)
{
	for (;;) {
		size_t first = at, left = 2 * at + 1;

		if (left < h->count && earlier(h, left, first))
			first = left;
		if (left + 1 < h->count && earlier(h, left + 1, first))
			first = left + 1;
		if (first == at)
			return;
		heap_swap(h, at, first);
		at = first;
	}
}

static int heap_add(struct heap *h, struct queue_item *item)
{
	size_t at = h->count;

	if (h->count == h->size) {
		size_t size = h->size ? 2 * h->size : 64;
		struct queue_item **items =
			reallocarray(h->items, size, sizeof(*items));

		if (!items)
			return -ENOMEM;
		h->items = items;
		h->size = size;
	}
	h->items[h->count++] = item;
	while (at > 0 && earlier(h, at, (at - 1) / 2)) {
		heap_swap(h, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
	return 0;
}

/* Queue the parked items whose deadline has come. */
static void expire_parked(struct queue *q, int64_t now_ns)
{
	for (size_t kind = 0; kind < PARKED_KINDS; kind++) {
		struct heap *h = &q->parked[kind];

		while (h->count && h->items[0]->deadline_ns <= now_ns) {
			h->items[0]->expired = true;
			list_add(&q->waiting, h->items[0]);
			heap_swap(h, 0, --h->count);
			sift_down(h, 0);
		}
	}
}

/* @return INT64_MAX: nothing is parked */
static int64_t next_deadline(const struct queue *q)
{
	int64_t next = INT64_MAX;

	for (size_t kind = 0; kind < PARKED_KINDS; kind++) {
		const struct heap *h = &q->parked[kind];

		if (h->count && h->items[0]->deadline_ns < next)
			next = h->items[0]->deadline_ns;
	}
	return next;
}

/* ---- the queue ---- */

int http_queue_new(struct queue **ret, size_t max)
{
	pthread_condattr_t attr;
	struct queue *q;

	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->max = max;
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->ready, &attr);
	pthread_condattr_destroy(&attr);
	*ret = q;
	return 0;
}

struct queue *http_queue_free(struct queue *q)
{
	if (!q)
		return NULL;
	pthread_cond_destroy(&q->ready);
	pthread_mutex_destroy(&q->lock);
	for (size_t kind = 0; kind < PARKED_KINDS; kind++)
		free(q->parked[kind].items);
	free(q);
	return NULL;
}

int http_queue_push(struct queue *q, struct queue_item *item)
{
	bool wake = false;
	int err = 0;

	pthread_mutex_lock(&q->lock);
	if (q->closed) {
		err = -ESHUTDOWN;
	} else if (q->count >= q->max) {
		err = -EAGAIN;
	} else {
		list_add(&q->waiting, item);
		q->count++;
		wake = must_wake(q);
	}
	unlock(q, wake);
	return err;
}

static void wait_ready(struct queue *q)
{
	const int64_t next_ns = next_deadline(q);
	struct timespec until;

	q->idle++;
	if (next_ns == INT64_MAX) {
		pthread_cond_wait(&q->ready, &q->lock);
	} else {
		until.tv_sec = next_ns / NS_PER_S;
		until.tv_nsec = next_ns % NS_PER_S;
		pthread_cond_timedwait(&q->ready, &q->lock, &until);
	}
	q->idle--;
	/* this worker looks at the queue now, whatever woke it */
	if (q->woken > 0)
		q->woken--;
}

struct queue_item *http_queue_take(struct queue *q)
{
	struct queue_item *item;
	bool wake = false;

	pthread_mutex_lock(&q->lock);
	for (;;) {
		expire_parked(q, clock_mono_ns());
		item = list_take(&q->waiting);
		if (item || q->closed)
			break;
		wait_ready(q);
	}
	if (item) {
		q->count--;
		memcpy(item->wakes_seen, q->wakes, sizeof(q->wakes));
		if (item->deadline_ns && item->deadline_ns <= clock_mono_ns())
			item->expired = true;
		wake = q->waiting.first && must_wake(q);
	}
	unlock(q, wake);
	return item;
}

void http_queue_park(struct queue *q, struct queue_item *item, enum parked kind,
		     int64_t now_ns, int64_t park_ns)
{
	bool wake;

	pthread_mutex_lock(&q->lock);
	if (item->deadline_ns == 0)
		item->deadline_ns = now_ns + park_ns;
	item->woken = false;
	q->count++;
	if (q->closed) {
		item->expired = true;
		list_add(&q->waiting, item);
	} else if (item->wakes_seen[kind] != q->wakes[kind]) {
		list_add(&q->waiting, item);
	} else if (heap_add(&q->parked[kind], item)) {
		item->expired = true; /* no memory: it is answered now */
		list_add(&q->waiting, item);
	}
	/* wakes a worker that would sleep past the new deadline */
	wake = must_wake(q);
	unlock(q, wake);
}

size_t http_queue_count(struct queue *q)
{
	size_t count;

	pthread_mutex_lock(&q->lock);
	count = q->count;
	pthread_mutex_unlock(&q->lock);
	return count;
}

void http_queue_wake(struct queue *q, unsigned kinds)
{
	pthread_mutex_lock(&q->lock);
	for (size_t kind = 0; kind < PARKED_KINDS; kind++) {
		struct heap *h = &q->parked[kind];

		if (!(kinds & PARKED_BIT(kind)))
			continue;
		q->wakes[kind]++;
		for (size_t i = 0; i < h->count; i++) {
			h->items[i]->woken = true;
			list_add(&q->waiting, h->items[i]);
		}
		h->count = 0;
	}
	pthread_cond_broadcast(&q->ready);
	pthread_mutex_unlock(&q->lock);
}

/* @return items that were taken out */
static size_t end_matching(struct queue *q, struct heap *h,
			   queue_match_h *match, const void *arg)
{
	const size_t before = h->count;

	h->count = 0;
	for (size_t i = 0; i < before; i++) {
		struct queue_item *item = h->items[i];

		if (match(item, arg)) {
			item->expired = true;
			list_add(&q->waiting, item);
		} else {
			h->items[h->count++] = item;
		}
	}
	for (size_t i = h->count / 2; h->count < before && i-- > 0;)
		sift_down(h, i);
	return before - h->count;
}

void http_queue_end(struct queue *q, enum parked kind, queue_match_h *match,
		    const void *arg)
{
	bool wake;

	pthread_mutex_lock(&q->lock);
	/* one that is about to be parked has its handler run again */
	q->wakes[kind]++;
	wake = end_matching(q, &q->parked[kind], match, arg) && must_wake(q);
	unlock(q, wake);
}

void http_queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	expire_parked(q, INT64_MAX);
	pthread_cond_broadcast(&q->ready);
	pthread_mutex_unlock(&q->lock);
}
