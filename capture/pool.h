/**
 * Memory for thousands of streams: blocks of one size, and tables. They lie in
 * large pages where the system has them, which saves page faults and entries of
 * the TLB.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_POOL_H
#define OFFHOOK_CAPTURE_POOL_H

#include <stddef.h>

struct pool_slab;

/** Memory goes back to the system in pool_release() only. */
struct pool {
	size_t block_bytes; /* a whole, odd number of cache lines */
	struct pool_slab *slab;
	size_t used;      /* bytes of the slab */
	void *given_back; /* list of free blocks */
};

/** Make an empty pool. @param block_bytes  of each block, up to 1 MiB */
void pool_init(struct pool *p, size_t block_bytes);

/** Free all blocks. */
void pool_release(struct pool *p);

/** Take a block. @return all 0, aligned to a cache line; NULL: no memory */
void *pool_take(struct pool *p);

/** Give a block back. @param block  of pool_take(); NULL is allowed */
void pool_give(struct pool *p, void *block);

/** Allocate a table. @return all 0; NULL: no memory */
void *pool_map(size_t bytes);
/** Free a table. @param p  of pool_map(), of this size; NULL is allowed */
void pool_unmap(void *p, size_t bytes);

#endif
