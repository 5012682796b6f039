/* The media path with a socket a call: a pair of sockets of its own. */
#include "base/clock.h"
#include "media/engine/media_engine.h"

#include <errno.h>
#include <unistd.h>

static int pair_open(struct media_engine *e, struct socket_pair *ret,
		     const struct media_addr *bind)
{
	const struct media_engine_params *p = &e->params;
	uint16_t port = media_addr_port(bind);
	struct socket_pair pair = {.drops = {0}};
	int err;

	if (!port &&
	    socket_pool_take(e->socket_pool, ret, bind, clock_mono_ns()))
		return 0;
	do {
		err = socket_pair_bind(
			pair.fds, pair.addrs, bind, port ? port : p->port_min,
			port ? (uint16_t)(port + 1) : p->port_max);
	} while (err == -EADDRINUSE && socket_pool_flush(e->socket_pool) > 0);
	if (!err)
		*ret = pair;
	return err;
}

static int call_open(struct media_session *s, const struct media_addr *bind)
{
	struct socket_pair pair;
	int err = pair_open(s->engine, &pair, bind);

	if (err)
		return err;
	for (int i = 0; i < SOCKET_COUNT; i++) {
		s->rx.sockets[i].fd = pair.fds[i];
		s->rx.sockets[i].drops = pair.drops[i];
		s->tx.fds[i] = pair.fds[i];
	}
	s->local->rtp = pair.addrs[SOCKET_RTP];
	s->local->rtcp = pair.addrs[SOCKET_RTCP];
	s->any_port = media_addr_port(bind) == 0;
	return 0;
}

/* After RX has read the sockets for the last time another session may use them.
 * With NAT traversal `local` has other addresses than those the sockets are
 * bound to. */
static void call_release(struct media_session *s)
{
	struct socket_pair pair;

	if (s->rx.sockets[SOCKET_RTP].fd < 0)
		return;
	pair = (struct socket_pair){
		.fds = {s->tx.fds[SOCKET_RTP], s->tx.fds[SOCKET_RTCP]},
		.addrs = {s->local->rtp, s->local->rtcp},
		.drops = {s->rx.sockets[SOCKET_RTP].drops,
			  s->rx.sockets[SOCKET_RTCP].drops},
	};
	if (s->any_port && s->stopped && s->nat.mode == MEDIA_NAT_NONE) {
		socket_pool_give(s->engine->socket_pool, &pair,
				 clock_mono_ns());
		return;
	}
	for (int i = 0; i < SOCKET_COUNT; i++)
		close(pair.fds[i]);
}

static int call_settle(struct media_session *s, struct command *c,
		       const struct media_negotiated *n)
{
	(void)s;
	(void)c;
	(void)n;
	return 0;
}

static void call_stop(struct media_session *s)
{
	(void)s;
}

const struct session_path session_path_call = {
	.rx = &rx_path_call,
	.tx = &tx_path_call,
	.open = call_open,
	.settle = call_settle,
	.stop = call_stop,
	.release = call_release,
};
