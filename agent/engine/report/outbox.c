#include "agent/engine/report/outbox.h"

#include "base/buf.h"
#include "control/wire/batch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A message whose closing brackets are not written yet. */
struct batch {
	struct batch *next;
	size_t items;
	size_t bytes; /* of the items */
	struct buf text;
};

struct queue {
	struct batch *first;
	struct batch *last; /* the next items go here; NULL: none */
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
static const char tail[] = WIRE_BATCH_TAIL;

int outbox_new(struct outbox **ret)
{
	struct outbox *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	*ret = o;
	return 0;
}

static void queue_drop_first(struct queue *q)
{
	struct batch *b = q->first;

	q->first = b->next;
	if (!q->first)
		q->last = NULL;
	q->count -= b->items;
	q->bytes -= b->bytes;
	buf_release(&b->text);
	free(b);
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

/** @return the batch that the item goes into; NULL: out of memory */
static struct batch *batch_for(struct queue *q, enum outbox_kind kind,
			       size_t len)
{
	struct batch *b = q->last;
	char head[WIRE_BATCH_HEAD_BYTES];
	int head_len;

	if (b && b->items < OUTBOX_BATCH_ITEMS &&
	    b->text.used + len + sizeof(tail) <= OUTBOX_BATCH_BYTES)
		return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		return NULL;
	/* An empty batch takes an item of any size. */
	buf_init(&b->text, WIRE_FRAME_BYTES);
	head_len = wire_batch_head(head, names[kind].type, names[kind].list);
	if (head_len < 0 || buf_add(&b->text, head, (size_t)head_len)) {
		free(b);
		return NULL;
	}
	if (q->last)
		q->last->next = b;
	else
		q->first = b;
	q->last = b;
	return b;
}

static bool add(struct queue *q, enum outbox_kind kind, const char *item,
		size_t len)
{
	struct batch *b = batch_for(q, kind, len);
	char *to;

	if (!b || buf_extend(&b->text, len + (b->items > 0), &to))
		return false;
	if (b->items > 0)
		*to++ = ',';
	memcpy(to, item, len);
	b->items++;
	b->bytes += len;
	q->count++;
	q->bytes += len;
	return true;
}

void outbox_add(struct outbox *o, enum outbox_kind kind, const char *item,
		size_t len)
{
	struct queue *q = &o->queues[kind];
	bool fits = len <= OUTBOX_ITEM_BYTES && q->count < OUTBOX_ITEMS_MAX &&
		    len <= OUTBOX_BYTES_MAX - q->bytes;

	if (!item || !fits || !add(q, kind, item, len))
		q->dropped++;
}

static int batch_send(struct batch *b, struct wire_channel *channel)
{
	size_t used = b->text.used;
	int err = buf_add(&b->text, tail, sizeof(tail) - 1);

	if (!err)
		err = wire_channel_send_text(channel, b->text.data,
					     b->text.used);
	if (err)
		b->text.used = used; /* without the end, as items may follow */
	return err;
}

int outbox_flush(struct outbox *o, struct wire_channel *channel)
{
	for (int i = 0; i < OUTBOX_KINDS; i++) {
		struct queue *q = &o->queues[i];

		while (q->first) {
			int err = q->first->items
					  ? batch_send(q->first, channel)
					  : 0;

			if (err)
				return err;
			queue_drop_first(q);
		}
	}
	return 0;
}

uint64_t outbox_dropped(const struct outbox *o, enum outbox_kind kind)
{
	return o->queues[kind].dropped;
}
