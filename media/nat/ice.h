/**
 * ICE for one audio stream (RFC 8445, consent freshness RFC 7675) as a state
 * machine without a socket: it takes datagrams and times, and returns datagrams
 * and the selected pairs. Full or lite.
 *
 * libre 1.1.0 also has an ICE agent (re_ice.h). It cannot be used here: it
 * reads its sockets itself, while our RTP has threads of its own. It implements
 * RFC 5245 without lite, forms no pair with an address learned from a check (a
 * peer behind an address-dependent NAT), and has no consent freshness. Its STUN
 * codec is used.
 *
 * Thread: one at a time; nothing blocks.
 */
#ifndef OFFHOOK_MEDIA_NAT_ICE_H
#define OFFHOOK_MEDIA_NAT_ICE_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The peer's candidates: from its SDP, and peer reflexive ones */
#define ICE_REMOTES_MAX 20
/* Each of them, directly and over the relay */
#define ICE_PAIRS_MAX (2 * ICE_REMOTES_MAX)
/* Our candidates: from our SDP, and peer reflexive ones */
#define ICE_LOCALS_MAX 20
/* Checks kept that arrive before the peer's SDP, or before the one with which
 * RTCP gets its own component. Further ones are answered but not kept: the peer
 * repeats them. */
#define ICE_EARLY_MAX 8

#define ICE_PACE_NS         INT64_C(50000000)  /* Ta, RFC 8445 section 14.2 */
#define ICE_RTO_NS          INT64_C(500000000) /* RFC 8445 section 14.3 */
#define ICE_SENDS_MAX       5                  /* a check fails after 15.5 s */
#define ICE_NOMINATE_NS     INT64_C(300000000) /* wait for a better pair */
#define ICE_PATIENCE_NS     INT64_C(25000000000)
#define ICE_CONSENT_NS      INT64_C(5000000000)  /* RFC 7675 section 5.1 */
#define ICE_CONSENT_LOST_NS INT64_C(30000000000) /* RFC 7675 section 5.1 */

struct ice;

/** The path of a datagram. */
struct ice_path {
	uint8_t component;      /* 1: RTP, 2: RTCP */
	bool relayed;           /* through our TURN server */
	struct media_addr peer; /* source or destination */
};

/** Send a datagram. Errors are ignored: a lost datagram is repeated. */
typedef void(ice_send_h)(const struct ice_path *path, const uint8_t *data,
			 size_t bytes, void *arg);

struct ice_params {
	bool lite;
	ice_send_h *send;
	void *arg;
};

/** Create an agent with new credentials.
 * @param params  copied; `arg` is borrowed
 * @return 0; -ENOMEM */
int ice_new(struct ice **ret, const struct ice_params *params);
/** Wipe the credentials and free the agent.
 * @param ice  may be NULL
 * @return NULL */
struct ice *ice_free(struct ice *ice);

/**
 * Add a candidate of ours, before ice_local() goes into SDP. Its priority is
 * set (RFC 8445 section 5.1.2.1). A redundant address is not added (section
 * 5.1.3).
 * @param c  copied; its priority is ignored
 * @return 0; -ENOSPC
 */
int ice_candidate_add(struct ice *ice, const struct media_candidate *c);

/** @return the ICE attributes of our SDP, owned by the agent */
const struct media_ice *ice_local(const struct ice *ice);

/**
 * Offer and answer are settled: start. If the peer's ufrag and password are
 * unchanged, continue: a component that is not used any more is forgotten, for
 * a new one checks start. Otherwise restart ICE, while media continues over the
 * previous pairs.
 * @param components   1: RTCP has no address of its own; 2
 * @param controlling  used by the first call only
 * @param now_ns       monotonic
 * @return 0; -EINVAL no credentials, or components out of range
 */
int ice_start(struct ice *ice, const struct media_ice *peer,
	      unsigned components, bool controlling, int64_t now_ns);

/** Process a STUN message. One that is not for this agent is ignored.
 * @param now_ns  monotonic */
void ice_input(struct ice *ice, const struct ice_path *from,
	       const uint8_t *data, size_t bytes, int64_t now_ns);

/** Send what is due; call it every 20 ms or so.
 * @param now_ns  monotonic */
void ice_tick(struct ice *ice, int64_t now_ns);

enum ice_state {
	ICE_IDLE,      /* not started */
	ICE_CHECKING,  /* a component has no selected pair yet */
	ICE_CONNECTED, /* a pair is selected for each component */
	ICE_FAILED,    /* for good, unless restarted */
};

/** @return the present state */
enum ice_state ice_state(const struct ice *ice);
/** @return why it failed, owned by the agent; "": it did not */
const char *ice_reason(const struct ice *ice);
/** @return a number that grows when state or selected pairs change */
unsigned ice_version(const struct ice *ice);

/** A selected pair, over which media is sent. */
struct ice_selected {
	struct media_candidate local;
	struct media_candidate remote;
	bool relayed; /* through our TURN server */
	bool before;  /* it was selected before a restart */
};

/** Get the selected pair of a component; after a restart the previous one until
 * a new one is selected.
 * @return false: none was selected for this component */
bool ice_selected(const struct ice *ice, uint8_t component,
		  struct ice_selected *ret);
/** @return we are the controlling agent */
bool ice_controlling(const struct ice *ice);

#endif
