/**
 * Pieces of an unterminated text, for the SDP parser.
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

/** Remove and return the next word (up to a blank). */
struct span span_word(struct span *s);
/** Remove and return the text before a separator; the separator is removed,
 * too. */
struct span span_until(struct span *s, char separator);
/** @return the text is the same, letter case ignored */
bool span_is(struct span s, const char *text);
/** Copy a word that may be printed again: visible ASCII only, not empty. */
bool span_copy(char *dst, size_t size, struct span s);
/** Parse a decimal number.
 * @return false: not a number, or above max (*ret unchanged) */
bool span_number(struct span s, uint64_t max, uint64_t *ret);

#endif
