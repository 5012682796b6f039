#include "capture/pool.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define LINE       64
#define LARGE_PAGE ((size_t)2 << 20)
#define FIRST      ((size_t)64 << 10) /* enough for a few streams */

struct pool_slab {
	struct pool_slab *before;
	size_t bytes;
};

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

static size_t mapped_bytes(size_t bytes)
{
	return bytes < LARGE_PAGE ? bytes : round_up(bytes, LARGE_PAGE);
}

void *pool_map(size_t bytes)
{
	/* a large page begins at a multiple of its size */
	size_t whole = mapped_bytes(bytes);
	size_t spare = bytes < LARGE_PAGE ? 0 : LARGE_PAGE;
	uint8_t *p = mmap(NULL, whole + spare, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	if (spare == 0)
		return p;
	before = round_up((uintptr_t)p, LARGE_PAGE) - (uintptr_t)p;
	if (before > 0)
		munmap(p, before);
	p += before;
	munmap(p + whole, spare - before);
	madvise(p, whole, MADV_HUGEPAGE); /* a hint: may fail */
	return p;
}

void pool_unmap(void *p, size_t bytes)
{
	if (p)
		munmap(p, mapped_bytes(bytes));
}

void pool_init(struct pool *p, size_t block_bytes)
{
	size_t lines = (block_bytes + LINE - 1) / LINE;

	/* an odd number of lines spreads the blocks over the sets of the
	 * cache */
	*p = (struct pool){.block_bytes = LINE * (lines | 1)};
}

void pool_release(struct pool *p)
{
	while (p->slab) {
		struct pool_slab *before = p->slab->before;

		pool_unmap(p->slab, p->slab->bytes);
		p->slab = before;
	}
	*p = (struct pool){.block_bytes = p->block_bytes};
}

/* Each slab has twice the size of the one before, up to a large page. */
static bool add_slab(struct pool *p)
{
	size_t bytes = p->slab ? 2 * p->slab->bytes : FIRST;
	struct pool_slab *slab;

	while (bytes < p->block_bytes + LINE)
		bytes *= 2;
	if (bytes > LARGE_PAGE)
		bytes = LARGE_PAGE;
	slab = pool_map(bytes);
	if (!slab)
		return false;
	*slab = (struct pool_slab){.before = p->slab, .bytes = bytes};
	p->slab = slab;
	p->used = LINE;
	return true;
}

void *pool_take(struct pool *p)
{
	uint8_t *block = p->given_back;

	if (block) {
		memcpy(&p->given_back, block, sizeof(p->given_back));
		return memset(block, 0, p->block_bytes);
	}
	if ((!p->slab || p->used + p->block_bytes > p->slab->bytes) &&
	    !add_slab(p))
		return NULL;
	block = (uint8_t *)p->slab + p->used;
	p->used += p->block_bytes;
	return block;
}

void pool_give(struct pool *p, void *block)
{
	if (!block)
		return;
	memcpy(block, &p->given_back, sizeof(p->given_back));
	p->given_back = block;
}
