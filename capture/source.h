/**
 * Bytes of a capture: from a file, a pipe or memory, read in large pieces
 * into one buffer that never grows.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_SOURCE_H
#define OFFHOOK_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_BYTES 524288 /* the most source_need() can give at once */

struct source {
	const uint8_t *data;
	size_t at;
	size_t end;
	uint64_t consumed; /* bytes of the capture before data[0] */
	uint8_t *buffer;   /* owned; NULL: memory of the caller */
	int fd;
	bool eof;
	int err; /* negative errno of a failed read; 0 none */
};

/** @param fd  borrowed; any kind. @return 0; -ENOMEM */
int source_open(struct source *s, int fd);
/** @param data  borrowed until source_close() */
void source_open_memory(struct source *s, const uint8_t *data, size_t bytes);
void source_close(struct source *s);

/** Read until n bytes are there, or no more come. Private. */
bool source_fill(struct source *s, size_t n);

/**
 * The next n bytes, still to be consumed; valid until the next call.
 * @param n  <= SOURCE_BYTES
 * @return NULL: fewer are left
 */
static inline const uint8_t *source_need(struct source *s, size_t n)
{
	if (s->end - s->at < n && !source_fill(s, n))
		return NULL;
	return s->data + s->at;
}

/** Consume n bytes that source_need() gave. */
static inline void source_consume(struct source *s, size_t n)
{
	s->at += n;
}

/** Bytes that are left when no n are: 0 is a clean end. */
static inline size_t source_left(const struct source *s)
{
	return s->end - s->at;
}

/** Consume any number of bytes. @return false: the end came first */
bool source_skip(struct source *s, uint64_t n);

/** Position in the capture. */
static inline uint64_t source_offset(const struct source *s)
{
	return s->consumed + s->at;
}

#endif
