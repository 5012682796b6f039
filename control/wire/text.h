/**
 * Strings of JSON values: reading members, and encoding texts that may not be
 * UTF-8.
 * Thread: any.
 */
#ifndef OFFHOOK_WIRE_TEXT_H
#define OFFHOOK_WIRE_TEXT_H

#include <jansson.h>

/** The text of a member. @return borrowed from the object; "" where it has no
 * such member, or no text in it; never NULL */
const char *text_of(const json_t *object, const char *member);

/** Make a JSON string of a text that may not be UTF-8, as it was cut or came
 * from a peer: bytes that are no UTF-8 become '?'. @return NULL: out of memory,
 * or text is NULL */
json_t *wire_text(const char *text);

#endif
