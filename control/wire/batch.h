/**
 * Messages of an engine that carry an array: {"type":TYPE,LIST:[ITEM,...]}.
 * Written in this form alone, the array can be passed on as the text it came
 * as (docs/internals/wire.md, "Supervisor and engine").
 * Thread: any; pure.
 */
#ifndef OFFHOOK_WIRE_BATCH_H
#define OFFHOOK_WIRE_BATCH_H

#include <jansson.h>
#include <stddef.h>

#define WIRE_BATCH_HEAD_BYTES 64 /* with its terminator */
#define WIRE_BATCH_TAIL       "]}"

/**
 * Write what stands before the items, up to and with the bracket.
 * @param type  as `type` of the message
 * @param list  name of the array
 * @return bytes; -ENAMETOOLONG
 */
int wire_batch_head(char dst[static WIRE_BATCH_HEAD_BYTES], const char *type,
		    const char *list);

/**
 * The array of a message as text.
 * @param text     len bytes, the message as it came, borrowed
 * @param message  text, parsed with JSON_REJECT_DUPLICATES
 * @param list     name of the array
 * @param ret_len  bytes of the array
 * @return the array within text; NULL: the message has another form
 */
const char *wire_batch_items(const char *text, size_t len,
			     const json_t *message, const char *list,
			     size_t *ret_len);

#endif
