/**
 * Memory for thousands of streams: blocks of one size, and tables, in large
 * pages where the system gives them. In pages of 4 KiB each stream would cost
 * some page faults to begin, and address translations to find.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_POOL_H
#define OFFHOOK_CAPTURE_POOL_H

#include <stddef.h>

struct pool_slab;

/** Blocks live until pool_release(); those given back are used again. */
struct pool {
	size_t block_bytes; /* a whole, odd number of cache lines */
	struct pool_slab *slab;
	size_t used; /* bytes of it */
	void *given_back;
};

/** @param block_bytes  of what is asked for, up to 1 MiB */
void pool_init(struct pool *p, size_t block_bytes);

/** All blocks. */
void pool_release(struct pool *p);

/** @return all 0, aligned to a cache line; NULL: no memory */
void *pool_take(struct pool *p);

/** @param block  of pool_take(); NULL is allowed */
void pool_give(struct pool *p, void *block);

/** A table of its own. @return all 0; NULL: no memory */
void *pool_map(size_t bytes);
/** @param p  of pool_map(); NULL is allowed */
void pool_unmap(void *p, size_t bytes);

#endif
