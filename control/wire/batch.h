/**
 * Messages of an engine that carry an array: {"type":TYPE,LIST:[ITEM,...]}.
 * They are written in exactly this form, so that the supervisor can pass the
 * array on as text (docs/internals/wire.md, "Supervisor and engine").
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_BATCH_H
#define OFFHOOK_WIRE_BATCH_H

#include <jansson.h>
#include <stddef.h>

#define WIRE_BATCH_HEAD_BYTES 64 /* with its terminator */
#define WIRE_BATCH_TAIL       "]}"

/**
 * Write the text before the items, including the opening bracket.
 * @param type  `type` of the message
 * @param list  name of the array
 * @return bytes; -ENAMETOOLONG
 */
int wire_batch_head(char dst[static WIRE_BATCH_HEAD_BYTES], const char *type,
		    const char *list);

/**
 * Find the array in a message's text.
 * @param text     len bytes, the message as received, borrowed
 * @param message  text, parsed with JSON_REJECT_DUPLICATES
 * @param list     name of the array
 * @param ret_len  bytes of the array
 * @return the array within text; NULL: the message has another form
 */
const char *wire_batch_items(const char *text, size_t len,
			     const json_t *message, const char *list,
			     size_t *ret_len);

#endif
