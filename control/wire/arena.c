#include "control/wire/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_CHUNK_BYTES 4096
#define ARENA_ALIGN       _Alignof(max_align_t)

struct arena_chunk {
	struct arena_chunk *next;
	size_t used;
	size_t size;
	_Alignas(max_align_t) unsigned char data[];
};

static struct arena_chunk *grow(struct arena *a, size_t bytes)
{
	size_t size = bytes > ARENA_CHUNK_BYTES ? bytes : ARENA_CHUNK_BYTES;
	struct arena_chunk *chunk = calloc(1, sizeof(*chunk) + size);

	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->next = a->chunks;
	a->chunks = chunk;
	return chunk;
}

void *arena_alloc(struct arena *a, size_t count, size_t size)
{
	struct arena_chunk *chunk = a->chunks;
	size_t bytes;
	void *data;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	if (!chunk || chunk->size - chunk->used < bytes)
		chunk = grow(a, bytes);
	if (!chunk)
		return NULL;
	data = chunk->data + chunk->used;
	chunk->used += bytes;
	return data;
}

char *arena_text(struct arena *a, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = arena_alloc(a, size, 1);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

void arena_release(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *chunk = a->chunks;

		a->chunks = chunk->next;
		explicit_bzero(chunk->data, chunk->used);
		free(chunk);
	}
}
