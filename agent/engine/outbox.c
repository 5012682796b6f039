#include "agent/engine/outbox.h"

#include <errno.h>
#include <stdlib.h>

struct item {
	struct item *next;
	json_t *value;
	size_t bytes;
};

struct queue {
	struct item *first;
	struct item **last;
	size_t count;
	size_t bytes;
	uint64_t dropped;
};

struct outbox {
	struct queue queues[OUTBOX_KINDS];
};

static const struct {
	const char *type;
	const char *list;
} names[OUTBOX_KINDS] = {
	[OUTBOX_SERIES] = {"stats", "series"},
	[OUTBOX_EVENTS] = {"events", "events"},
	[OUTBOX_SIP] = {"sip", "messages"},
};

int outbox_new(struct outbox **ret)
{
	struct outbox *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	for (int i = 0; i < OUTBOX_KINDS; i++)
		o->queues[i].last = &o->queues[i].first;
	*ret = o;
	return 0;
}

static void queue_drop_first(struct queue *q)
{
	struct item *item = q->first;

	q->first = item->next;
	if (!q->first)
		q->last = &q->first;
	q->count--;
	q->bytes -= item->bytes;
	json_decref(item->value);
	free(item);
}

struct outbox *outbox_free(struct outbox *o)
{
	if (o) {
		for (int i = 0; i < OUTBOX_KINDS; i++) {
			while (o->queues[i].first)
				queue_drop_first(&o->queues[i]);
		}
		free(o);
	}
	return NULL;
}

void outbox_add(struct outbox *o, enum outbox_kind kind, json_t *value,
		size_t bytes)
{
	struct queue *q = &o->queues[kind];
	struct item *item = NULL;

	if (value && q->count < OUTBOX_ITEMS_MAX &&
	    q->bytes + bytes <= OUTBOX_BYTES_MAX)
		item = calloc(1, sizeof(*item));
	if (!item) {
		q->dropped++;
		json_decref(value);
		return;
	}
	item->value = value;
	item->bytes = bytes;
	*q->last = item;
	q->last = &item->next;
	q->count++;
	q->bytes += bytes;
}

/** @return items in the batch, -ENOMEM */
static int batch_build(const struct queue *q, json_t *list)
{
	size_t bytes = 0;
	int count = 0;

	for (struct item *item = q->first;
	     item && count < (int)OUTBOX_BATCH_ITEMS; item = item->next) {
		/* One item of any size always goes. */
		if (count > 0 && bytes + item->bytes > OUTBOX_BATCH_BYTES)
			break;
		if (json_array_append(list, item->value))
			return -ENOMEM;
		bytes += item->bytes;
		count++;
	}
	return count;
}

static int batch_send(struct queue *q, int kind, struct wire_channel *channel)
{
	json_t *list = json_array();
	json_t *message = json_pack("{s:s, s:O}", "type", names[kind].type,
				    names[kind].list, list);
	int count = list ? batch_build(q, list) : -ENOMEM;
	int err = count < 0 ? count : 0;

	if (!err)
		err = message ? wire_channel_send(channel, message) : -ENOMEM;
	if (err == -EMSGSIZE) {
		/* Only a single monster can be too large for a frame. */
		q->dropped += (uint64_t)count;
		err = 0;
	}
	for (int i = 0; !err && i < count; i++)
		queue_drop_first(q);
	json_decref(message);
	json_decref(list);
	return err;
}

int outbox_flush(struct outbox *o, struct wire_channel *channel)
{
	for (int i = 0; i < OUTBOX_KINDS; i++) {
		while (o->queues[i].first) {
			int err = batch_send(&o->queues[i], i, channel);

			if (err)
				return err;
		}
	}
	return 0;
}

uint64_t outbox_dropped(const struct outbox *o, enum outbox_kind kind)
{
	return o->queues[kind].dropped;
}
