/**
 * A wait-free ring of fixed-size records for one producer and one consumer.
 * Both indices run freely and are masked on use; the number of records is a
 * power of two. A full ring refuses the newest record and counts it: the
 * producer never blocks.
 * The records lie in blocks. When the producer comes to the end of a block it
 * continues in one that the consumer has read, and takes one that was never
 * used only if there is none: the ring uses memory for the most records that
 * have waited in it at a time, not for all of its places.
 */
#ifndef OFFHOOK_BASE_RING_H
#define OFFHOOK_BASE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_LINE_BYTES 64

/* Private; defined here for the inline functions of the hot path. */
struct ring {
	/* constant after ring_new() */
	size_t record_bytes;
	size_t mask;
	unsigned block_bits; /* log2 of the records of a block */
	size_t block_mask;   /* records of a block - 1 */
	size_t blocks_mask;  /* elements of `blocks` - 1 */
	uint8_t *records;    /* the memory of all blocks */
	/* The block of an index, by index >> block_bits. The producer writes an
	 * element before it publishes the first record of the block; elements of
	 * records that wait do not change */
	uint8_t **blocks;

	/* producer */
	alignas(RING_LINE_BYTES) _Atomic size_t head; /* next to write */
	size_t tail_seen; /* consumer's index when last looked at */
	size_t entered;   /* index after the last block in `blocks` */
	size_t reclaimed; /* blocks of lower indices were used again */
	uint8_t *unused;  /* first block that was never used */
	uint8_t *writing; /* the block of head */
	_Atomic uint64_t dropped;

	/* consumer */
	alignas(RING_LINE_BYTES) _Atomic size_t tail; /* next to read */
	size_t head_seen;       /* producer's index when last looked at */
	const uint8_t *reading; /* the block of tail */
};

/* A block holds at least this much, or the whole ring. */
#define RING_BLOCK_BYTES 16384

/**
 * Create a ring.
 * @param record_bytes  size of a record, > 0
 * @param records       a power of two
 * @return 0; -EINVAL; -ENOMEM
 */
int ring_new(struct ring **ret, size_t record_bytes, size_t records);

/** Release the ring. Neither side may use it any more.
 * @return NULL */
struct ring *ring_free(struct ring *r);

/* Private: choose the block of the next record. */
void ring_enter(struct ring *r, size_t head);

/* Private: the block of an index that was entered. */
static inline uint8_t *ring_block(const struct ring *r, size_t at)
{
	return r->blocks[at >> r->block_bits & r->blocks_mask];
}

/**
 * Get the place of the next record, to be filled there and published by
 * ring_commit(). Until then the same place is returned again.
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
	if (head == r->entered)
		ring_enter(r, head);
	return r->writing + (head & r->block_mask) * r->record_bytes;
}

static inline void ring_commit(struct ring *r)
{
	/* relaxed: the producer alone writes head */
	size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	/* release: publishes the record to ring_front() */
	atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

/** Copy a record into the ring: reserve and commit.
 * @return false if the ring is full */
bool ring_push(struct ring *r, const void *record);

/**
 * Get the oldest record, in place; ring_release() frees its place.
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
	if ((tail & r->block_mask) == 0)
		r->reading = ring_block(r, tail);
	return r->reading + (tail & r->block_mask) * r->record_bytes;
}

static inline void ring_release(struct ring *r)
{
	/* relaxed: the consumer alone writes tail */
	size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	/* release: hands the slot back to ring_reserve() */
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

/**
 * Get the record `ahead` places after the oldest, if the consumer has already
 * seen it, for prefetching.
 * Thread: the consumer only; never blocks. Call it between a successful
 * ring_front() and ring_release().
 * @return NULL: not seen yet
 */
static inline const void *ring_ahead(const struct ring *r, size_t ahead)
{
	/* relaxed: the consumer alone writes tail */
	size_t at =
		atomic_load_explicit(&r->tail, memory_order_relaxed) + ahead;

	/* records before head_seen were published to ring_front() */
	if ((ptrdiff_t)(r->head_seen - at) <= 0)
		return NULL;
	return ring_block(r, at) + (at & r->block_mask) * r->record_bytes;
}

/** Copy the oldest record and release it.
 * @return false if the ring is empty */
bool ring_pop(struct ring *r, void *record);

/** @return number of records refused because the ring was full. Thread: any. */
uint64_t ring_dropped(const struct ring *r);

#endif
