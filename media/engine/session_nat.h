/**
 * Inside of the media engine: how a session's media gets through NATs. STUN
 * and TURN servers (session_servers.h) tell, lend and carry; ICE
 * (session_ice.h) chooses. Docs: docs/internals/nat.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SESSION_NAT_H
#define OFFHOOK_MEDIA_ENGINE_SESSION_NAT_H

#include "media/engine/session_ice.h"
#include "media/engine/session_servers.h"
#include "media/handover.h"

#include <stdbool.h>

struct command;

/** Of a session. Loop thread. */
struct session_nat {
	enum media_nat mode;
	struct session_servers servers;
	bool gathering;
	bool listed;
	struct media_session *next; /* of those that are due now and then */
	bool settled_once;
	struct media_negotiated settled; /* as it came, for when a channel is
					  * bound or a pair selected */
	bool retry; /* something is to be put in force again */
	bool told;  /* the path, without ICE */
	bool lost;  /* told that the relay failed */
	struct session_ice ice;
};

/** Make what the parameters ask for; the sockets are there.
 * @return 0; -EINVAL; -ENOMEM */
int session_nat_open(struct media_session *s,
		     const struct media_nat_params *params);
/** It ends; the allocations are given back. */
void session_nat_release(struct media_session *s);

/**
 * Offer and answer settled something.
 * @param n  in/out: with the addresses that ICE selected
 * @return 0; -EINVAL
 */
int session_nat_settle(struct media_session *s, struct media_negotiated *n);

/** Which way what the command puts in force is sent. */
void session_nat_route(const struct media_session *s, struct command *c);

/** What goes by this socket goes through the TURN server. */
bool session_nat_relayed(const struct media_session *s, unsigned socket);

/** Send a datagram of the loop to a peer: checks, DTLS. */
void session_nat_send(const struct media_session *s, const struct ice_path *to,
		      const uint8_t *data, size_t bytes);

/** The same past every server: to this address, from this socket. */
void session_nat_send_direct(const struct media_session *s, unsigned socket,
			     const struct media_addr *to, const uint8_t *data,
			     size_t bytes);

/** A STUN message, or what a server sent. */
void session_nat_input(struct media_session *s, const struct handover *d);
/** All that is due. */
void session_nat_poll(struct media_engine *e, media_record_h *handler,
		      void *arg);

#endif
