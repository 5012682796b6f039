/**
 * Memory for many large objects of one size that threads walk through by turns:
 * in chunks of 2 MiB, in huge pages where the kernel has them. An object that
 * is touched once in 20 ms is in no cache then, and in pages of 4 KiB its
 * address is not either: that costs more than its memory does.
 * Source: Linux, Documentation/admin-guide/mm/transhuge.rst
 * Thread: one, all functions; objects are anybody's.
 */
#ifndef OFFHOOK_BASE_SLAB_H
#define OFFHOOK_BASE_SLAB_H

#include <stddef.h>

#define SLAB_LINE_BYTES 64

struct slab;

/**
 * Make one without objects.
 * @param bytes    of an object, sizeof(void *)..SLAB_OBJECT_MAX
 * @param cleared  of them, from the start: zero in each object that is taken,
 *                 <= bytes; the others have any value
 * @return 0; -EINVAL; -ENOMEM
 */
int slab_new(struct slab **ret, size_t bytes, size_t cleared);

#define SLAB_OBJECT_MAX ((size_t)1 << 20)

/** Release it with all of its objects. @param s  may be NULL @return NULL */
struct slab *slab_free(struct slab *s);

/** An object, its first bytes zero (slab_new()), at a multiple of
 * SLAB_LINE_BYTES. @return NULL: no memory */
void *slab_take(struct slab *s);

/** Give it back; it must not be touched after. @param object  may be NULL */
void slab_give(struct slab *s, void *object);

#endif
