#include "media/engine/session_servers.h"

#include "media/engine/media_engine.h"
#include "media/engine/media_session.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static void send_stun(const uint8_t *data, size_t bytes, void *arg)
{
	const struct servers_port *port = arg;
	const struct media_session *s = port->session;

	session_nat_send_direct(s, port->socket, &s->nat.servers.stun, data,
				bytes);
}

void session_servers_send(const struct media_session *s, unsigned socket,
			  const uint8_t *data, size_t bytes)
{
	int stream = s->tx.stream_fds[socket];

	if (stream >= 0)
		(void)send(stream, data, bytes, 0);
	else
		session_nat_send_direct(s, socket, &s->nat.servers.turn, data,
					bytes);
}

static void send_turn(const uint8_t *data, size_t bytes, void *arg)
{
	const struct servers_port *port = arg;

	session_servers_send(port->session, port->socket, data, bytes);
}

/* Over TCP or TLS: a connection for each of our sockets. */
static int streams_open(struct media_session *s,
			const struct media_nat_params *params)
{
	struct media_engine *e = s->engine;
	struct turn_stream **streams = s->nat.servers.streams;
	const struct turn_stream_params p = {
		.server = params->turn_server,
		.local = s->local.rtp,
		.tls = params->turn_transport == MEDIA_TURN_TLS,
		.verify = params->turn_verify,
		.name = params->turn_name,
	};
	int err = 0;

	if (!e->relay_streams)
		err = turn_streams_new(&e->relay_streams);
	for (unsigned k = 0; !err && k < SOCKET_COUNT; k++) {
		err = turn_stream_open(&streams[k], e->relay_streams, &p);
		if (err)
			break;
		s->tx.stream_fds[k] = turn_stream_fd(streams[k]);
		s->rx.streams[k].fd = s->tx.stream_fds[k];
	}
	return err;
}

static int clients_new(struct media_session *s,
		       const struct media_nat_params *params)
{
	struct session_servers *servers = &s->nat.servers;
	bool reliable = params->turn_transport != MEDIA_TURN_UDP;
	int err = 0;

	if (servers->turn.len > 0 && reliable)
		err = streams_open(s, params);
	for (unsigned k = 0; !err && k < SOCKET_COUNT; k++) {
		struct turn_params stun = {.stun = true,
					   .send = send_stun,
					   .arg = &servers->ports[k]};
		struct turn_params turn = {.username = params->username,
					   .password = params->password,
					   .reliable = reliable,
					   .ipv6 = s->local.rtp.ss.ss_family ==
						   AF_INET6,
					   .send = send_turn,
					   .arg = &servers->ports[k]};

		servers->ports[k] = (struct servers_port){s, k};
		if (servers->stun.len > 0)
			err = turn_new(&servers->stuns[k], &stun);
		if (!err && servers->turn.len > 0)
			err = turn_new(&servers->turns[k], &turn);
		if (!reliable)
			s->rx.sockets[k].relay.server = servers->turn;
	}
	return err;
}

int session_servers_open(struct media_session *s,
			 const struct media_nat_params *params)
{
	struct session_servers *servers = &s->nat.servers;

	if (params->mode != MEDIA_NAT_TURN && !params->ice_lite)
		servers->stun = params->stun_server;
	if (params->mode != MEDIA_NAT_STUN && !params->ice_lite)
		servers->turn = params->turn_server;
	if ((params->mode == MEDIA_NAT_STUN && servers->stun.len == 0) ||
	    (params->mode == MEDIA_NAT_TURN && servers->turn.len == 0))
		return -EINVAL;
	return clients_new(s, params);
}

void session_servers_release(struct media_session *s)
{
	struct session_servers *servers = &s->nat.servers;

	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		if (servers->turns[k])
			turn_end(servers->turns[k]);
		servers->turns[k] = turn_free(servers->turns[k]);
		servers->streams[k] = turn_stream_close(servers->streams[k]);
		servers->stuns[k] = turn_free(servers->stuns[k]);
	}
}

bool session_servers_any(const struct session_servers *servers)
{
	return servers->stun.len > 0 || servers->turn.len > 0;
}

static bool is_in(const struct turn *t, enum turn_state state)
{
	return t && turn_state(t) == state;
}

bool session_servers_asking(const struct session_servers *servers)
{
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		if (is_in(servers->stuns[k], TURN_ASKING) ||
		    is_in(servers->turns[k], TURN_ASKING))
			return true;
	}
	return false;
}

const char *session_servers_refusal(const struct session_servers *servers)
{
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		if (is_in(servers->stuns[k], TURN_FAILED))
			return turn_reason(servers->stuns[k]);
		if (is_in(servers->turns[k], TURN_FAILED))
			return turn_reason(servers->turns[k]);
	}
	return NULL;
}

static void map_fill(struct relay_map *map,
		     const struct session_servers *servers, unsigned socket)
{
	struct media_addr peer;
	uint16_t number;

	memset(map, 0, sizeof(*map));
	if (!servers->streams[socket])
		map->server = servers->turn;
	for (size_t n = 0;; n++) {
		number = turn_channel_at(servers->turns[socket], n, &peer);
		if (number == 0)
			break;
		map->channels[n % RELAY_CHANNELS_MAX].number = number;
		map->channels[n % RELAY_CHANNELS_MAX].peer = peer;
	}
}

bool session_servers_review(struct media_session *s)
{
	struct session_servers *servers = &s->nat.servers;
	bool news = false;

	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		struct turn *turn = servers->turns[k];
		struct relay_map map;

		if (!turn || turn_version(turn) == servers->versions[k])
			continue;
		map_fill(&map, servers, k);
		if (session_relay_put(s, k, &map))
			continue; /* too many changes at once: the next time */
		servers->versions[k] = turn_version(turn);
		news = true;
	}
	return news;
}

static bool is_server(const struct media_addr *server,
		      const struct media_addr *source)
{
	return server->len > 0 && media_addr_equal(server, source);
}

void session_servers_input(struct media_session *s, const struct handover *d,
			   int64_t now_ns)
{
	struct session_servers *servers = &s->nat.servers;
	unsigned socket = d->rtcp ? SOCKET_RTCP : SOCKET_RTP;
	struct turn *turn = servers->turns[socket];
	struct turn *stun = servers->stuns[socket];

	if (d->relayed)
		return;
	/* what comes by a connection has no address; one server may be both */
	if (turn &&
	    (d->source.len == 0 || is_server(&servers->turn, &d->source)))
		turn_input(turn, d->data, d->bytes, now_ns);
	if (stun && is_server(&servers->stun, &d->source))
		turn_input(stun, d->data, d->bytes, now_ns);
}

void session_servers_tick(struct session_servers *servers, int64_t now_ns)
{
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		struct turn_stream *stream = servers->streams[k];

		if (servers->stuns[k])
			turn_tick(servers->stuns[k], now_ns);
		if (stream && turn_stream_reason(stream))
			turn_lost(servers->turns[k],
				  turn_stream_reason(stream));
		if (servers->turns[k])
			turn_tick(servers->turns[k], now_ns);
	}
}

void session_servers_bind(struct media_session *s, int64_t now_ns)
{
	(void)session_servers_review(s);
	session_servers_tick(&s->nat.servers, now_ns);
}
