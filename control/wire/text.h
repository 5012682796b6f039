/**
 * Texts as JSON, and out of it.
 * Thread: any.
 */
#ifndef OFFHOOK_WIRE_TEXT_H
#define OFFHOOK_WIRE_TEXT_H

#include <jansson.h>

/** The text of a member. @return borrowed from the object; "" where it has no
 * such member, or no text in it; never NULL */
const char *text_of(const json_t *object, const char *member);

/** A JSON string of a text that was cut, or came from a peer: what is no UTF-8
 * in it becomes '?'. @return NULL: out of memory, or text is NULL */
json_t *wire_text(const char *text);

#endif
