/* The media path with shared sockets: pairs of sockets, each of many sessions.
 * A session has an SSRC that no other one has, and its description announces it. */
#include "base/random.h"
#include "base/str.h"
#include "media/engine/media_engine.h"
#include "media/engine/shared_sockets.h"
#include "media/rx/rx_path_shared.h"
#include "media/tx/tx_path_shared.h"

#include <errno.h>
#include <string.h>

/* Bits of an SSRC of ours that are the slot of its session; the others are random. */
#define SLOT_BITS 14

/* An SSRC that no other session of ours has, as its slot is in it; the other bits are
 * random. The product only mixes the bits: different numbers stay different. */
static uint32_t ssrc_choose(uint32_t slot)
{
	uint32_t ssrc;

	random_fill(&ssrc, sizeof(ssrc));
	return (ssrc << SLOT_BITS | slot) * UINT32_C(2654435769);
}

static int pair_get(struct media_engine *e, struct shared_pair **ret,
		    const struct media_addr *bind)
{
	int err;

	do {
		err = shared_sockets_take(e->shared, ret, bind,
					  e->params.port_min,
					  e->params.port_max);
	} while (err == -EADDRINUSE && socket_pool_flush(e->socket_pool) > 0);
	return err;
}

static int shared_open(struct media_session *s, const struct media_addr *bind)
{
	struct media_engine *e = s->engine;
	struct media_local *local = s->local;
	struct shared_pair *pair;
	int err = 0;

	if (!e->shared)
		err = e->slots > 1u << SLOT_BITS
			      ? -ENOSPC
			      : shared_sockets_new(&e->shared, e->slots);
	if (!err)
		err = pair_get(e, &pair, bind);
	if (err)
		return err;
	s->pair = pair;
	for (int i = 0; i < SOCKET_COUNT; i++) {
		s->tx.fds[i] = pair->fds[i];
		s->rx.shared[i] = &pair->rx[i];
	}
	s->tx.queue = e->shared->queue;
	s->ssrc = ssrc_choose(s->slot);
	local->rtp = pair->addrs[SOCKET_RTP];
	local->rtcp = pair->addrs[SOCKET_RTCP];
	local->has_ssrc = true;
	local->ssrc = s->ssrc;
	return str_copy(local->cname, sizeof(local->cname), s->tx.cname);
}

static int shared_settle(struct media_session *s, struct command *c,
			 const struct media_negotiated *n)
{
	struct media_addr peer = c->rx.rtp;
	struct peer_told told;
	int err;

	memcpy(c->rx.ssrcs, n->ssrcs, sizeof(c->rx.ssrcs));
	c->rx.ssrc_count = n->ssrc_count;
	rx_command_peer(&told, &c->rx);
	err = peer_table_settle(s->engine->shared->table, s->slot, &told);
	if (err || peer.len == 0)
		return err;
	media_addr_set_port(&peer, 0);
	c->tx.joins = shared_sockets_loopback(&peer) ||
		      media_addr_equal(&peer, &s->pair->bind);
	return 0;
}

static void shared_stop(struct media_session *s)
{
	peer_table_end(s->engine->shared->table, s->slot);
}

static void shared_release(struct media_session *s)
{
	if (!s->pair)
		return;
	peer_table_remove(s->engine->shared->table, s->slot);
	shared_sockets_give(s->pair);
}

const struct session_path session_path_shared = {
	.rx = &rx_path_shared,
	.tx = &tx_path_shared,
	.open = shared_open,
	.settle = shared_settle,
	.stop = shared_stop,
	.release = shared_release,
};
