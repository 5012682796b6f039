#include "base/ring.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE_BYTES 64

struct ring {
	/* constant after ring_new() */
	size_t record_bytes;
	size_t mask;
	uint8_t *records;

	/* producer */
	alignas(CACHE_LINE_BYTES) _Atomic size_t head; /* next to write */
	size_t tail_seen; /* consumer's index when last looked at */
	_Atomic uint64_t dropped;

	/* consumer */
	alignas(CACHE_LINE_BYTES) _Atomic size_t tail; /* next to read */
	size_t head_seen; /* producer's index when last looked at */
};

int ring_new(struct ring **ret, size_t record_bytes, size_t records)
{
	struct ring *r;

	if (record_bytes == 0 || records == 0 || (records & (records - 1)))
		return -EINVAL;
	r = aligned_alloc(CACHE_LINE_BYTES, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	r->records = calloc(records, record_bytes);
	if (!r->records) {
		free(r);
		return -ENOMEM;
	}
	r->record_bytes = record_bytes;
	r->mask = records - 1;
	*ret = r;
	return 0;
}

struct ring *ring_free(struct ring *r)
{
	if (r) {
		free(r->records);
		free(r);
	}
	return NULL;
}

void *ring_reserve(struct ring *r)
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

void ring_commit(struct ring *r)
{
	/* relaxed: the producer alone writes head */
	size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	/* release: publishes the record to ring_front() */
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

bool ring_push(struct ring *r, const void *record)
{
	void *place = ring_reserve(r);

	if (!place)
		return false;
	memcpy(place, record, r->record_bytes);
	ring_commit(r);
	return true;
}

const void *ring_front(struct ring *r)
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

const void *ring_ahead(const struct ring *r, size_t ahead)
{
	/* relaxed: the consumer alone writes tail */
	size_t at =
		atomic_load_explicit(&r->tail, memory_order_relaxed) + ahead;

	/* what is before head_seen was published to ring_front() */
	if ((ptrdiff_t)(r->head_seen - at) <= 0)
		return NULL;
	return r->records + (at & r->mask) * r->record_bytes;
}

void ring_release(struct ring *r)
{
	/* relaxed: the consumer alone writes tail */
	size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	/* release: hands the slot back to ring_reserve() */
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

bool ring_pop(struct ring *r, void *record)
{
	const void *oldest = ring_front(r);

	if (!oldest)
		return false;
	memcpy(record, oldest, r->record_bytes);
	ring_release(r);
	return true;
}

uint64_t ring_dropped(const struct ring *r)
{
	/* relaxed: a statistic, it orders nothing */
	return atomic_load_explicit(&r->dropped, memory_order_relaxed);
}
