/**
 * Small string helpers: bounded copies, strict numbers, UUIDs.
 * Thread: any.
 */
#ifndef OFFHOOK_BASE_STR_H
#define OFFHOOK_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Copy a string into a fixed buffer.
 * @param dst   size bytes, always terminated when size > 0
 * @return 0; -ENAMETOOLONG if it did not fit (dst holds an empty string)
 */
int str_copy(char *dst, size_t size, const char *src);

/**
 * Print into a fixed buffer.
 * @return length; -ENAMETOOLONG if it did not fit (dst is cut, terminated)
 */
int str_print(char *dst, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * Write several texts into a fixed buffer; much cheaper than a format string.
 * @param first  then more of const char *, ended by NULL
 * @return length; -ENAMETOOLONG if they did not fit (dst is cut, terminated)
 */
int str_join(char *dst, size_t size, const char *first, ...)
	__attribute__((sentinel));

/** Bytes of the longest number of str_decimal(), terminated. */
#define STR_DECIMAL_BYTES 21

/**
 * Write a number with decimal digits; much cheaper than a format string.
 * @return dst
 */
const char *str_decimal(char dst[static STR_DECIMAL_BYTES], uint64_t number);

/** Bytes of the longest number of str_hexadecimal(), terminated. */
#define STR_HEX_BYTES 17

/**
 * Write the low digits of a number in hexadecimal, lower case.
 * @param digits  1 to 16
 * @return dst
 */
const char *str_hexadecimal(char dst[static STR_HEX_BYTES], uint64_t number,
			    unsigned int digits);

/**
 * Parse a complete decimal number: no sign, no blanks, nothing after it.
 * @return 0; -EINVAL not a number; -ERANGE above max (ret untouched)
 */
int str_to_u64(const char *text, uint64_t max, uint64_t *ret);

/**
 * Parse a complete decimal fraction ("3", "-0.5", "1e3"); finite numbers only.
 * @return 0; -EINVAL (ret untouched)
 */
int str_to_double(const char *text, double *ret);

/** Bytes of a UUID's text with its terminator. */
#define UUID_TEXT_BYTES 37

/** Create a random UUID (RFC 9562 version 4), lower case. */
void uuid_make(char text[static UUID_TEXT_BYTES]);

/** @return it has the 36 characters of a UUID, either case */
bool uuid_valid(const char *text);

/**
 * Length of the UTF-8 character at the start of a text (RFC 3629 section 4).
 * @param size  bytes of text, >= 1
 * @return 1 to 4; 0: not a valid character
 */
size_t str_utf8_len(const char *text, size_t size);

/**
 * Make a text valid UTF-8 (RFC 3629 section 4). Each byte that is not part of a
 * valid character becomes a '?', also the rest of a character that was cut. The
 * text does not grow.
 */
void str_utf8_repair(char *text);

/** @return the word is one of `words`, which are separated by blanks; false for
 *         an empty word */
bool str_has_word(const char *words, const char *word);

/** @param list  ends with NULL
 * @return the text is in the list */
bool str_listed(const char *const *list, const char *text);

/* Longest text that str_distance() compares, in bytes. */
#define STR_DISTANCE_MAX 40

/**
 * Count the edits between two words: a byte inserted, removed or replaced, or
 * two neighbours exchanged (optimal string alignment distance).
 * @return SIZE_MAX: a word is longer than STR_DISTANCE_MAX
 */
size_t str_distance(const char *a, const char *b);

#endif
