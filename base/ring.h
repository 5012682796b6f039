/**
 * A wait-free ring of fixed-size records for one producer and one consumer.
 * Both indices run freely and are masked on use; the record count is a power
 * of two. A full ring refuses the newest record and counts it: the producer
 * never blocks (rtp-analysis 6.1).
 */
#ifndef OFFHOOK_BASE_RING_H
#define OFFHOOK_BASE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_LINE_BYTES 64

/* Private; here for the functions of the hot path. */
struct ring {
	/* constant after ring_new() */
	size_t record_bytes;
	size_t mask;
	uint8_t *records;

	/* producer */
	alignas(RING_LINE_BYTES) _Atomic size_t head; /* next to write */
	size_t tail_seen; /* consumer's index when last looked at */
	_Atomic uint64_t dropped;

	/* consumer */
	alignas(RING_LINE_BYTES) _Atomic size_t tail; /* next to read */
	size_t head_seen; /* producer's index when last looked at */
};

/**
 * Make a ring.
 * @param record_bytes  size of a record, > 0
 * @param records       a power of two
 * @return 0; -EINVAL; -ENOMEM
 */
int ring_new(struct ring **ret, size_t record_bytes, size_t records);

/** Release the ring; neither side may use it any more. @return NULL */
struct ring *ring_free(struct ring *r);

/**
 * The place of the next record, to be filled where it lies; ring_commit()
 * hands it over. Until then the same place is given again.
 * Thread: the producer only; never blocks.
 * @return NULL if the ring is full (counted in ring_dropped())
 */
static inline void *ring_reserve(struct ring *r)
{
	/* relaxed: the producer alone writes head */
	size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	if (head - r->tail_seen > r->mask) {
		/* acquire: pairs with the release in ring_release(); the slot's
		 * content was read before we write it again */
		r->tail_seen =
			atomic_load_explicit(&r->tail, memory_order_acquire);
		if (head - r->tail_seen > r->mask) {
			/* relaxed: a statistic, it orders nothing */
			atomic_fetch_add_explicit(&r->dropped, 1,
						  memory_order_relaxed);
			return NULL;
		}
	}
	return r->records + (head & r->mask) * r->record_bytes;
}

static inline void ring_commit(struct ring *r)
{
	/* relaxed: the producer alone writes head */
	size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	/* release: publishes the record to ring_front() */
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

/** Copy a record in: reserve and commit. @return false if the ring is full */
bool ring_push(struct ring *r, const void *record);

/**
 * The oldest record, where it lies; ring_release() gives its place back.
 * Thread: the consumer only; never blocks.
 * @return NULL if the ring is empty
 */
static inline const void *ring_front(struct ring *r)
{
	/* relaxed: the consumer alone writes tail */
	size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (tail == r->head_seen) {
		/* acquire: pairs with the release in ring_commit() */
		r->head_seen =
			atomic_load_explicit(&r->head, memory_order_acquire);
		if (tail == r->head_seen)
			return NULL;
	}
	return r->records + (tail & r->mask) * r->record_bytes;
}

static inline void ring_release(struct ring *r)
{
	/* relaxed: the consumer alone writes tail */
	size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	/* release: hands the slot back to ring_reserve() */
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

/**
 * The record `ahead` places after the oldest, if the consumer knows of it
 * already: what comes soon, to be prepared for.
 * Thread: the consumer only; never blocks. After a ring_front() that was not
 * NULL, until ring_release().
 * @return NULL: none known
 */
static inline const void *ring_ahead(const struct ring *r, size_t ahead)
{
	/* relaxed: the consumer alone writes tail */
	size_t at =
		atomic_load_explicit(&r->tail, memory_order_relaxed) + ahead;

	/* what is before head_seen was published to ring_front() */
	if ((ptrdiff_t)(r->head_seen - at) <= 0)
		return NULL;
	return r->records + (at & r->mask) * r->record_bytes;
}

/** Copy the oldest record out, and release it. @return false if the ring is
 * empty */
bool ring_pop(struct ring *r, void *record);

/** Records refused because the ring was full. Thread: any. */
uint64_t ring_dropped(const struct ring *r);

#endif
