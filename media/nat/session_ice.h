/**
 * The ICE agent of a media session. Its candidates are the session's sockets
 * and the addresses obtained from the STUN and TURN servers. The selected pairs
 * become the addresses to send to. Thread: loop. Docs: docs/internals/nat.md
 */
#ifndef OFFHOOK_MEDIA_NAT_SESSION_ICE_H
#define OFFHOOK_MEDIA_NAT_SESSION_ICE_H

#include "media/media.h"
#include "media/nat/ice.h"
#include "media/nat/session_servers.h"

#include <stdbool.h>

/** ICE of a session. */
struct session_ice {
	struct ice *ice;     /* NULL: ICE is not used */
	unsigned version;    /* ice_version() when the path was last reported */
	unsigned components; /* once started */
};

/**
 * Create the agent, with the sockets' addresses as host candidates.
 * @param params  copied
 * @param local   in/out: `ice` is set
 * @return 0; -ENOMEM
 */
int session_ice_open(struct session_ice *i, const struct ice_params *params,
		     struct media_local *local);
/** Add the addresses obtained from the servers as candidates.
 * @param local  in/out: `ice` is set */
void session_ice_gathered(struct session_ice *i,
			  const struct session_servers *servers,
			  struct media_local *local);
/** Free the agent, if there is one. */
void session_ice_release(struct session_ice *i);

/**
 * Offer and answer have settled ICE: start the checks, continue, or restart.
 * @param servers  asked for permissions for the peer's candidates
 * @param n        in/out: the remote addresses of the selected pairs are set;
 *                 len 0 if no pair is selected yet
 * @return 0; -EINVAL ICE is not used, or invalid credentials
 */
int session_ice_settle(struct session_ice *i, struct session_servers *servers,
		       struct media_negotiated *n);

/** @return the component's selected pair goes through our TURN server */
bool session_ice_relayed(const struct session_ice *i, uint8_t component);
/** @return ICE was restarted and media still uses the previous pair */
bool session_ice_restarting(const struct session_ice *i, uint8_t component);

/**
 * Send what is due. Request a channel to a peer that is reached through our
 * TURN server.
 * @return the selected pairs or the state have changed since session_ice_path()
 */
bool session_ice_tick(struct session_ice *i, struct session_servers *servers,
		      int64_t now_ns);
/**
 * The selected pairs are in force: get the path to report.
 * @param ret  written if the return value is true
 * @return a path or a failure is to be reported
 */
bool session_ice_path(struct session_ice *i, struct media_path *ret);

#endif
