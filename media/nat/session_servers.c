#include "media/nat/session_servers.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

void session_servers_send_direct(const struct session_servers *servers,
				 unsigned socket, const struct media_addr *to,
				 const uint8_t *data, size_t bytes)
{
	/* a lost datagram is repeated */
	(void)sendto(servers->fds[socket], data, bytes, 0,
		     (const struct sockaddr *)(const void *)&to->ss, to->len);
}

int session_servers_stream_fd(const struct session_servers *servers,
			      unsigned socket)
{
	const struct turn_stream *stream = servers->streams[socket];

	return stream ? turn_stream_fd(stream) : -1;
}

static void send_stun(const uint8_t *data, size_t bytes, void *arg)
{
	const struct servers_port *port = arg;

	session_servers_send_direct(port->servers, port->socket,
				    &port->servers->stun, data, bytes);
}

void session_servers_send(const struct session_servers *servers,
			  unsigned socket, const uint8_t *data, size_t bytes)
{
	int stream = session_servers_stream_fd(servers, socket);

	if (stream >= 0)
		(void)send(stream, data, bytes, 0);
	else
		session_servers_send_direct(servers, socket, &servers->turn,
					    data, bytes);
}

static void send_turn(const uint8_t *data, size_t bytes, void *arg)
{
	const struct servers_port *port = arg;

	session_servers_send(port->servers, port->socket, data, bytes);
}

/* TCP or TLS: one connection for each of our sockets. */
static int streams_open(struct session_servers *servers,
			const struct session_servers_params *params)
{
	const struct media_nat_params *nat = params->nat;
	const struct turn_stream_params p = {
		.server = nat->turn_server,
		.local = *params->local,
		.tls = nat->turn_transport == MEDIA_TURN_TLS,
		.verify = nat->turn_verify,
		.name = nat->turn_name,
	};
	int err = 0;

	if (!*params->streams)
		err = turn_streams_new(params->streams);
	for (unsigned k = 0; !err && k < SOCKET_COUNT; k++)
		err = turn_stream_open(&servers->streams[k], *params->streams,
				       &p);
	return err;
}

static int clients_new(struct session_servers *servers,
		       const struct session_servers_params *params)
{
	const struct media_nat_params *nat = params->nat;
	bool reliable = nat->turn_transport != MEDIA_TURN_UDP;
	int err = 0;

	if (servers->turn.len > 0 && reliable)
		err = streams_open(servers, params);
	for (unsigned k = 0; !err && k < SOCKET_COUNT; k++) {
		struct turn_params stun = {.stun = true,
					   .send = send_stun,
					   .arg = &servers->ports[k]};
		struct turn_params turn = {
			.username = nat->username,
			.password = nat->password,
			.reliable = reliable,
			.ipv6 = params->local->ss.ss_family == AF_INET6,
			.send = send_turn,
			.arg = &servers->ports[k]};

		servers->ports[k] = (struct servers_port){servers, k};
		if (servers->stun.len > 0)
			err = turn_new(&servers->stuns[k], &stun);
		if (!err && servers->turn.len > 0)
			err = turn_new(&servers->turns[k], &turn);
	}
	return err;
}

int session_servers_open(struct session_servers *servers,
			 const struct session_servers_params *params)
{
	const struct media_nat_params *nat = params->nat;

	if (nat->mode != MEDIA_NAT_TURN && !nat->ice_lite)
		servers->stun = nat->stun_server;
	if (nat->mode != MEDIA_NAT_STUN && !nat->ice_lite)
		servers->turn = nat->turn_server;
	if ((nat->mode == MEDIA_NAT_STUN && servers->stun.len == 0) ||
	    (nat->mode == MEDIA_NAT_TURN && servers->turn.len == 0))
		return -EINVAL;
	return clients_new(servers, params);
}

void session_servers_release(struct session_servers *servers)
{
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

bool session_servers_pending(const struct session_servers *servers)
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

bool session_servers_review(struct session_servers *servers,
			    session_relay_h *relay, void *arg)
{
	bool news = false;

	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		struct turn *turn = servers->turns[k];
		struct relay_map map;

		if (!turn || turn_version(turn) == servers->versions[k])
			continue;
		map_fill(&map, servers, k);
		if (relay(k, &map, arg))
			continue; /* too many commands under way: try again at
				   * the next poll */
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

void session_servers_input(struct session_servers *servers,
			   const struct handover *d, int64_t now_ns)
{
	unsigned socket = d->rtcp ? SOCKET_RTCP : SOCKET_RTP;
	struct turn *turn = servers->turns[socket];
	struct turn *stun = servers->stuns[socket];

	if (d->relayed)
		return;
	/* Datagrams of a TCP or TLS connection have no source address. One
	 * server may be both the STUN and the TURN server. */
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

void session_servers_bind(struct session_servers *servers, int64_t now_ns,
			  session_relay_h *relay, void *arg)
{
	(void)session_servers_review(servers, relay, arg);
	session_servers_tick(servers, now_ns);
}
