/**
 * Inside of the media engine: the STUN and TURN servers that a session asks,
 * a client each for the RTP and the RTCP socket. They tell and lend addresses
 * before SDP is written; later the TURN server's channels carry media.
 * Docs: docs/internals/nat.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SESSION_SERVERS_H
#define OFFHOOK_MEDIA_ENGINE_SESSION_SERVERS_H

#include "media/handover.h"
#include "media/media.h"
#include "media/nat/turn.h"
#include "media/nat/turn_stream.h"
#include "media/socket.h"

#include <stdbool.h>

/** A socket of a session: whom a client sends for. */
struct servers_port {
	const struct media_session *session;
	unsigned socket;
};

/** Of a session. Loop thread. */
struct session_servers {
	struct media_addr stun; /* len 0: none */
	struct media_addr turn; /* len 0: none */
	struct servers_port ports[SOCKET_COUNT];
	struct turn *stuns[SOCKET_COUNT];
	struct turn *turns[SOCKET_COUNT];
	struct turn_stream *streams[SOCKET_COUNT]; /* TCP, TLS; else NULL */
	unsigned versions[SOCKET_COUNT];           /* of turns, in force */
};

/**
 * Make the clients that the parameters ask for; the sockets are there.
 * @return 0; -EINVAL: STUN or TURN without a server; -ENOMEM; -errno
 */
int session_servers_open(struct media_session *s,
			 const struct media_nat_params *params);
/** The allocations are given back. */
void session_servers_release(struct media_session *s);

/** There is one. */
bool session_servers_any(const struct session_servers *servers);
/** One of them has not answered yet. */
bool session_servers_asking(const struct session_servers *servers);
/** @return why a server did not tell or lend an address; NULL: all did */
const char *session_servers_refusal(const struct session_servers *servers);

/** Send to the TURN server from this socket, or by its connection. */
void session_servers_send(const struct media_session *s, unsigned socket,
			  const uint8_t *data, size_t bytes);
/** A datagram, if it is of a server; or what came by a connection. */
void session_servers_input(struct media_session *s, const struct handover *d,
			   int64_t now_ns);
/** All that is due. */
void session_servers_tick(struct session_servers *servers, int64_t now_ns);

/** Let the RX thread know the channels.
 * @return they are others than those in force */
bool session_servers_review(struct media_session *s);

/** Ask the TURN server for the channels of turn_bind() now: what comes by them
 * is known to the RX thread before it can come. */
void session_servers_bind(struct media_session *s, int64_t now_ns);

#endif
