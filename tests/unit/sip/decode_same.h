/**
 * Compare decode_message() and the functions of sip/message/parse.h with
 * libre's equivalents, for the unit test and the fuzz target.
 */
#ifndef OFFHOOK_TESTS_DECODE_SAME_H
#define OFFHOOK_TESTS_DECODE_SAME_H

#include <re.h>

/**
 * Decode a message with both.
 * @param ret_taken  set to true if decode_message() decoded it itself, without
 *   libre; may be NULL
 * @return NULL: the results are equal; else what differs
 */
const char *decode_same(const uint8_t *data, size_t len, bool *ret_taken);
/**
 * Parse a text as each part of a message with both.
 * @param len  > 0
 * @return NULL: the results are equal; else what differs
 */
const char *parse_same(const char *text, size_t len);

#endif
