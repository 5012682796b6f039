/**
 * Strings of JSON values: reading members, and encoding texts that may not be
 * UTF-8.
 * Thread: any.
 */
#ifndef OFFHOOK_WIRE_TEXT_H
#define OFFHOOK_WIRE_TEXT_H

#include <jansson.h>

/** The text of a member. @return borrowed from the object; "" if the member is
 * absent or not a string; never NULL */
const char *text_of(const json_t *object, const char *member);

/** Make a JSON string of a text that may be invalid UTF-8, because it was cut
 * or came from a peer. Invalid bytes become '?'. @return a new reference; NULL:
 * out of memory, or text is NULL */
json_t *wire_text(const char *text);

#endif
