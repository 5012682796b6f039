/**
 * The STUN and TURN clients of a media session: one each for its RTP and its
 * RTCP socket. They find out the server reflexive and relayed addresses before
 * SDP is written; afterwards the TURN server's channels carry media.
 * Thread: loop; nothing blocks. Docs: docs/internals/nat.md
 */
#ifndef OFFHOOK_MEDIA_NAT_SESSION_SERVERS_H
#define OFFHOOK_MEDIA_NAT_SESSION_SERVERS_H

#include "media/handover.h"
#include "media/nat/relay_map.h"
#include "media/nat/turn.h"
#include "media/nat/turn_stream.h"
#include "media/socket.h"

#include <stdbool.h>

/** A socket of a session, as its clients send by it. */
struct servers_port {
	const struct session_servers *servers;
	unsigned socket; /* SOCKET_RTP, SOCKET_RTCP */
};

/** The servers of a session. All zero: there is none. */
struct session_servers {
	/* the session's sockets, borrowed; set before session_servers_open() */
	int fds[SOCKET_COUNT];
	struct media_addr stun; /* len 0: none */
	struct media_addr turn; /* len 0: none */
	struct servers_port ports[SOCKET_COUNT];
	struct turn *stuns[SOCKET_COUNT];
	struct turn *turns[SOCKET_COUNT];
	struct turn_stream *streams[SOCKET_COUNT]; /* TCP, TLS; else NULL */
	unsigned versions[SOCKET_COUNT]; /* of turns, known to the RX thread */
};

/**
 * Tell the RX thread the channels of a socket's TURN server.
 * @return 0; -EAGAIN too many commands are under way; -ENOMEM
 */
typedef int(session_relay_h)(unsigned socket, const struct relay_map *map,
			     void *arg);

struct session_servers_params {
	const struct media_nat_params *nat;
	const struct media_addr *local; /* of the RTP socket */
	struct turn_streams **streams;  /* the engine's; made when needed */
};

/**
 * Make the clients that the parameters ask for. Nothing is sent before
 * session_servers_tick().
 * @param servers  all zero, but for fds
 * @return 0; -EINVAL: STUN or TURN without a server; -ENOMEM; -errno
 */
int session_servers_open(struct session_servers *servers,
			 const struct session_servers_params *params);
/** Give the allocations back to the TURN server and free the clients. */
void session_servers_release(struct session_servers *servers);

/** @return the session has a STUN or TURN server */
bool session_servers_any(const struct session_servers *servers);
/** @return a server has not answered yet, nor failed */
bool session_servers_pending(const struct session_servers *servers);
/** @return why a server gave no address, as long as the servers; NULL: none
 * failed */
const char *session_servers_refusal(const struct session_servers *servers);
/** @return the socket of the TCP or TLS connection to the TURN server, borrowed;
 * -1: there is none */
int session_servers_stream_fd(const struct session_servers *servers,
			      unsigned socket);

/** Send to the TURN server from this socket, or over its connection. */
void session_servers_send(const struct session_servers *servers,
			  unsigned socket, const uint8_t *data, size_t bytes);
/** Send from this socket straight to an address. */
void session_servers_send_direct(const struct session_servers *servers,
				 unsigned socket, const struct media_addr *to,
				 const uint8_t *data, size_t bytes);
/** Take a datagram. One that no server sent is ignored. */
void session_servers_input(struct session_servers *servers,
			   const struct handover *d, int64_t now_ns);
/** Send what is due; to be called every 20 ms or so. */
void session_servers_tick(struct session_servers *servers, int64_t now_ns);

/**
 * Tell the RX thread channels that it does not know yet.
 * @return it was told some
 */
bool session_servers_review(struct session_servers *servers,
			    session_relay_h *relay, void *arg);

/** Send the requests of turn_bind() now. The RX thread is told first, so that
 * it knows a channel before the first datagram comes by it. */
void session_servers_bind(struct session_servers *servers, int64_t now_ns,
			  session_relay_h *relay, void *arg);

#endif
