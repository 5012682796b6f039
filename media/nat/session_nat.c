#include "media/nat/session_nat.h"

#include "base/clock.h"
#include "media/nat/turn_frame.h"
#include "media/wake.h"

#include <errno.h>
#include <string.h>

/* A datagram of the loop inside a Send indication */
#define SEND_BYTES (HANDOVER_BYTES + TURN_INDICATION_BYTES + 4)

/* ---- the list of sessions with timers ---- */

static void list_add(struct session_nat *nat)
{
	struct nat_sessions *all = nat->all;

	if (nat->listed)
		return;
	nat->listed = true;
	nat->next = all->first;
	all->first = nat;
	/* relaxed: at worst the analysis thread wakes the loop a bit later */
	atomic_fetch_add_explicit(all->ticking, 1, memory_order_relaxed);
	wake_fd_signal(all->loop_fd);
}

static void list_remove(struct session_nat *nat)
{
	struct nat_sessions *all = nat->all;

	if (!nat->listed)
		return;
	for (struct session_nat **link = &all->first; *link;
	     link = &(*link)->next) {
		if (*link != nat)
			continue;
		*link = nat->next;
		break;
	}
	nat->listed = false;
	/* relaxed: at worst the analysis thread wakes the loop once more than
	 * needed */
	atomic_fetch_sub_explicit(all->ticking, 1, memory_order_relaxed);
}

void nat_sessions_free(struct nat_sessions *all)
{
	all->streams = turn_streams_free(all->streams);
}

/* ---- open and release ---- */

static void ice_send(const struct ice_path *path, const uint8_t *data,
		     size_t bytes, void *arg)
{
	session_nat_send(arg, path, data, bytes);
}

int session_nat_open(struct session_nat *nat,
		     const struct session_nat_params *params)
{
	const struct ice_params ice = {
		.lite = params->nat->ice_lite,
		.send = ice_send,
		.arg = nat,
	};
	struct session_servers_params servers = {
		.nat = params->nat,
		.local = &params->local->rtp,
		.streams = &params->all->streams,
	};
	int err = 0;

	/* session_nat_send() needs the sockets in any case */
	memcpy(nat->servers.fds, params->fds, sizeof(nat->servers.fds));
	nat->mode = params->nat->mode;
	if (nat->mode == MEDIA_NAT_NONE)
		return 0;
	nat->all = params->all;
	nat->handlers = params->handlers;
	nat->session = params->session;
	nat->local = params->local;
	nat->settled = params->settled;
	if (nat->mode == MEDIA_NAT_ICE)
		err = session_ice_open(&nat->ice, &ice, nat->local);
	if (!err)
		err = session_servers_open(&nat->servers, &servers);
	if (err)
		return err;
	nat->gathering = session_servers_any(&nat->servers);
	if (nat->gathering)
		list_add(nat);
	return 0;
}

void session_nat_stop(struct session_nat *nat)
{
	list_remove(nat);
}

void session_nat_release(struct session_nat *nat)
{
	list_remove(nat);
	session_servers_release(&nat->servers);
	session_ice_release(&nat->ice);
}

static int relay_tell(unsigned socket, const struct relay_map *map, void *arg)
{
	const struct session_nat *nat = arg;

	return nat->handlers->relay(nat->session, socket, map);
}

/* ---- before SDP is written ---- */

/* All servers have answered or failed: complete what SDP will say. */
static void gathered(struct session_nat *nat)
{
	struct media_addr *locals[] = {&nat->local->rtp, &nat->local->rtcp};

	nat->gathering = false;
	if (nat->mode == MEDIA_NAT_ICE) {
		session_ice_gathered(&nat->ice, &nat->servers, nat->local);
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

int session_nat_settle(struct session_nat *nat, struct media_negotiated *n)
{
	int err = 0;

	if (nat->mode == MEDIA_NAT_NONE)
		return 0;
	nat->settled_once = true;
	if (n->ice)
		err = session_ice_settle(&nat->ice, &nat->servers, n);
	if (err)
		return err;
	list_add(nat);
	if (nat->mode != MEDIA_NAT_TURN)
		return 0;
	/* nothing can be sent without a channel; if none is left the caller
	 * gets an error */
	if (n->rtp.len > 0)
		err = turn_bind(nat->servers.turns[SOCKET_RTP], &n->rtp);
	if (!err && n->rtcp.len > 0 && !n->rtcp_mux)
		err = turn_bind(nat->servers.turns[SOCKET_RTCP], &n->rtcp);
	if (!err)
		session_servers_bind(&nat->servers, clock_mono_ns(), relay_tell,
				     nat);
	return err;
}

/* ---- sending ---- */

bool session_nat_relayed(const struct session_nat *nat, unsigned socket)
{
	return nat->mode == MEDIA_NAT_TURN ||
	       session_ice_relayed(&nat->ice, (uint8_t)(socket + 1));
}

struct nat_route session_nat_route(const struct session_nat *nat,
				   unsigned socket, const struct media_addr *to)
{
	struct nat_route route = {
		.relayed = to->len > 0 && session_nat_relayed(nat, socket),
	};

	if (route.relayed) {
		route.server = nat->servers.turn;
		route.channel = turn_channel(nat->servers.turns[socket], to);
	}
	return route;
}

void session_nat_send(const struct session_nat *nat, const struct ice_path *to,
		      const uint8_t *data, size_t bytes)
{
	const struct session_servers *servers = &nat->servers;
	unsigned socket = to->component == 1 ? SOCKET_RTP : SOCKET_RTCP;
	uint8_t frame[SEND_BYTES];

	if (!to->relayed) {
		session_servers_send_direct(servers, socket, &to->peer, data,
					    bytes);
		return;
	}
	bytes = turn_frame_send(frame, sizeof(frame), &to->peer, data, bytes);
	if (bytes > 0)
		session_servers_send(servers, socket, frame, bytes);
}

/* ---- receiving ---- */

void session_nat_input(struct session_nat *nat, const struct handover *d)
{
	const struct ice_path from = {
		.component = d->rtcp ? 2 : 1,
		.relayed = d->relayed,
		.peer = d->source,
	};
	/* a datagram of a TCP or TLS connection has no source address */
	bool stream = !d->relayed && d->source.len == 0;
	int64_t now_ns = clock_mono_ns();

	session_servers_input(&nat->servers, d, now_ns);
	if (nat->ice.ice && !stream)
		ice_input(nat->ice.ice, &from, d->data, d->bytes, now_ns);
}

/* ---- timers ---- */

static void path_server(struct media_path *path, const struct session_nat *nat)
{
	const struct media_addr *locals[] = {&nat->local->rtp,
					     &nat->local->rtcp};
	const struct media_addr *remotes[] = {&nat->settled->rtp,
					      &nat->settled->rtcp};

	memset(path, 0, sizeof(*path));
	path->mode = nat->mode;
	path->component_count = nat->settled->rtcp_mux ? 1 : 2;
	for (unsigned k = 0; k < path->component_count; k++) {
		path->local[k].type = nat->mode == MEDIA_NAT_TURN
					      ? MEDIA_CANDIDATE_RELAY
					      : MEDIA_CANDIDATE_SRFLX;
		path->local[k].addr = *locals[k];
		path->remote[k].addr = *remotes[k];
	}
}

/* Without ICE: report the path once the channels that media needs are bound. */
static bool server_path(struct session_nat *nat, struct media_path *path)
{
	const struct media_negotiated *n = nat->settled;

	/* if ICE was offered but the peer does not support it, there is no path
	 * to report */
	if (nat->mode == MEDIA_NAT_ICE || nat->told || !nat->settled_once ||
	    n->rtp.len == 0 ||
	    (nat->mode == MEDIA_NAT_TURN &&
	     !turn_channel(nat->servers.turns[SOCKET_RTP], &n->rtp)))
		return false;
	nat->told = true;
	path_server(path, nat);
	return true;
}

/* @return why a TURN server that relays our media has failed; NULL: none has */
static const char *relay_refusal(const struct session_nat *nat)
{
	unsigned sockets = nat->settled->rtcp_mux ? 1 : SOCKET_COUNT;

	for (unsigned k = 0; k < sockets; k++) {
		const struct turn *turn = nat->servers.turns[k];

		if (turn && session_nat_relayed(nat, k) &&
		    turn_state(turn) == TURN_FAILED)
			return turn_reason(turn);
	}
	return NULL;
}

/* A TURN server that relays our media fails. Nothing goes through the STUN
 * server, and the TURN client of a port that is not relayed is not needed. */
static bool relay_lost(struct session_nat *nat, struct media_path *path)
{
	const char *reason = relay_refusal(nat);

	if (nat->lost || !reason)
		return false;
	nat->lost = true;
	memset(path, 0, sizeof(*path));
	path->mode = nat->mode;
	path->reason = reason;
	return true;
}

/* @return the record to deliver; MEDIA_RECORD_STOPPED: none */
static enum media_record_kind review(struct session_nat *nat, int64_t now_ns,
				     struct media_record *r,
				     struct media_path *path)
{
	bool news;

	session_servers_tick(&nat->servers, now_ns);
	if (nat->gathering) {
		if (session_servers_pending(&nat->servers))
			return MEDIA_RECORD_STOPPED;
		gathered(nat);
		r->u.gathered = session_servers_refusal(&nat->servers);
		return MEDIA_RECORD_GATHERED;
	}
	news = session_servers_review(&nat->servers, relay_tell, nat) ||
	       nat->retry;
	if (!nat->settled_once)
		return MEDIA_RECORD_STOPPED;
	if (nat->settled->ice &&
	    session_ice_tick(&nat->ice, &nat->servers, now_ns)) {
		session_servers_bind(&nat->servers, now_ns, relay_tell, nat);
		news = true;
	}
	/* too many commands under way: try again at the next poll */
	if (news && nat->handlers->apply(nat->session)) {
		nat->retry = true;
		return MEDIA_RECORD_STOPPED;
	}
	nat->retry = false;
	if (relay_lost(nat, path) ||
	    (nat->settled->ice ? session_ice_path(&nat->ice, path)
			       : server_path(nat, path)))
		return MEDIA_RECORD_PATH;
	return MEDIA_RECORD_STOPPED;
}

void session_nat_poll(struct nat_sessions *all, media_record_h *handler,
		      void *arg)
{
	struct session_nat *nat = all->first;
	int64_t now_ns = nat ? clock_mono_ns() : 0;

	while (nat) {
		struct session_nat *next = nat->next;
		struct media_path path;
		struct media_record r = {.session = nat->session,
					 .mono_ns = now_ns};

		r.kind = review(nat, now_ns, &r, &path);
		if (r.kind == MEDIA_RECORD_PATH)
			r.u.path = &path;
		if (r.kind != MEDIA_RECORD_STOPPED) {
			handler(&r, arg);
			/* the handler may have stopped or freed any of them */
			next = all->first;
		}
		nat = next;
	}
}
