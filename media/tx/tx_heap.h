/**
 * The timers of the TX thread: a binary heap by due time, two timers per
 * session, all memory allocated at the start. The positions in the heap are
 * kept beside it, not in the sessions: otherwise moving an entry would touch a
 * cache line in each session.
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
	uint32_t timer; /* number of the timer: slot * TX_TIMER_COUNT + kind,
			 * see tx_timer_of() */
};

static inline enum tx_timer tx_timer_of(const struct tx_entry *entry)
{
	return (enum tx_timer)(entry->timer % TX_TIMER_COUNT);
}

struct tx_heap {
	struct tx_entry *entries;
	uint32_t *places; /* position in entries, by timer number */
	uint32_t count;
	uint32_t max;
};

/** @param sessions  maximum number of sessions
 * @return 0; -ENOMEM */
int tx_heap_init(struct tx_heap *h, uint32_t sessions);
/** Free the memory. */
void tx_heap_release(struct tx_heap *h);

/** Start a timer or change its due time. */
void tx_heap_set(struct tx_heap *h, struct tx_session *s, enum tx_timer timer,
		 int64_t due_ns);

/** Stop a timer; it may already be stopped. */
void tx_heap_clear(struct tx_heap *h, struct tx_session *s,
		   enum tx_timer timer);

/** @return the timer is running */
bool tx_heap_has(const struct tx_heap *h, const struct tx_session *s,
		 enum tx_timer timer);

/** @return the timer that is due first; NULL: none */
const struct tx_entry *tx_heap_first(const struct tx_heap *h);

#endif
