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
 * Parse a whole decimal number: no sign, no blanks, nothing behind it.
 * @return 0; -EINVAL not a number; -ERANGE above max (ret untouched)
 */
int str_to_u64(const char *text, uint64_t max, uint64_t *ret);

/**
 * Parse a whole decimal fraction ("3", "-0.5", "1e3"); finite numbers only.
 * @return 0; -EINVAL (ret untouched)
 */
int str_to_double(const char *text, double *ret);

/** Text of a UUID with its terminator. */
#define UUID_TEXT_BYTES 37

/** Make a random UUID (RFC 9562 version 4), lower case. */
void uuid_make(char text[static UUID_TEXT_BYTES]);

/** True for 36 characters in the form of a UUID, either case. */
bool uuid_valid(const char *text);

/**
 * The length of the UTF-8 character at the start of a text (RFC 3629 section
 * 4).
 * @param size  bytes of text, >= 1
 * @return 1 to 4; 0: the bytes there are none
 */
size_t str_utf8_len(const char *text, size_t size);

/**
 * Make a text UTF-8 (RFC 3629 section 4): each byte that is none, and the rest
 * of a character that was cut, becomes a '?'. Never longer than before.
 */
void str_utf8_repair(char *text);

/** True if the word is one of those that stand in words, separated by blanks.
 * No empty word is. */
bool str_has_word(const char *words, const char *word);

/** True if the text is one of a list. @param list  ends in NULL */
bool str_listed(const char *const *list, const char *text);

#endif
