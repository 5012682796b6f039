/**
 * Add members to a JSON object. Each function takes its value over, also when
 * it fails, and returns 0 or -1. The caller builds the whole message, ORs the
 * results, and put_finish() releases the object if one failed.
 * Thread: any.
 */
#ifndef OFFHOOK_CONTROL_WIRE_PUT_INTERNAL_H
#define OFFHOOK_CONTROL_WIRE_PUT_INTERNAL_H

#include <jansson.h>

/** @param value  NULL: out of memory, and fails */
int put_value(json_t *object, const char *name, json_t *value);

/** As wire_text(). @param text  NULL: no member */
int put_text(json_t *object, const char *name, const char *text);

/** @param object  taken over @param err  of all its members, put together
 * @return object; NULL: a member failed */
json_t *put_finish(json_t *object, int err);

#endif
