#include "media/session_nat.h"

#include "base/clock.h"
#include "media/engine.h"
#include "media/session.h"
#include "media/turn_frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* A datagram of the loop, and a Send indication around it */
#define SEND_BYTES (HANDOVER_BYTES + TURN_INDICATION_BYTES + 4)

static void send_to(const struct media_session *s, unsigned socket,
		    const struct media_addr *to, const uint8_t *data,
		    size_t bytes)
{
	/* what is lost is repeated */
	(void)sendto(s->rx.sockets[socket].fd, data, bytes, 0,
		     (const struct sockaddr *)(const void *)&to->ss, to->len);
}

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
	engine_wake(e->records_fd);
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

/* ---- the servers ---- */

static void send_stun(const uint8_t *data, size_t bytes, void *arg)
{
	const struct rx_socket *socket = arg;
	const struct media_session *s = socket->session;

	send_to(s, socket->rtcp ? SOCKET_RTCP : SOCKET_RTP, &s->nat.stun_server,
		data, bytes);
}

static void send_server(const struct media_session *s, unsigned socket,
			const uint8_t *data, size_t bytes)
{
	int stream = s->rx.streams[socket].fd;

	if (stream >= 0)
		(void)send(stream, data, bytes, 0);
	else
		send_to(s, socket, &s->nat.turn_server, data, bytes);
}

static void send_turn(const uint8_t *data, size_t bytes, void *arg)
{
	const struct rx_socket *socket = arg;

	send_server(socket->session, socket->rtcp ? SOCKET_RTCP : SOCKET_RTP,
		    data, bytes);
}

/* Over TCP or TLS: a connection for each of our sockets. */
static int streams_open(struct media_session *s,
			const struct media_nat_params *params)
{
	struct media_engine *e = s->engine;
	const struct relay_stream_params p = {
		.server = params->turn_server,
		.local = s->local.rtp,
		.tls = params->turn_transport == MEDIA_TURN_TLS,
		.verify = params->turn_verify,
		.name = params->turn_name,
	};
	int err = 0;

	if (!e->relay_streams)
		err = relay_streams_new(&e->relay_streams);
	for (unsigned k = 0; !err && k < SOCKET_COUNT; k++) {
		err = relay_stream_open(&s->nat.streams[k], e->relay_streams,
					&p);
		if (!err)
			s->rx.streams[k].fd =
				relay_stream_fd(s->nat.streams[k]);
	}
	return err;
}

static int servers_open(struct media_session *s,
			const struct media_nat_params *params)
{
	struct session_nat *nat = &s->nat;
	bool reliable = params->turn_transport != MEDIA_TURN_UDP;
	int err = 0;

	if (nat->turn_server.len > 0 && reliable)
		err = streams_open(s, params);
	for (unsigned k = 0; !err && k < SOCKET_COUNT; k++) {
		struct turn_params stun = {.stun = true,
					   .send = send_stun,
					   .arg = &s->rx.sockets[k]};
		struct turn_params turn = {.username = params->username,
					   .password = params->password,
					   .reliable = reliable,
					   .ipv6 = s->local.rtp.ss.ss_family ==
						   AF_INET6,
					   .send = send_turn,
					   .arg = &s->rx.sockets[k]};

		if (nat->stun_server.len > 0)
			err = turn_new(&nat->stuns[k], &stun);
		if (!err && nat->turn_server.len > 0)
			err = turn_new(&nat->turns[k], &turn);
		if (!reliable)
			s->rx.sockets[k].relay.server = nat->turn_server;
	}
	return err;
}

int session_nat_open(struct media_session *s,
		     const struct media_nat_params *params)
{
	struct session_nat *nat = &s->nat;
	int err = 0;

	nat->mode = params->mode;
	if (params->mode == MEDIA_NAT_NONE)
		return 0;
	if (params->mode != MEDIA_NAT_TURN && !params->ice_lite)
		nat->stun_server = params->stun_server;
	if (params->mode != MEDIA_NAT_STUN && !params->ice_lite)
		nat->turn_server = params->turn_server;
	if ((params->mode == MEDIA_NAT_STUN && nat->stun_server.len == 0) ||
	    (params->mode == MEDIA_NAT_TURN && nat->turn_server.len == 0))
		return -EINVAL;
	if (params->mode == MEDIA_NAT_ICE)
		err = session_ice_open(s, params->ice_lite);
	if (!err)
		err = servers_open(s, params);
	if (err)
		return err;
	s->rx.stun = (struct handover_gate){
		.open = true,
		.rate = HANDOVER_STUN_RATE,
	};
	s->rx.stun_known = s->rx.stun;
	nat->gathering = nat->stun_server.len > 0 || nat->turn_server.len > 0;
	if (nat->gathering)
		list_add(s);
	return 0;
}

void session_nat_release(struct media_session *s)
{
	struct session_nat *nat = &s->nat;

	list_remove(s);
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		if (nat->turns[k])
			turn_end(nat->turns[k]);
		nat->turns[k] = turn_free(nat->turns[k]);
		nat->streams[k] = relay_stream_close(nat->streams[k]);
		nat->stuns[k] = turn_free(nat->stuns[k]);
	}
	session_ice_release(s);
	explicit_bzero(&nat->settled, sizeof(nat->settled));
}

/* ---- before SDP is written ---- */

static bool still_asking(const struct session_nat *nat)
{
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		if ((nat->stuns[k] &&
		     turn_state(nat->stuns[k]) == TURN_ASKING) ||
		    (nat->turns[k] && turn_state(nat->turns[k]) == TURN_ASKING))
			return true;
	}
	return false;
}

/* @return why a server did not tell or lend an address; NULL: all did */
static const char *refusal(const struct session_nat *nat)
{
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		if (nat->stuns[k] && turn_state(nat->stuns[k]) == TURN_FAILED)
			return turn_reason(nat->stuns[k]);
		if (nat->turns[k] && turn_state(nat->turns[k]) == TURN_FAILED)
			return turn_reason(nat->turns[k]);
	}
	return NULL;
}

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
		const struct turn *turn = nat->turns[k];
		const struct turn *stun = nat->stuns[k];

		if (turn && turn_state(turn) == TURN_READY)
			*locals[k] = *turn_relayed(turn);
		else if (stun && turn_state(stun) == TURN_READY)
			*locals[k] = *turn_mapped(stun);
	}
}

/* ---- channels ---- */

static void map_fill(struct relay_map *map, const struct session_nat *nat,
		     unsigned socket)
{
	struct media_addr peer;
	uint16_t number;

	memset(map, 0, sizeof(*map));
	if (!nat->streams[socket])
		map->server = nat->turn_server;
	for (size_t n = 0;; n++) {
		number = turn_channel_at(nat->turns[socket], n, &peer);
		if (number == 0)
			break;
		map->channels[n % RELAY_CHANNELS_MAX].number = number;
		map->channels[n % RELAY_CHANNELS_MAX].peer = peer;
	}
}

/* @return the channels of some TURN client are others than those in force */
static bool channels_review(struct media_session *s)
{
	struct session_nat *nat = &s->nat;
	bool news = false;

	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		struct relay_map map;

		if (!nat->turns[k] ||
		    turn_version(nat->turns[k]) == nat->versions[k])
			continue;
		map_fill(&map, nat, k);
		if (session_relay_put(s, k, &map))
			continue; /* too many changes at once: the next time */
		nat->versions[k] = turn_version(nat->turns[k]);
		news = true;
	}
	return news;
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
		err = turn_bind(nat->turns[SOCKET_RTP], &n->rtp);
	if (!err && n->rtcp.len > 0 && !n->rtcp_mux)
		err = turn_bind(nat->turns[SOCKET_RTCP], &n->rtcp);
	/* what comes by them is known before it can come */
	if (!err)
		(void)channels_review(s);
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
	unsigned rtcp = c->rtcp_mux ? SOCKET_RTP : SOCKET_RTCP;

	for (size_t i = 0; nat->settled.ice && i < peer->candidate_count; i++)
		handover_know(&c->known, &peer->candidates[i].addr);
	if (c->rtp.len > 0 && session_nat_relayed(s, SOCKET_RTP)) {
		c->via = nat->turn_server;
		c->channel_rtp = turn_channel(nat->turns[SOCKET_RTP], &c->rtp);
		c->sends = c->sends && c->channel_rtp;
	}
	if (c->rtcp.len > 0 && session_nat_relayed(s, rtcp)) {
		c->via = nat->turn_server;
		c->channel_rtcp = turn_channel(nat->turns[rtcp], &c->rtcp);
		if (!c->channel_rtcp)
			c->rtcp.len = 0; /* not yet */
	}
}

void session_nat_send(const struct media_session *s, const struct ice_path *to,
		      const uint8_t *data, size_t bytes)
{
	unsigned socket = to->component == 1 ? SOCKET_RTP : SOCKET_RTCP;
	uint8_t frame[SEND_BYTES];

	if (!to->relayed) {
		send_to(s, socket, &to->peer, data, bytes);
		return;
	}
	bytes = turn_frame_send(frame, sizeof(frame), &to->peer, data, bytes);
	if (bytes > 0)
		send_server(s, socket, frame, bytes);
}

/* ---- what comes ---- */

static bool is_server(const struct media_addr *server,
		      const struct media_addr *source)
{
	return server->len > 0 && media_addr_equal(server, source);
}

void session_nat_input(struct media_session *s, const struct handover *d)
{
	struct session_nat *nat = &s->nat;
	const struct ice_path from = {
		.component = d->rtcp ? 2 : 1,
		.relayed = d->relayed,
		.peer = d->source,
	};
	unsigned socket = d->rtcp ? SOCKET_RTCP : SOCKET_RTP;
	/* what comes by a connection has no address */
	bool stream = !d->relayed && d->source.len == 0;
	int64_t now_ns = clock_mono_ns();

	/* one server may be both */
	if (!d->relayed && nat->turns[socket] &&
	    (stream || is_server(&nat->turn_server, &d->source)))
		turn_input(nat->turns[socket], d->data, d->bytes, now_ns);
	if (!d->relayed && is_server(&nat->stun_server, &d->source) &&
	    nat->stuns[socket])
		turn_input(nat->stuns[socket], d->data, d->bytes, now_ns);
	if (nat->ice.ice && !stream)
		ice_input(nat->ice.ice, &from, d->data, d->bytes, now_ns);
}

/* ---- what is due ---- */

static void servers_tick(struct session_nat *nat, int64_t now_ns)
{
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		if (nat->stuns[k])
			turn_tick(nat->stuns[k], now_ns);
		if (nat->streams[k] && relay_stream_reason(nat->streams[k]))
			turn_lost(nat->turns[k],
				  relay_stream_reason(nat->streams[k]));
		if (nat->turns[k])
			turn_tick(nat->turns[k], now_ns);
	}
}

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
	     !turn_channel(nat->turns[SOCKET_RTP], &n->rtp)))
		return false;
	nat->told = true;
	path_server(path, s);
	return true;
}

/* A TURN server that media goes over fails. */
static bool relay_lost(struct media_session *s, struct media_path *path)
{
	struct session_nat *nat = &s->nat;
	const char *reason = refusal(nat);

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

	servers_tick(nat, now_ns);
	if (nat->gathering) {
		if (still_asking(nat))
			return MEDIA_RECORD_STOPPED;
		gathered(s);
		r->u.gathered = refusal(nat);
		return MEDIA_RECORD_GATHERED;
	}
	news = channels_review(s) || nat->retry;
	if (!nat->settled_once)
		return MEDIA_RECORD_STOPPED;
	if (nat->settled.ice)
		news |= session_ice_tick(s, now_ns);
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
