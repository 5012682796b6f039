/**
 * Memory for many large objects of one size, in chunks of 2 MiB.
 * SLAB_HUGE_PAGES is for objects that threads use in turn. An object that is
 * used once in 20 ms is not in the cache. With pages of 4 KiB its address
 * translation is not in the TLB either, which costs more than loading the
 * memory.
 * SLAB_SMALL_PAGES is for objects that are seldom used: the kernel provides,
 * and clears, only the pages that are touched. Each object begins on a page.
 * Its most used part belongs at its beginning: this page is touched in any case,
 * as the slab keeps the list of free objects there.
 * Source: Linux, Documentation/admin-guide/mm/transhuge.rst
 * Thread: one, all functions; any thread may use the objects.
 */
#ifndef OFFHOOK_BASE_SLAB_H
#define OFFHOOK_BASE_SLAB_H

#include <stddef.h>

#define SLAB_LINE_BYTES 64

struct slab;

enum slab_pages {
	SLAB_HUGE_PAGES,  /* where the kernel has them */
	SLAB_SMALL_PAGES, /* also where the kernel would make them huge */
};

/**
 * Create a slab without objects.
 * @param bytes    size of an object, sizeof(void *)..SLAB_OBJECT_MAX
 * @param cleared  its first bytes, <= bytes, are zero in each object that is
 *                 taken; the others have any value
 * @return 0; -EINVAL; -ENOMEM
 */
int slab_new(struct slab **ret, size_t bytes, size_t cleared,
	     enum slab_pages pages);

#define SLAB_OBJECT_MAX ((size_t)1 << 20)

/** Release the slab with all of its objects.
 * @param s  may be NULL
 * @return NULL */
struct slab *slab_free(struct slab *s);

/** Take an object. Its first bytes are zero (slab_new()); its address is a
 * multiple of SLAB_LINE_BYTES, with SLAB_SMALL_PAGES of 4096.
 * @return NULL: no memory */
void *slab_take(struct slab *s);

/** Return an object; it must not be used afterwards.
 * @param object  may be NULL */
void slab_give(struct slab *s, void *object);

#endif
