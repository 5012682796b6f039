#include "media/tx/tx_heap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_PLACE UINT32_MAX

/* Timers with equal due times run in the same order each time: a changing order
 * would add jitter. */
static bool before(const struct tx_entry *a, const struct tx_entry *b)
{
	return a->due_ns != b->due_ns ? a->due_ns < b->due_ns
				      : a->timer < b->timer;
}

static void place(struct tx_heap *h, uint32_t at, struct tx_entry entry)
{
	h->entries[at] = entry;
	h->places[entry.timer] = at;
}

static void sift_up(struct tx_heap *h, uint32_t at, struct tx_entry entry)
{
	while (at > 0) {
		uint32_t parent = (at - 1) / 2;

		if (!before(&entry, &h->entries[parent]))
			break;
		place(h, at, h->entries[parent]);
		at = parent;
	}
	place(h, at, entry);
}

static void sift_down(struct tx_heap *h, uint32_t at, struct tx_entry entry)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= h->count)
			break;
		if (child + 1 < h->count &&
		    before(&h->entries[child + 1], &h->entries[child]))
			child++;
		if (!before(&h->entries[child], &entry))
			break;
		place(h, at, h->entries[child]);
		at = child;
	}
	place(h, at, entry);
}

static void reseat(struct tx_heap *h, uint32_t at, struct tx_entry entry)
{
	if (at > 0 && before(&entry, &h->entries[(at - 1) / 2]))
		sift_up(h, at, entry);
	else
		sift_down(h, at, entry);
}

int tx_heap_init(struct tx_heap *h, uint32_t sessions)
{
	h->max = sessions * TX_TIMER_COUNT;
	h->count = 0;
	h->entries = calloc(h->max, sizeof(*h->entries));
	h->places = malloc(h->max * sizeof(*h->places));
	if (!h->entries || !h->places)
		return -ENOMEM;
	memset(h->places, 0xff, h->max * sizeof(*h->places)); /* NO_PLACE */
	return 0;
}

void tx_heap_release(struct tx_heap *h)
{
	free(h->entries);
	free(h->places);
	h->entries = NULL;
	h->places = NULL;
}

static uint32_t timer_number(const struct tx_session *s, enum tx_timer timer)
{
	return s->slot * TX_TIMER_COUNT + timer;
}

bool tx_heap_has(const struct tx_heap *h, const struct tx_session *s,
		 enum tx_timer timer)
{
	return h->places[timer_number(s, timer)] != NO_PLACE;
}

void tx_heap_set(struct tx_heap *h, struct tx_session *s, enum tx_timer timer,
		 int64_t due_ns)
{
	struct tx_entry entry = {due_ns, s, timer_number(s, timer)};
	uint32_t at = h->places[entry.timer];

	if (at != NO_PLACE) {
		reseat(h, at, entry);
		return;
	}
	/* no session has more timers than max allows for */
	assert(h->count < h->max);
	sift_up(h, h->count++, entry);
}

void tx_heap_clear(struct tx_heap *h, struct tx_session *s, enum tx_timer timer)
{
	uint32_t number = timer_number(s, timer);
	uint32_t at = h->places[number];
	struct tx_entry last;

	if (at == NO_PLACE)
		return;
	h->places[number] = NO_PLACE;
	last = h->entries[--h->count];
	if (at != h->count)
		reseat(h, at, last);
}

const struct tx_entry *tx_heap_first(const struct tx_heap *h)
{
	return h->count > 0 ? &h->entries[0] : NULL;
}
