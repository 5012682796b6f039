/**
 * Inside of the media engine: ICE of a session. The selected pairs become the
 * addresses to send to. Docs: docs/internals/nat.md
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SESSION_ICE_H
#define OFFHOOK_MEDIA_ENGINE_SESSION_ICE_H

#include "media/media.h"
#include "media/nat/ice.h"

#include <stdbool.h>

/** Of a session. Loop thread. */
struct session_ice {
	struct ice *ice;     /* NULL: not wanted */
	unsigned version;    /* of the agent, in force */
	unsigned components; /* once begun */
};

/** Make the agent with the sockets' own candidates. @return 0; -ENOMEM */
int session_ice_open(struct media_session *s, bool lite);
/** What the servers told are candidates, too. */
void session_ice_gathered(struct media_session *s);
void session_ice_release(struct media_session *s);

/**
 * Begin, or go on.
 * @param n  in/out: with the addresses of the selected pairs; not set where
 *           none is yet
 * @return 0; -EINVAL
 */
int session_ice_settle(struct media_session *s, struct media_negotiated *n);

/** @return the component's selected pair goes through our TURN server */
bool session_ice_relayed(const struct media_session *s, uint8_t component);
/** Media takes a pair of before a restart: another is to be selected. */
bool session_ice_awaited(const struct media_session *s, uint8_t component);

/**
 * What is due.
 * @return the pairs are others than those in force
 */
bool session_ice_tick(struct media_session *s, int64_t now_ns);
/** They are in force. @return there is something to tell: *ret */
bool session_ice_path(struct media_session *s, struct media_path *ret);

#endif
