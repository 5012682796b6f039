/**
 * Texts that were cut, or came from a peer, as JSON.
 * Thread: any.
 */
#ifndef OFFHOOK_WIRE_TEXT_H
#define OFFHOOK_WIRE_TEXT_H

#include <jansson.h>

/** A JSON string: what is no UTF-8 in the text becomes '?'.
 * @return NULL: out of memory, or text is NULL */
json_t *wire_text(const char *text);

#endif
