/**
 * Memory of one decoded message: allocated piece by piece, wiped and released
 * as a whole, so that no password stays in memory.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CONTROL_WIRE_ARENA_H
#define OFFHOOK_CONTROL_WIRE_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks;
};

/** Zeroed memory for count items, aligned for any type.
 * @return NULL when out of memory or count * size overflows */
void *arena_alloc(struct arena *a, size_t count, size_t size);

/** A copy of text. @return NULL when out of memory */
char *arena_text(struct arena *a, const char *text);

/** Wipe and release everything; the arena is empty and usable again. */
void arena_release(struct arena *a);

#endif
