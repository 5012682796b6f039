#include "control/server/http/queue.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct list {
	struct queue_item *first;
	struct queue_item *last;
};

struct queue {
	size_t max; /* constant */
	pthread_mutex_t lock;
	pthread_cond_t ready;
	/* all below: lock */
	struct list waiting;
	struct list parked;
	int64_t next_deadline_ns; /* at or before the first of parked items */
	size_t count;             /* waiting and parked */
	uint64_t wakes;
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
	item->prev = l->last;
	if (l->last)
		l->last->next = item;
	else
		l->first = item;
	l->last = item;
}

static void list_remove(struct list *l, struct queue_item *item)
{
	if (item->prev)
		item->prev->next = item->next;
	else
		l->first = item->next;
	if (item->next)
		item->next->prev = item->prev;
	else
		l->last = item->prev;
	item->next = item->prev = NULL;
}

int http_queue_new(struct queue **ret, size_t max)
{
	pthread_condattr_t attr;
	struct queue *q;

	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->max = max;
	q->next_deadline_ns = INT64_MAX;
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

/* Queue the parked items whose deadline has come; find the next one. */
static void expire_parked(struct queue *q, int64_t now_ns)
{
	struct queue_item *item = q->parked.first, *next;

	q->next_deadline_ns = INT64_MAX;
	for (; item; item = next) {
		next = item->next;
		if (item->deadline_ns <= now_ns) {
			list_remove(&q->parked, item);
			item->expired = true;
			list_add(&q->waiting, item);
		} else if (item->deadline_ns < q->next_deadline_ns) {
			q->next_deadline_ns = item->deadline_ns;
		}
	}
}

static void wait_ready(struct queue *q)
{
	struct timespec until;

	q->idle++;
	if (q->next_deadline_ns == INT64_MAX) {
		pthread_cond_wait(&q->ready, &q->lock);
	} else {
		until.tv_sec = q->next_deadline_ns / NS_PER_S;
		until.tv_nsec = q->next_deadline_ns % NS_PER_S;
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
		int64_t now = clock_mono_ns();

		if (now >= q->next_deadline_ns)
			expire_parked(q, now);
		item = q->waiting.first;
		if (item || q->closed)
			break;
		wait_ready(q);
	}
	if (item) {
		list_remove(&q->waiting, item);
		q->count--;
		item->wakes_seen = q->wakes;
		if (item->deadline_ns && item->deadline_ns <= clock_mono_ns())
			item->expired = true;
		wake = q->waiting.first && must_wake(q);
	}
	unlock(q, wake);
	return item;
}

void http_queue_park(struct queue *q, struct queue_item *item, int64_t now_ns,
		     int64_t park_ns)
{
	bool wake;

	pthread_mutex_lock(&q->lock);
	if (item->deadline_ns == 0)
		item->deadline_ns = now_ns + park_ns;
	q->count++;
	if (q->closed) {
		item->expired = true;
		list_add(&q->waiting, item);
	} else if (item->wakes_seen != q->wakes) {
		list_add(&q->waiting, item);
	} else {
		list_add(&q->parked, item);
		if (item->deadline_ns < q->next_deadline_ns)
			q->next_deadline_ns = item->deadline_ns;
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

void http_queue_wake(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->wakes++;
	while (q->parked.first) {
		struct queue_item *item = q->parked.first;

		list_remove(&q->parked, item);
		list_add(&q->waiting, item);
	}
	q->next_deadline_ns = INT64_MAX;
	pthread_cond_broadcast(&q->ready);
	pthread_mutex_unlock(&q->lock);
}

void http_queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	expire_parked(q, INT64_MAX);
	pthread_cond_broadcast(&q->ready);
	pthread_mutex_unlock(&q->lock);
}
