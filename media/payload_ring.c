#include "media/payload_ring.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define LINE  64 /* bytes of a cache line */
#define ALIGN 8

/* Byte indices run freely. Each record begins at a multiple of ALIGN and may
 * wrap around at the end of the buffer. */
struct payload_ring {
	/* constant */
	alignas(LINE) uint8_t *buffer;
	uint64_t mask;
	/* producer */
	alignas(LINE) _Atomic uint64_t head;
	uint64_t tail_seen;
	_Atomic uint64_t dropped;
	/* consumer */
	alignas(LINE) _Atomic uint64_t tail;
	uint64_t head_seen;
};

int payload_ring_new(struct payload_ring **ret, size_t bytes)
{
	struct payload_ring *r;

	if (bytes < PAYLOAD_RING_BYTES_MIN || (bytes & (bytes - 1)))
		return -EINVAL;
	r = aligned_alloc(LINE, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	r->mask = bytes - 1;
	r->buffer = malloc(bytes);
	if (!r->buffer) {
		free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

struct payload_ring *payload_ring_free(struct payload_ring *r)
{
	if (r)
		free(r->buffer);
	free(r);
	return NULL;
}

static void copy_in(struct payload_ring *r, uint64_t at, const void *data,
		    size_t bytes)
{
	size_t offset = (size_t)(at & r->mask);
	size_t left = (size_t)(r->mask + 1) - offset;
	size_t first = bytes < left ? bytes : left;

	memcpy(r->buffer + offset, data, first);
	memcpy(r->buffer, (const uint8_t *)data + first, bytes - first);
}

static void copy_out(const struct payload_ring *r, uint64_t at, void *data,
		     size_t bytes)
{
	size_t offset = (size_t)(at & r->mask);
	size_t left = (size_t)(r->mask + 1) - offset;
	size_t first = bytes < left ? bytes : left;

	memcpy(data, r->buffer + offset, first);
	memcpy((uint8_t *)data + first, r->buffer, bytes - first);
}

static uint64_t record_bytes(size_t payload)
{
	return (sizeof(struct payload) + payload + ALIGN - 1) &
	       ~(uint64_t)(ALIGN - 1);
}

bool payload_ring_push(struct payload_ring *r, const struct payload *head,
		       const void *data)
{
	/* relaxed: only the producer writes it */
	uint64_t at = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t need = record_bytes(head->bytes);

	if (at + need - r->tail_seen > r->mask + 1)
		/* acquire: pairs with the release in payload_ring_pop(); the
		 * record was copied out */
		r->tail_seen =
			atomic_load_explicit(&r->tail, memory_order_acquire);
	if (head->bytes > PAYLOAD_BYTES_MAX ||
	    at + need - r->tail_seen > r->mask + 1) {
		/* relaxed: a statistic */
		atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
		return false;
	}
	copy_in(r, at, head, sizeof(*head));
	copy_in(r, at + sizeof(*head), data, head->bytes);
	/* release: pairs with the acquire in payload_ring_pop(), publishes the
	 * record */
	atomic_store_explicit(&r->head, at + need, memory_order_release);
	return true;
}

bool payload_ring_peek(struct payload_ring *r, struct payload *ret_head)
{
	/* relaxed: only the consumer writes it */
	uint64_t at = atomic_load_explicit(&r->tail, memory_order_relaxed);

	if (at == r->head_seen)
		/* acquire: pairs with the release in payload_ring_push() */
		r->head_seen =
			atomic_load_explicit(&r->head, memory_order_acquire);
	if (at == r->head_seen)
		return false;
	copy_out(r, at, ret_head, sizeof(*ret_head));
	return true;
}

bool payload_ring_pop(struct payload_ring *r, struct payload *ret_head,
		      uint8_t *data)
{
	uint64_t at;

	if (!payload_ring_peek(r, ret_head))
		return false;
	/* relaxed: only the consumer writes it */
	at = atomic_load_explicit(&r->tail, memory_order_relaxed);
	copy_out(r, at + sizeof(*ret_head), data, ret_head->bytes);
	/* release: pairs with the acquire in payload_ring_push(); the place
	 * may be written again */
	atomic_store_explicit(&r->tail, at + record_bytes(ret_head->bytes),
			      memory_order_release);
	return true;
}

uint64_t payload_ring_dropped(const struct payload_ring *r)
{
	/* relaxed: a statistic */
	return atomic_load_explicit(&r->dropped, memory_order_relaxed);
}
