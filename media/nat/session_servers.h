/**
 * The STUN and TURN clients of a media session: one each for its RTP and its
 * RTCP socket. Before SDP is written they obtain the server reflexive and
 * relayed addresses; afterwards the channels of the TURN server carry media.
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

/** A socket of a session: the `arg` of its clients. */
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
	struct turn_stream *streams[SOCKET_COUNT]; /* TCP or TLS; NULL: UDP */
	unsigned versions[SOCKET_COUNT]; /* turn_version() that the RX thread
					  * knows */
};

/**
 * Give the RX thread the channels of a socket's TURN server.
 * @return 0; -EAGAIN too many commands are under way; -ENOMEM
 */
typedef int(session_relay_h)(unsigned socket, const struct relay_map *map,
			     void *arg);

struct session_servers_params {
	const struct media_nat_params *nat;
	const struct media_addr *local; /* address of the RTP socket */
	struct turn_streams **streams;  /* in/out: the engine's; created when
					 * first needed */
};

/**
 * Create the clients that the parameters ask for. Nothing is sent before
 * session_servers_tick().
 * @param servers  all zero, but for fds
 * @return 0; -EINVAL: STUN or TURN without a server; -ENOMEM; -errno
 */
int session_servers_open(struct session_servers *servers,
			 const struct session_servers_params *params);
/** Release the allocations at the TURN server and free the clients. */
void session_servers_release(struct session_servers *servers);

/** @return the session has a STUN or TURN server */
bool session_servers_any(const struct session_servers *servers);
/** @return a server has neither answered nor failed yet */
bool session_servers_pending(const struct session_servers *servers);
/** @return why a server gave no address, owned by the servers; NULL: none
 *         failed */
const char *session_servers_refusal(const struct session_servers *servers);
/** @return socket of the TCP or TLS connection to the TURN server, borrowed;
 *         -1: none */
int session_servers_stream_fd(const struct session_servers *servers,
			      unsigned socket);

/** Send to the TURN server from this socket, or over its connection. */
void session_servers_send(const struct session_servers *servers,
			  unsigned socket, const uint8_t *data, size_t bytes);
/** Send from this socket directly to an address. */
void session_servers_send_direct(const struct session_servers *servers,
				 unsigned socket, const struct media_addr *to,
				 const uint8_t *data, size_t bytes);
/** Process a datagram. One that comes from no server is ignored.
 * @param now_ns  monotonic */
void session_servers_input(struct session_servers *servers,
			   const struct handover *d, int64_t now_ns);
/** Send what is due; call it every 20 ms or so.
 * @param now_ns  monotonic */
void session_servers_tick(struct session_servers *servers, int64_t now_ns);

/**
 * Give the RX thread the channels that it does not know yet.
 * @return it was given some
 */
bool session_servers_review(struct session_servers *servers,
			    session_relay_h *relay, void *arg);

/** Send the requests of turn_bind() now. The RX thread gets the channels first,
 * so that it knows each one before the first datagram arrives. */
void session_servers_bind(struct session_servers *servers, int64_t now_ns,
			  session_relay_h *relay, void *arg);

#endif
