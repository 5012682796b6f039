#include "base/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* @return log2 of the records of a block, of which the ring has one or more */
static unsigned block_bits_of(size_t record_bytes, size_t records)
{
	unsigned bits = 0;

	while ((size_t)1 << bits < records &&
	       record_bytes << bits < RING_BLOCK_BYTES)
		bits++;
	return bits;
}

int ring_new(struct ring **ret, size_t record_bytes, size_t records)
{
	struct ring *r;
	size_t blocks;

	if (record_bytes == 0 || records == 0 || (records & (records - 1)))
		return -EINVAL;
	r = aligned_alloc(RING_LINE_BYTES, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	r->record_bytes = record_bytes;
	r->mask = records - 1;
	r->block_bits = block_bits_of(record_bytes, records);
	r->block_mask = ((size_t)1 << r->block_bits) - 1;
	blocks = records >> r->block_bits;
	r->blocks_mask = 2 * blocks - 1;
	/* a full ring begins and ends within a block: one more than its places
	 * need */
	r->records = calloc(blocks + 1, record_bytes << r->block_bits);
	r->blocks = calloc(2 * blocks, sizeof(*r->blocks));
	if (!r->records || !r->blocks) {
		ring_free(r);
		return -ENOMEM;
	}
	r->unused = r->records;
	*ret = r;
	return 0;
}

struct ring *ring_free(struct ring *r)
{
	if (r) {
		free(r->blocks);
		free(r->records);
		free(r);
	}
	return NULL;
}

/*
 * Blocks in use are those from `reclaimed` to `entered`. They are at most one
 * more than the places need when one that was never used is taken, since then
 * the oldest of them has records that wait: so there is always one, and
 * `blocks`, of twice as many elements, has room for them.
 */
void ring_enter(struct ring *r, size_t head)
{
	const size_t records = r->block_mask + 1;
	uint8_t *block = r->unused;

	/* acquire: pairs with the release in ring_release(); the block's content
	 * was read before we write it again */
	r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
	if (r->tail_seen - r->reclaimed >= records) {
		block = ring_block(r, r->reclaimed);
		r->reclaimed += records;
	} else {
		r->unused += records * r->record_bytes;
	}
	r->blocks[head >> r->block_bits & r->blocks_mask] = block;
	r->entered = head + records;
	r->writing = block;
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
