/**
 * A growing byte buffer with a ceiling.
 * Thread: one owner.
 */
#ifndef OFFHOOK_BASE_BUF_H
#define OFFHOOK_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data; /* used bytes, followed by a terminating 0 */
	size_t used;
	size_t allocated;
	size_t ceiling; /* constant after init: used never exceeds it */
	bool secret;    /* constant after init: what is left behind is wiped */
};

/** Start empty; nothing is allocated yet. */
void buf_init(struct buf *b, size_t ceiling_bytes);

/** The same, for text with passwords: bytes that were consumed, moved or released are
 * overwritten. */
void buf_init_secret(struct buf *b, size_t ceiling_bytes);

/** Release the memory; the buffer is empty and usable again. */
void buf_release(struct buf *b);

/**
 * Append bytes.
 * @return 0; -ENOMEM; -EMSGSIZE above the ceiling (both: b unchanged)
 */
int buf_add(struct buf *b, const void *data, size_t len);

/**
 * Append bytes that the caller writes afterwards.
 * @param ret  where to write them; valid until the next call
 * @return as buf_add()
 */
int buf_extend(struct buf *b, size_t len, char **ret);

/**
 * Append several texts; much cheaper than buf_print().
 * @param first  then more of const char *, ended by NULL
 * @return 0; as buf_add(), with the texts before it appended
 */
int buf_texts(struct buf *b, const char *first, ...) __attribute__((sentinel));

/** Append formatted text.
 * @return as buf_add() */
int buf_print(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Remove the first n bytes, n <= used. */
void buf_consume(struct buf *b, size_t n);

#endif
