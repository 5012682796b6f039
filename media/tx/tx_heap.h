/**
 * The timers of the TX thread: a binary heap by due time, two timers a
 * session, all memory allocated at the start. Places are kept beside the heap,
 * not in the sessions: moving an entry would touch a line of memory in each.
 * Thread: TX.
 */
#ifndef OFFHOOK_MEDIA_TX_TX_HEAP_H
#define OFFHOOK_MEDIA_TX_TX_HEAP_H

#include "media/tx/tx_session.h"

#include <stdint.h>

enum tx_timer {
	TX_TIMER_RTP,
	TX_TIMER_RTCP,
	TX_TIMER_COUNT
};

struct tx_entry {
	int64_t due_ns;
	struct tx_session *session;
	uint32_t timer; /* of the session's slot, see tx_timer_of() */
};

static inline enum tx_timer tx_timer_of(const struct tx_entry *entry)
{
	return (enum tx_timer)(entry->timer % TX_TIMER_COUNT);
}

struct tx_heap {
	struct tx_entry *entries;
	uint32_t *places; /* in entries, by timer */
	uint32_t count;
	uint32_t max;
};

/** @return 0; -ENOMEM */
int tx_heap_init(struct tx_heap *h, uint32_t sessions);
void tx_heap_release(struct tx_heap *h);

/** Start a timer or move it. */
void tx_heap_set(struct tx_heap *h, struct tx_session *s, enum tx_timer timer,
		 int64_t due_ns);

/** Stop a timer; it may be stopped already. */
void tx_heap_clear(struct tx_heap *h, struct tx_session *s,
		   enum tx_timer timer);

/** Whether it runs. */
bool tx_heap_has(const struct tx_heap *h, const struct tx_session *s,
		 enum tx_timer timer);

/** The earliest. @return NULL: none */
const struct tx_entry *tx_heap_first(const struct tx_heap *h);

#endif
