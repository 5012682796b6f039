#include "media/tx_heap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static void place(struct tx_heap *h, uint32_t at, struct tx_entry entry)
{
	h->entries[at] = entry;
	entry.session->tx.timer_at[entry.timer] = at;
}

static void sift_up(struct tx_heap *h, uint32_t at, struct tx_entry entry)
{
	while (at > 0) {
		uint32_t parent = (at - 1) / 2;

		if (h->entries[parent].due_ns <= entry.due_ns)
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
		    h->entries[child + 1].due_ns < h->entries[child].due_ns)
			child++;
		if (h->entries[child].due_ns >= entry.due_ns)
			break;
		place(h, at, h->entries[child]);
		at = child;
	}
	place(h, at, entry);
}

static void reseat(struct tx_heap *h, uint32_t at, struct tx_entry entry)
{
	if (at > 0 && h->entries[(at - 1) / 2].due_ns > entry.due_ns)
		sift_up(h, at, entry);
	else
		sift_down(h, at, entry);
}

int tx_heap_init(struct tx_heap *h, uint32_t sessions)
{
	h->max = sessions * TX_TIMER_COUNT;
	h->count = 0;
	h->entries = calloc(h->max, sizeof(*h->entries));
	return h->entries ? 0 : -ENOMEM;
}

void tx_heap_release(struct tx_heap *h)
{
	free(h->entries);
	h->entries = NULL;
}

void tx_heap_set(struct tx_heap *h, struct media_session *s,
		 enum tx_timer timer, int64_t due_ns)
{
	struct tx_entry entry = {due_ns, s, timer};
	uint32_t at = s->tx.timer_at[timer];

	if (at != TX_NO_TIMER) {
		reseat(h, at, entry);
		return;
	}
	/* no session has more timers than were counted in */
	assert(h->count < h->max);
	sift_up(h, h->count++, entry);
}

void tx_heap_clear(struct tx_heap *h, struct media_session *s,
		   enum tx_timer timer)
{
	uint32_t at = s->tx.timer_at[timer];
	struct tx_entry last;

	if (at == TX_NO_TIMER)
		return;
	s->tx.timer_at[timer] = TX_NO_TIMER;
	last = h->entries[--h->count];
	if (at != h->count)
		reseat(h, at, last);
}

const struct tx_entry *tx_heap_first(const struct tx_heap *h)
{
	return h->count > 0 ? &h->entries[0] : NULL;
}
