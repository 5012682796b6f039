/**
 * Queues of data points, events and SIP messages to the supervisor, as JSON text,
 * in batches that are complete messages of the wire. Items are dropped only above
 * the ceilings below, and counted.
 * Thread: the loop thread.
 */
#ifndef OFFHOOK_AGENT_ENGINE_REPORT_OUTBOX_H
#define OFFHOOK_AGENT_ENGINE_REPORT_OUTBOX_H

#include "control/wire/frame.h"

#include <stddef.h>
#include <stdint.h>

enum outbox_kind {
	OUTBOX_SERIES,
	OUTBOX_EVENTS,
	OUTBOX_SIP,
	OUTBOX_KINDS,
};

#define OUTBOX_ITEMS_MAX   200000u                   /* of a kind */
#define OUTBOX_BYTES_MAX   ((size_t)64 << 20)        /* of a kind */
#define OUTBOX_ITEM_BYTES  (WIRE_FRAME_BYTES - 4096) /* of an item */
#define OUTBOX_BATCH_BYTES ((size_t)240 << 10)       /* of more than one item */
#define OUTBOX_BATCH_ITEMS 1000u

struct outbox;

/** @return 0; -ENOMEM */
int outbox_new(struct outbox **ret);
/** Free it with what was not sent; accepts NULL. @return NULL */
struct outbox *outbox_free(struct outbox *o);

/**
 * Queue an item. It is dropped and counted if it exceeds a ceiling or there is no
 * memory.
 * @param item  one JSON value in compact form, borrowed; NULL: it could not be
 *              written, and counts as dropped
 * @param len   bytes of item
 */
void outbox_add(struct outbox *o, enum outbox_kind kind, const char *item,
		size_t len);

/** Send the queues. @return 0; -ENOBUFS the socket is full, the rest stays;
 * -EPIPE; -ENOMEM */
int outbox_flush(struct outbox *o, struct wire_channel *channel);

/** Items dropped so far. */
uint64_t outbox_dropped(const struct outbox *o, enum outbox_kind kind);

#endif
