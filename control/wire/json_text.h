/**
 * JSON handled as text: find members and items of a document that a parser has
 * already accepted, without building a tree; print real numbers. Results are
 * stored and passed on this way (docs/internals/wire.md).
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_JSON_TEXT_H
#define OFFHOOK_WIRE_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/** The text of a value, or the rest of it. Borrowed, not terminated. If it is
 * not JSON, the functions below find wrong pieces, but never read outside it.
 */
struct json_text {
	const char *at;
	size_t len;
};

/**
 * Take the next member of an object.
 * @param object  in/out: the object, or the rest that the last call left
 * @param name    between its quotation marks, escapes as they are
 * @return 1; 0 there is none; -EINVAL not an object
 */
int json_text_pair(struct json_text *object, struct json_text *name,
		   struct json_text *value);

/** Whether a text is this one. */
bool json_text_is(struct json_text text, const char *is);

/**
 * Find a member of an object.
 * @param object  begins with its bracket or white space
 * @param ret     the member's value
 * @return 1; 0 there is no such member; -EINVAL not an object, or a member's
 *         name has escapes, which are not compared
 */
int json_text_member(struct json_text object, const char *name,
		     struct json_text *ret);

/**
 * Take the next item of an array.
 * @param array  in/out: the array, or the rest that the last call left
 * @param ret    the item
 * @return 1; 0 there is none (array and ret unchanged)
 */
int json_text_item(struct json_text *array, struct json_text *ret);

/**
 * Append a value whose real numbers have at most 15 digits, as JSON_DECIMAL
 * prints them; everything else is copied.
 * @return 0; -ENOMEM; -EMSGSIZE (the buffer may hold a part of it)
 */
int json_text_decimal(struct buf *b, struct json_text value);

#define JSON_REAL_BYTES 32 /* of 17 digits, with a terminator */

/**
 * Print a real number as jansson prints it.
 * @param value   finite
 * @param digits  significant ones, at most 17: DBL_DIG or DBL_DECIMAL_DIG
 * @return bytes written
 */
size_t json_real_text(char dst[static JSON_REAL_BYTES], double value,
		      int digits);

#endif
