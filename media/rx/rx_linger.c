#include "media/rx/rx_linger.h"

#include "base/clock.h"
#include "media/rx/rx_session.h"

#include <stddef.h>

static const int64_t times_ns[RX_LINGER_KINDS] = {
	[RX_LINGER_LEFT] = 20 * NS_PER_MS,
	[RX_LINGER_RTCP] = 200 * NS_PER_MS,
	[RX_LINGER_SILENT] = 120 * NS_PER_MS,
};

/* An older BYE is that of another source: the peer has changed its SSRC. */
#define BYE_FRESH_NS NS_PER_S

static void queue_remove(struct rx_linger *l, struct rx_session *s)
{
	struct rx_lingering *own = &s->linger;
	struct rx_linger_queue *q = &l->queues[own->kind];

	*(own->before ? &own->before->linger.behind : &q->first) = own->behind;
	*(own->behind ? &own->behind->linger.before : &q->last) = own->before;
	own->before = NULL;
	own->behind = NULL;
	own->on = false;
}

static void queue_add(struct rx_linger *l, struct rx_session *s,
		      enum rx_linger_kind kind, int64_t now_ns)
{
	struct rx_lingering *own = &s->linger;
	struct rx_linger_queue *q = &l->queues[kind];

	own->on = true;
	own->kind = kind;
	own->until_ns = now_ns + times_ns[kind];
	own->before = q->last;
	*(q->last ? &q->last->linger.behind : &q->first) = s;
	q->last = s;
}

void rx_linger_start(struct rx_linger *l, struct rx_session *s, int64_t now_ns)
{
	const struct rx_lingering *own = &s->linger;
	enum rx_linger_kind kind =
		own->rtcp_seen ? RX_LINGER_RTCP : RX_LINGER_SILENT;

	if (own->peer_bye_ns && now_ns - own->peer_bye_ns < BYE_FRESH_NS)
		kind = RX_LINGER_LEFT;
	queue_add(l, s, kind, now_ns);
}

void rx_linger_rtcp(struct rx_linger *l, struct rx_session *s, bool bye,
		    int64_t now_ns)
{
	struct rx_lingering *own = &s->linger;

	own->rtcp_seen = true;
	if (!bye)
		return;
	own->peer_bye_ns = now_ns;
	if (own->on && own->kind != RX_LINGER_LEFT) {
		queue_remove(l, s);
		queue_add(l, s, RX_LINGER_LEFT, now_ns);
	}
}

struct rx_session *rx_linger_over(struct rx_linger *l, int64_t now_ns)
{
	for (size_t i = 0; i < RX_LINGER_KINDS; i++) {
		struct rx_session *s = l->queues[i].first;

		if (s && s->linger.until_ns <= now_ns) {
			queue_remove(l, s);
			return s;
		}
	}
	return NULL;
}

bool rx_linger_next(const struct rx_linger *l, int64_t *ret_ns)
{
	bool found = false;

	for (size_t i = 0; i < RX_LINGER_KINDS; i++) {
		const struct rx_session *s = l->queues[i].first;

		if (!s)
			continue;
		if (!found || s->linger.until_ns < *ret_ns)
			*ret_ns = s->linger.until_ns;
		found = true;
	}
	return found;
}
