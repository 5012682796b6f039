/**
 * The bytes of a capture, from a file, a pipe or memory. They are read in large
 * pieces into one buffer of a fixed size.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_SOURCE_H
#define OFFHOOK_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_BYTES 524288 /* limit of one source_need() */

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

/**
 * Read from a descriptor.
 * @param fd  borrowed until source_close(); file, pipe or terminal
 * @return 0; -ENOMEM
 */
int source_open(struct source *s, int fd);
/** Read from memory. @param data  borrowed until source_close() */
void source_open_memory(struct source *s, const uint8_t *data, size_t bytes);
/** Free the buffer. The descriptor stays open. */
void source_close(struct source *s);

/** Read until the buffer has n bytes or the input ends. For source_need(). */
bool source_fill(struct source *s, size_t n);

/**
 * Get the next n bytes without consuming them.
 * @param n  <= SOURCE_BYTES
 * @return valid until the next call; NULL: fewer are left
 */
static inline const uint8_t *source_need(struct source *s, size_t n)
{
	if (s->end - s->at < n && !source_fill(s, n))
		return NULL;
	return s->data + s->at;
}

/** Consume n bytes that source_need() returned. */
static inline void source_consume(struct source *s, size_t n)
{
	s->at += n;
}

/** Bytes left after source_need() failed. 0: the input ended cleanly. */
static inline size_t source_left(const struct source *s)
{
	return s->end - s->at;
}

/** Consume any number of bytes. @return false: the input ended before */
bool source_skip(struct source *s, uint64_t n);

/** Offset of the next byte in the capture. */
static inline uint64_t source_offset(const struct source *s)
{
	return s->consumed + s->at;
}

#endif
