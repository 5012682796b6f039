#include "base/slab.h"

#include "base/sanitizer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* AddressSanitizer knows the objects of malloc() by itself; these must be
 * marked. */
#ifdef SANITIZED_ADDRESS
#include <sanitizer/asan_interface.h>
/* Expose code that relies on bytes that are not cleared. */
#define MESS_UP(at, bytes) memset((at), 0xa5, (bytes))
#else
#define MESS_UP(at, bytes)                     ((void)(at), (void)(bytes))
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

/* A huge page of x86-64, and of arm64 with pages of 4 KiB. */
#define CHUNK_BYTES ((size_t)2 << 20)

/* At the start of the chunk's memory, which is aligned to CHUNK_BYTES: an
 * object's chunk is found by the object's address. */
struct chunk {
	struct chunk *next;
	struct chunk *prev;
	void **free;  /* returned objects, linked by their first bytes */
	size_t used;  /* objects in use */
	size_t fresh; /* index of the first place that was never used */
};

#define HEADER_BYTES SLAB_LINE_BYTES
_Static_assert(sizeof(struct chunk) <= HEADER_BYTES, "a line");

#define PAGE_BYTES ((size_t)4096)

/* Empty chunks that are kept, at least EMPTY_MIN or 1/EMPTY_SHARE of all. If
 * objects are returned as fast as taken, an unmapped chunk would soon be
 * mapped, and cleared by the kernel, again. */
#define EMPTY_MIN   1
#define EMPTY_SHARE 4

struct slab {
	size_t bytes;
	size_t cleared; /* of these bytes */
	size_t first;   /* offset of the first place in a chunk */
	size_t stride;
	size_t places; /* places per chunk */
	enum slab_pages pages;
	size_t chunks;
	size_t empty;       /* chunks without an object */
	struct chunk *room; /* chunks with free places */
	struct chunk *full;
};

static void unlink_from(struct chunk **list, struct chunk *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		*list = c->next;
	if (c->next)
		c->next->prev = c->prev;
}

static void link_to(struct chunk **list, struct chunk *c)
{
	c->prev = NULL;
	c->next = *list;
	if (c->next)
		c->next->prev = c;
	*list = c;
}

/* Map enough memory to contain an aligned chunk, and unmap what is before and
 * after it. */
static struct chunk *chunk_map(enum slab_pages pages)
{
	uint8_t *memory = mmap(NULL, 2 * CHUNK_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (memory == MAP_FAILED)
		return NULL;
	before = (CHUNK_BYTES - (uintptr_t)memory % CHUNK_BYTES) % CHUNK_BYTES;
	if (before > 0)
		munmap(memory, before);
	munmap(memory + before + CHUNK_BYTES, CHUNK_BYTES - before);
	/* if refused, pages are as the system chooses */
	(void)madvise(memory + before, CHUNK_BYTES,
		      pages == SLAB_HUGE_PAGES ? MADV_HUGEPAGE
					       : MADV_NOHUGEPAGE);
	return (struct chunk *)(void *)(memory + before);
}

static void chunk_unmap(struct chunk *c)
{
	ASAN_UNPOISON_MEMORY_REGION(c, CHUNK_BYTES);
	munmap(c, CHUNK_BYTES);
}

static struct chunk *chunk_new(struct slab *s)
{
	struct chunk *c = chunk_map(s->pages);

	if (!c)
		return NULL;
	ASAN_POISON_MEMORY_REGION((uint8_t *)c + HEADER_BYTES,
				  CHUNK_BYTES - HEADER_BYTES);
	link_to(&s->room, c);
	s->chunks++;
	s->empty++;
	return c;
}

int slab_new(struct slab **ret, size_t bytes, size_t cleared,
	     enum slab_pages pages)
{
	struct slab *s;

	if (bytes < sizeof(void *) || bytes > SLAB_OBJECT_MAX ||
	    cleared > bytes)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->bytes = bytes;
	s->cleared = cleared;
	s->pages = pages;
	if (pages == SLAB_HUGE_PAGES) {
		/* an odd number of lines: otherwise the same field of many
		 * objects would compete for a few sets of the cache */
		s->first = HEADER_BYTES;
		s->stride =
			((bytes + SLAB_LINE_BYTES - 1) / SLAB_LINE_BYTES | 1) *
			SLAB_LINE_BYTES;
	} else {
		s->first = PAGE_BYTES;
		s->stride = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	}
	s->places = (CHUNK_BYTES - s->first) / s->stride;
	*ret = s;
	return 0;
}

static void chunks_free(struct chunk *c)
{
	while (c) {
		struct chunk *next = c->next;

		chunk_unmap(c);
		c = next;
	}
}

struct slab *slab_free(struct slab *s)
{
	if (s) {
		chunks_free(s->room);
		chunks_free(s->full);
		free(s);
	}
	return NULL;
}

/* Fresh memory is zero; it is not touched here. */
static void *place_take(const struct slab *s, struct chunk *c)
{
	void **object = c->free;

	if (!object) {
		uint8_t *fresh =
			(uint8_t *)c + s->first + c->fresh++ * s->stride;

		ASAN_UNPOISON_MEMORY_REGION(fresh, s->bytes);
		MESS_UP(fresh + s->cleared, s->bytes - s->cleared);
		return fresh;
	}
	ASAN_UNPOISON_MEMORY_REGION(object, s->bytes);
	c->free = *object;
	memset(object, 0, s->cleared);
	MESS_UP((uint8_t *)object + s->cleared, s->bytes - s->cleared);
	return object;
}

void *slab_take(struct slab *s)
{
	struct chunk *c = s->room ? s->room : chunk_new(s);
	void *object;

	if (!c)
		return NULL;
	object = place_take(s, c);
	s->empty -= c->used == 0;
	if (++c->used == s->places) {
		unlink_from(&s->room, c);
		link_to(&s->full, c);
	}
	return object;
}

void slab_give(struct slab *s, void *object)
{
	struct chunk *c;
	void **place = object;

	if (!object)
		return;
	c = (struct chunk *)((uintptr_t)object / CHUNK_BYTES * CHUNK_BYTES);
	if (c->used-- == s->places) {
		unlink_from(&s->full, c);
		link_to(&s->room, c);
	}
	s->empty += c->used == 0;
	if (c->used == 0 && s->empty > EMPTY_MIN + s->chunks / EMPTY_SHARE) {
		unlink_from(&s->room, c);
		chunk_unmap(c);
		s->chunks--;
		s->empty--;
		return;
	}
	*place = c->free;
	c->free = place;
	ASAN_POISON_MEMORY_REGION(object, s->bytes);
}
