/**
 * Pieces of a text that is not terminated, for the SDP parser.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_BASE_SPAN_H
#define OFFHOOK_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** [p, end) */
struct span {
	const char *p;
	const char *end;
};

/** Cut the next word (up to a blank) off. */
struct span span_word(struct span *s);
/** Cut what stands before a separator off; the separator goes too. */
struct span span_until(struct span *s, char separator);
/** Letter case does not matter. */
bool span_is(struct span s, const char *text);
/** Copy a word that we may print again: visible ASCII only, not empty. */
bool span_copy(char *dst, size_t size, struct span s);
bool span_number(struct span s, uint64_t max, uint64_t *ret);

#endif
