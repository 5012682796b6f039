#include "media/record_ring.h"

#include "base/ring.h"

int record_ring_open(struct record_ring *r, size_t max)
{
	r->max = max;
	return ring_new(&r->ring, sizeof(struct media_record), max);
}

void record_ring_close(struct record_ring *r)
{
	ring_free(r->ring);
	r->ring = NULL;
}

bool record_ring_full(const struct record_ring *r)
{
	/* acquire: pairs with the release in record_ring_pop(); polled records
	 * have left the ring */
	uint64_t polled =
		atomic_load_explicit(&r->polled, memory_order_acquire);

	return r->pushed - polled >= r->max;
}

bool record_ring_push(struct record_ring *r, const struct media_record *record)
{
	if (record_ring_full(r))
		return false;
	ring_push(r->ring, record);
	r->pushed++;
	return true;
}

void record_ring_push_or_drop(struct record_ring *r,
			      const struct media_record *record)
{
	if (!record_ring_push(r, record))
		record_ring_drop(r);
}

struct media_record *record_ring_reserve(struct record_ring *r)
{
	return record_ring_full(r) ? NULL : ring_reserve(r->ring);
}

void record_ring_commit(struct record_ring *r)
{
	ring_commit(r->ring);
	r->pushed++;
}

void record_ring_drop(struct record_ring *r)
{
	/* relaxed: statistics, they order nothing */
	atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
}

bool record_ring_pop(struct record_ring *r, struct media_record *ret)
{
	if (!ring_pop(r->ring, ret))
		return false;
	/* release: pairs with the acquire in record_ring_full() */
	atomic_fetch_add_explicit(&r->polled, 1, memory_order_release);
	return true;
}
