/**
 * Add members to a JSON object. Each function takes over its value, also when
 * it fails, and returns 0 or -1. The caller adds all members and ORs the
 * results; put_finish() releases the object if one failed.
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_WIRE_PUT_INTERNAL_H
#define OFFHOOK_CONTROL_WIRE_PUT_INTERNAL_H

#include <jansson.h>

/** Add a value. @param value  NULL (out of memory): fails */
int put_value(json_t *object, const char *name, json_t *value);

/** Add a text by wire_text(). @param text  NULL: no member is added */
int put_text(json_t *object, const char *name, const char *text);

/** Finish an object. @param object  taken over @param err  results of all its
 * members, ORed @return object; NULL: a member failed */
json_t *put_finish(json_t *object, int err);

#endif
