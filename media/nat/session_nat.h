/**
 * NAT traversal of a media session: STUN and TURN servers (session_servers.h)
 * provide addresses and relay, ICE (session_ice.h) selects.
 * Thread: loop; nothing blocks. Docs: docs/internals/nat.md
 */
#ifndef OFFHOOK_MEDIA_NAT_SESSION_NAT_H
#define OFFHOOK_MEDIA_NAT_SESSION_NAT_H

#include "media/handover.h"
#include "media/nat/session_ice.h"
#include "media/nat/session_servers.h"

#include <stdatomic.h>
#include <stdbool.h>

/** NAT traversal of all sessions of an engine. */
struct nat_sessions {
	/* set by the engine */
	_Atomic unsigned
		*ticking; /* sessions whose timers run; see measure.h */
	int loop_fd;      /* eventfd of the loop */
	/* owned by session_nat.c */
	struct session_nat *first;    /* sessions with timers, linked by
				       * session_nat.next */
	struct turn_streams *streams; /* NULL: no session needed a connection
				       * yet */
};

/** What a session does for its NAT traversal. */
struct session_nat_handlers {
	/** Put the settled offer and answer in force again, as an address or a
	 * channel has changed.
	 * @return 0; -errno: it is called again later */
	int (*apply)(struct media_session *session);
	/** See session_relay_h. */
	int (*relay)(struct media_session *session, unsigned socket,
		     const struct relay_map *map);
};

struct session_nat_params {
	struct nat_sessions *all;
	const struct session_nat_handlers *handlers; /* static */
	struct media_session *session; /* for handlers and records */
	const struct media_nat_params *nat;
	/* borrowed, valid as long as the session: our side (in/out), and the
	 * result of offer and answer, valid from session_nat_settle() on */
	struct media_local *local;
	const struct media_negotiated *settled;
	int fds[SOCKET_COUNT]; /* borrowed as long as the session */
};

/** NAT traversal of a session. All zero: none. */
struct session_nat {
	struct nat_sessions *all;
	const struct session_nat_handlers *handlers;
	struct media_session *session;
	struct media_local *local;
	const struct media_negotiated *settled;
	enum media_nat mode;
	struct session_servers servers;
	struct session_ice ice;
	bool gathering;           /* waiting for responses of the servers */
	bool listed;              /* in nat_sessions.first */
	struct session_nat *next; /* of nat_sessions.first */
	bool settled_once;        /* *settled is valid */
	bool retry;               /* handlers->apply() failed: call it again */
	bool told;                /* the path was reported; unused with ICE */
	bool lost;                /* the loss of the relay was reported */
};

/** Free the thread of the TCP and TLS connections. All sessions must be
 * released before. */
void nat_sessions_free(struct nat_sessions *all);

/**
 * Create what the parameters ask for, and start asking the servers.
 * @param nat     all zero
 * @param params  borrowed during the call
 * @return 0; -EINVAL: STUN or TURN without a server; -ENOMEM; -errno
 */
int session_nat_open(struct session_nat *nat,
		     const struct session_nat_params *params);
/** Stop all timers; nothing more is reported. */
void session_nat_stop(struct session_nat *nat);
/** Release everything, and the allocations at the TURN server. `nat` may be all
 * zero. */
void session_nat_release(struct session_nat *nat);

/**
 * Offer and answer are settled.
 * @param n  in/out: a copy of *settled; gets the addresses that ICE selected
 * @return 0; -EINVAL; -ENOSPC no channel is left
 */
int session_nat_settle(struct session_nat *nat, struct media_negotiated *n);

/** How media is sent to an address of the peer. */
struct nat_route {
	bool relayed;     /* through a channel of the TURN server */
	uint16_t channel; /* 0: not bound yet */
	struct media_addr server;
};

/**
 * Find the route to an address.
 * @param socket  the socket that sends: SOCKET_RTP, SOCKET_RTCP
 * @param to      the peer's address
 */
struct nat_route session_nat_route(const struct session_nat *nat,
				   unsigned socket,
				   const struct media_addr *to);

/** Send a datagram of the loop (a check, DTLS) to a peer. */
void session_nat_send(const struct session_nat *nat, const struct ice_path *to,
		      const uint8_t *data, size_t bytes);
/** @return media sent from this socket goes through the TURN server */
bool session_nat_relayed(const struct session_nat *nat, unsigned socket);

/** Process a STUN message, or a datagram of a server. */
void session_nat_input(struct session_nat *nat, const struct handover *d);
/** Do what is due in all sessions. The handler gets MEDIA_RECORD_GATHERED and
 * MEDIA_RECORD_PATH; it may stop and free sessions. */
void session_nat_poll(struct nat_sessions *all, media_record_h *handler,
		      void *arg);

#endif
