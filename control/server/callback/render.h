/**
 * Bodies of callbacks: a template's {{placeholders}} filled in.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_CALLBACK_RENDER_H
#define OFFHOOK_SERVER_CALLBACK_RENDER_H

#include "base/buf.h"

#include <jansson.h>

#define RENDER_NAME_BYTES 48

/* Ceiling of a body. */
#define RENDER_BYTES_MAX (4u << 20)

/**
 * Check the placeholders of a template.
 * @param unknown  receives the first unknown placeholder, or "" if one is not
 *                 closed
 * @return 0; -EINVAL
 */
int render_check(const char *template, char unknown[static RENDER_NAME_BYTES]);

/**
 * Fill a template. Values are escaped for its content type: in JSON as the
 * inside of a string (numbers, arrays and objects unchanged), in XML and HTML
 * as entities, in forms percent-encoded, else not at all. A placeholder without
 * value is empty.
 * @param object  values of the placeholders: members by name
 * @param out     appended to
 * @return 0; -EMSGSIZE above RENDER_BYTES_MAX; -ENOMEM
 */
int render_template(struct buf *out, const char *template,
		    const char *content_type, json_t *object);

#endif
