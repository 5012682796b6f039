/**
 * What waits to be sent to the supervisor: data points, events, SIP messages,
 * each sent in batches that fit a frame. Results are never dropped before the
 * ceilings below; what is dropped is counted.
 * Thread: the loop thread.
 */
#ifndef OFFHOOK_AGENT_ENGINE_OUTBOX_H
#define OFFHOOK_AGENT_ENGINE_OUTBOX_H

#include "control/wire/frame.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum outbox_kind {
	OUTBOX_SERIES,
	OUTBOX_EVENTS,
	OUTBOX_SIP,
	OUTBOX_KINDS,
};

#define OUTBOX_ITEMS_MAX   200000u             /* of a kind */
#define OUTBOX_BYTES_MAX   ((size_t)64 << 20)  /* of a kind, estimated */
#define OUTBOX_BATCH_BYTES ((size_t)512 << 10) /* JSON can double it thrice */
#define OUTBOX_BATCH_ITEMS 1000u

struct outbox;

int outbox_new(struct outbox **ret);
struct outbox *outbox_free(struct outbox *o);

/**
 * Queue an item.
 * @param item   taken over; NULL (out of memory) counts as dropped
 * @param bytes  its size, roughly
 */
void outbox_add(struct outbox *o, enum outbox_kind kind, json_t *item,
		size_t bytes);

/** Send what waits. @return 0; -ENOBUFS the rest stays; -EPIPE; -ENOMEM */
int outbox_flush(struct outbox *o, struct wire_channel *channel);

uint64_t outbox_dropped(const struct outbox *o, enum outbox_kind kind);

#endif
