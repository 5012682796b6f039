/**
 * The ICE agent of a media session: its candidates are the session's sockets
 * and what the STUN and TURN servers gave; the selected pairs become the
 * addresses to send to. Thread: loop. Docs: docs/internals/nat.md
 */
#ifndef OFFHOOK_MEDIA_NAT_SESSION_ICE_H
#define OFFHOOK_MEDIA_NAT_SESSION_ICE_H

#include "media/media.h"
#include "media/nat/ice.h"
#include "media/nat/session_servers.h"

#include <stdbool.h>

/** ICE of a session. */
struct session_ice {
	struct ice *ice;     /* NULL: not wanted */
	unsigned version;    /* of the agent, when its path was last reported */
	unsigned components; /* once started */
};

/**
 * Make the agent, with the sockets' own addresses as host candidates.
 * @param local  in/out: `ice` is set
 * @return 0; -ENOMEM
 */
int session_ice_open(struct session_ice *i, const struct ice_params *params,
		     struct media_local *local);
/** Add the addresses that the servers gave as candidates.
 * @param local  in/out: `ice` is set */
void session_ice_gathered(struct session_ice *i,
			  const struct session_servers *servers,
			  struct media_local *local);
void session_ice_release(struct session_ice *i);

/**
 * Offer and answer settled ICE: start the checks, go on, or restart.
 * @param servers  their permissions for the peer's candidates are asked for
 * @param n        in/out: with the remote addresses of the selected pairs; not
 *                 set where no pair is selected yet
 * @return 0; -EINVAL
 */
int session_ice_settle(struct session_ice *i, struct session_servers *servers,
		       struct media_negotiated *n);

/** @return the component's selected pair goes through our TURN server */
bool session_ice_relayed(const struct session_ice *i, uint8_t component);
/** @return ICE was restarted and media still takes the pair of before */
bool session_ice_restarting(const struct session_ice *i, uint8_t component);

/**
 * Send what is due. A channel is asked for to a peer behind our relay.
 * @return the selected pairs or the state have changed since
 *         session_ice_path()
 */
bool session_ice_tick(struct session_ice *i, struct session_servers *servers,
		      int64_t now_ns);
/**
 * The present pairs are in force.
 * @param ret  written if the return value is true
 * @return there is a path, or a failure, to report
 */
bool session_ice_path(struct session_ice *i, struct media_path *ret);

#endif
