#include "media/engine/session_nat.h"

#include "base/clock.h"
#include "media/engine/media_engine.h"
#include "media/engine/media_session.h"
#include "media/nat/turn_frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* A datagram of the loop, and a Send indication around it */
#define SEND_BYTES (HANDOVER_BYTES + TURN_INDICATION_BYTES + 4)

/* ---- the list of those that are due now and then ---- */

static void list_add(struct media_session *s)
{
	struct media_engine *e = s->engine;

	if (s->nat.listed)
		return;
	s->nat.listed = true;
	s->nat.next = e->nat_sessions;
	e->nat_sessions = s;
	/* relaxed: the analysis only wakes us a bit too late */
	atomic_fetch_add_explicit(&e->ticking, 1, memory_order_relaxed);
	wake_fd_signal(e->records_fd);
}

static void list_remove(struct media_session *s)
{
	struct media_engine *e = s->engine;

	if (!s->nat.listed)
		return;
	for (struct media_session **link = &e->nat_sessions; *link;
	     link = &(*link)->nat.next) {
		if (*link != s)
			continue;
		*link = s->nat.next;
		break;
	}
	s->nat.listed = false;
	/* relaxed: the analysis only wakes us a bit too often */
	atomic_fetch_sub_explicit(&e->ticking, 1, memory_order_relaxed);
}

int session_nat_open(struct media_session *s,
		     const struct media_nat_params *params)
{
	struct session_nat *nat = &s->nat;
	int err = 0;

	nat->mode = params->mode;
	if (params->mode == MEDIA_NAT_NONE)
		return 0;
	if (params->mode == MEDIA_NAT_ICE)
		err = session_ice_open(s, params->ice_lite);
	if (!err)
		err = session_servers_open(s, params);
	if (err)
		return err;
	s->rx.stun = (struct handover_gate){
		.open = true,
		.rate = HANDOVER_STUN_RATE,
	};
	s->rx.stun_known = s->rx.stun;
	nat->gathering = session_servers_any(&nat->servers);
	if (nat->gathering)
		list_add(s);
	return 0;
}

void session_nat_release(struct media_session *s)
{
	struct session_nat *nat = &s->nat;

	list_remove(s);
	session_servers_release(s);
	session_ice_release(s);
	explicit_bzero(&nat->settled, sizeof(nat->settled));
}

/* ---- before SDP is written ---- */

/* What SDP says, now that the servers have answered. */
static void gathered(struct media_session *s)
{
	struct session_nat *nat = &s->nat;
	struct media_addr *locals[] = {&s->local.rtp, &s->local.rtcp};

	nat->gathering = false;
	if (nat->mode == MEDIA_NAT_ICE) {
		session_ice_gathered(s);
		return;
	}
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		const struct turn *turn = nat->servers.turns[k];
		const struct turn *stun = nat->servers.stuns[k];

		if (turn && turn_state(turn) == TURN_READY)
			*locals[k] = *turn_relayed(turn);
		else if (stun && turn_state(stun) == TURN_READY)
			*locals[k] = *turn_mapped(stun);
	}
}

/* ---- offer and answer ---- */

int session_nat_settle(struct media_session *s, struct media_negotiated *n)
{
	struct session_nat *nat = &s->nat;
	int err = 0;

	if (nat->mode == MEDIA_NAT_NONE)
		return 0;
	nat->settled = *n;
	nat->settled_once = true;
	if (n->ice)
		err = session_ice_settle(s, n);
	if (err)
		return err;
	list_add(s);
	if (nat->mode != MEDIA_NAT_TURN)
		return 0;
	/* without a channel nothing is sent: a later change of address finds
	 * room or says so */
	if (n->rtp.len > 0)
		err = turn_bind(nat->servers.turns[SOCKET_RTP], &n->rtp);
	if (!err && n->rtcp.len > 0 && !n->rtcp_mux)
		err = turn_bind(nat->servers.turns[SOCKET_RTCP], &n->rtcp);
	if (!err)
		session_servers_bind(s, clock_mono_ns());
	return err;
}

bool session_nat_relayed(const struct media_session *s, unsigned socket)
{
	if (s->nat.mode == MEDIA_NAT_TURN)
		return true;
	return session_ice_relayed(s, (uint8_t)(socket + 1));
}

void session_nat_route(const struct media_session *s, struct command *c)
{
	const struct session_nat *nat = &s->nat;
	const struct media_ice *peer = &nat->settled.ice_peer;
	struct tx_command *tx = &c->tx;
	unsigned rtcp = tx->rtcp_mux ? SOCKET_RTP : SOCKET_RTCP;

	for (size_t i = 0; nat->settled.ice && i < peer->candidate_count; i++)
		handover_know(&c->rx.known, &peer->candidates[i].addr);
	if (tx->rtp.len > 0 && session_nat_relayed(s, SOCKET_RTP)) {
		tx->via = nat->servers.turn;
		tx->channel_rtp =
			turn_channel(nat->servers.turns[SOCKET_RTP], &tx->rtp);
		tx->sends = tx->sends && tx->channel_rtp;
	}
	if (tx->rtcp.len > 0 && session_nat_relayed(s, rtcp)) {
		tx->via = nat->servers.turn;
		tx->channel_rtcp =
			turn_channel(nat->servers.turns[rtcp], &tx->rtcp);
		if (!tx->channel_rtcp) { /* not yet */
			tx->rtcp.len = 0;
			c->rx.rtcp.len = 0;
		}
	}
}

void session_nat_send_direct(const struct media_session *s, unsigned socket,
			     const struct media_addr *to, const uint8_t *data,
			     size_t bytes)
{
	/* what is lost is repeated */
	(void)sendto(s->rx.sockets[socket].fd, data, bytes, 0,
		     (const struct sockaddr *)(const void *)&to->ss, to->len);
}

void session_nat_send(const struct media_session *s, const struct ice_path *to,
		      const uint8_t *data, size_t bytes)
{
	unsigned socket = to->component == 1 ? SOCKET_RTP : SOCKET_RTCP;
	uint8_t frame[SEND_BYTES];

	if (!to->relayed) {
		session_nat_send_direct(s, socket, &to->peer, data, bytes);
		return;
	}
	bytes = turn_frame_send(frame, sizeof(frame), &to->peer, data, bytes);
	if (bytes > 0)
		session_servers_send(s, socket, frame, bytes);
}

/* ---- what comes ---- */

void session_nat_input(struct media_session *s, const struct handover *d)
{
	struct session_nat *nat = &s->nat;
	const struct ice_path from = {
		.component = d->rtcp ? 2 : 1,
		.relayed = d->relayed,
		.peer = d->source,
	};
	/* what comes by a connection has no address */
	bool stream = !d->relayed && d->source.len == 0;
	int64_t now_ns = clock_mono_ns();

	session_servers_input(s, d, now_ns);
	if (nat->ice.ice && !stream)
		ice_input(nat->ice.ice, &from, d->data, d->bytes, now_ns);
}

/* ---- what is due ---- */

static void path_server(struct media_path *path, const struct media_session *s)
{
	const struct session_nat *nat = &s->nat;
	const struct media_addr *locals[] = {&s->local.rtp, &s->local.rtcp};
	const struct media_addr *remotes[] = {&nat->settled.rtp,
					      &nat->settled.rtcp};

	memset(path, 0, sizeof(*path));
	path->mode = nat->mode;
	path->component_count = nat->settled.rtcp_mux ? 1 : 2;
	for (unsigned k = 0; k < path->component_count; k++) {
		path->local[k].type = nat->mode == MEDIA_NAT_TURN
					      ? MEDIA_CANDIDATE_RELAY
					      : MEDIA_CANDIDATE_SRFLX;
		path->local[k].addr = *locals[k];
		path->remote[k].addr = *remotes[k];
	}
}

/* Without ICE: the channels that media needs are bound. */
static bool server_path(struct media_session *s, struct media_path *path)
{
	struct session_nat *nat = &s->nat;
	const struct media_negotiated *n = &nat->settled;

	/* with a peer that does no ICE there is nothing to tell */
	if (nat->mode == MEDIA_NAT_ICE || nat->told || !nat->settled_once ||
	    n->rtp.len == 0 ||
	    (nat->mode == MEDIA_NAT_TURN &&
	     !turn_channel(nat->servers.turns[SOCKET_RTP], &n->rtp)))
		return false;
	nat->told = true;
	path_server(path, s);
	return true;
}

/* A TURN server that media goes over fails. */
static bool relay_lost(struct media_session *s, struct media_path *path)
{
	struct session_nat *nat = &s->nat;
	const char *reason = session_servers_refusal(&nat->servers);

	if (nat->lost || !reason ||
	    !(session_nat_relayed(s, SOCKET_RTP) ||
	      session_nat_relayed(s, SOCKET_RTCP)))
		return false;
	nat->lost = true;
	memset(path, 0, sizeof(*path));
	path->mode = nat->mode;
	path->reason = reason;
	return true;
}

/* @return what is to be told; MEDIA_RECORD_STOPPED: nothing */
static enum media_record_kind review(struct media_session *s, int64_t now_ns,
				     struct media_record *r,
				     struct media_path *path)
{
	struct session_nat *nat = &s->nat;
	bool news;

	session_servers_tick(&nat->servers, now_ns);
	if (nat->gathering) {
		if (session_servers_asking(&nat->servers))
			return MEDIA_RECORD_STOPPED;
		gathered(s);
		r->u.gathered = session_servers_refusal(&nat->servers);
		return MEDIA_RECORD_GATHERED;
	}
	news = session_servers_review(s) || nat->retry;
	if (!nat->settled_once)
		return MEDIA_RECORD_STOPPED;
	if (nat->settled.ice && session_ice_tick(s, now_ns)) {
		session_servers_bind(s, now_ns);
		news = true;
	}
	/* too many changes at once: the next time */
	if (news && media_session_apply(s, &nat->settled)) {
		nat->retry = true;
		return MEDIA_RECORD_STOPPED;
	}
	nat->retry = false;
	if (relay_lost(s, path) || (nat->settled.ice ? session_ice_path(s, path)
						     : server_path(s, path)))
		return MEDIA_RECORD_PATH;
	return MEDIA_RECORD_STOPPED;
}

void session_nat_poll(struct media_engine *e, media_record_h *handler,
		      void *arg)
{
	struct media_session *s = e->nat_sessions;
	int64_t now_ns = s ? clock_mono_ns() : 0;

	while (s) {
		struct media_session *next = s->nat.next;
		struct media_path path;
		struct media_record r = {.session = s, .mono_ns = now_ns};

		if (s->stop_given || s->released) {
			list_remove(s);
			s = next;
			continue;
		}
		r.kind = review(s, now_ns, &r, &path);
		if (r.kind == MEDIA_RECORD_PATH)
			r.u.path = &path;
		if (r.kind != MEDIA_RECORD_STOPPED) {
			handler(&r, arg);
			/* the handler may have ended others */
			next = e->nat_sessions;
		}
		s = next;
	}
}
