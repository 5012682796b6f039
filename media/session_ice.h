/**
 * Inside of the media engine: ICE of a session. The RX thread hands STUN
 * messages over, the loop does the checks and puts the selected pairs in force
 * as the addresses to send to. Docs: nat.md
 */
#ifndef OFFHOOK_MEDIA_SESSION_ICE_H
#define OFFHOOK_MEDIA_SESSION_ICE_H

#include "media/handover.h"
#include "media/ice.h"
#include "media/media.h"

#include <stdbool.h>

/** Of a session. Loop thread. */
struct session_ice {
	struct ice *ice;            /* NULL: not wanted */
	struct media_session *next; /* begun; of the engine's list */
	bool begun;
	unsigned version; /* of the agent, in force */
	struct media_negotiated settled;
};

/** Make the agent with the candidates of the session's sockets.
 * @return 0; -ENOMEM */
int session_ice_open(struct media_session *s, bool lite);
/** It ends, if there is one. */
void session_ice_release(struct media_session *s);

/**
 * Offer and answer settled ICE: begin, or go on.
 * @param n  in/out: with the addresses of the selected pairs; not set where
 *           none is yet
 * @return 0; -EINVAL
 */
int session_ice_settle(struct media_session *s, struct media_negotiated *n);

/** A STUN message of it. */
void session_ice_input(struct media_session *s, const struct handover *d);
/** All that is due. */
void session_ice_poll(struct media_engine *e, media_record_h *handler,
		      void *arg);

#endif
