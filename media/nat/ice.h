/**
 * ICE for one audio stream (RFC 8445, consent RFC 7675) as a machine without a
 * socket: datagrams and times in, datagrams out, the selected pairs at the
 * end. Full, or lite.
 *
 * libre 1.1.0 has an agent too (re_ice.h). It cannot be used here: it reads
 * its sockets itself, where RTP has threads of its own; it is RFC 5245 without
 * lite, forms no pair with an address it learns from a check (a peer behind an
 * address-dependent NAT), and does no consent. Its STUN codec is used.
 *
 * Thread: one at a time; nothing blocks.
 */
#ifndef OFFHOOK_MEDIA_NAT_ICE_H
#define OFFHOOK_MEDIA_NAT_ICE_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pairs checked; the lowest priorities are left out (RFC 8445 6.1.2.5). */
#define ICE_PAIRS_MAX 60
/* Of the peer: those of its SDP, and peer reflexive ones */
#define ICE_REMOTES_MAX 20
/* Of ours: those of our SDP, and peer reflexive ones */
#define ICE_LOCALS_MAX 20
/* Checks answered before the peer's SDP came; more are answered and forgotten:
 * the peer repeats them. */
#define ICE_EARLY_MAX 8

#define ICE_PACE_NS         INT64_C(50000000)  /* Ta, RFC 8445 14.2 */
#define ICE_RTO_NS          INT64_C(500000000) /* RFC 8445 14.3 */
#define ICE_SENDS_MAX       5                  /* a check fails after 15.5 s */
#define ICE_NOMINATE_NS     INT64_C(300000000) /* wait for a better pair */
#define ICE_PATIENCE_NS     INT64_C(25000000000)
#define ICE_CONSENT_NS      INT64_C(5000000000)  /* RFC 7675 5.1 */
#define ICE_CONSENT_LOST_NS INT64_C(30000000000) /* RFC 7675 5.1 */

struct ice;

/** A path that a datagram takes. */
struct ice_path {
	uint8_t component;      /* 1: RTP, 2: RTCP */
	bool relayed;           /* through our TURN server */
	struct media_addr peer; /* from or to */
};

/** A datagram to send; nothing is said about what becomes of it. */
typedef void(ice_send_h)(const struct ice_path *path, const uint8_t *data,
			 size_t bytes, void *arg);

struct ice_params {
	bool lite;
	ice_send_h *send;
	void *arg;
};

/** @return 0; -ENOMEM */
int ice_new(struct ice **ret, const struct ice_params *params);
struct ice *ice_free(struct ice *ice);

/**
 * Add a candidate of ours, before ice_local() goes into SDP. Its priority is
 * set (RFC 8445 5.1.2.1); a repeated address is left out (5.1.3).
 * @return 0; -ENOSPC
 */
int ice_candidate_add(struct ice *ice, const struct media_candidate *c);

/** What our SDP says; as long as the agent. */
const struct media_ice *ice_local(const struct ice *ice);

/**
 * Offer and answer settled: begin, or go on if the peer's user name and
 * password are those of before; others begin anew (an ICE restart), while media
 * goes on over the pairs of before.
 * @param components   1: RTCP has no address of its own; 2
 * @param controlling  at the first call; later roles stay
 * @return 0; -EINVAL
 */
int ice_start(struct ice *ice, const struct media_ice *peer,
	      unsigned components, bool controlling, int64_t now_ns);

/** A STUN message that came. What is none for us changes nothing. */
void ice_input(struct ice *ice, const struct ice_path *from,
	       const uint8_t *data, size_t bytes, int64_t now_ns);

/** What is due; to be called every 20 ms or so. */
void ice_tick(struct ice *ice, int64_t now_ns);

enum ice_state {
	ICE_IDLE,      /* not started */
	ICE_CHECKING,  /* no pair for some component yet */
	ICE_CONNECTED, /* a pair is selected for each component */
	ICE_FAILED,    /* for good, unless started anew */
};

enum ice_state ice_state(const struct ice *ice);
/** Why it failed; as long as the agent. */
const char *ice_reason(const struct ice *ice);
/** Grows when state or selected pairs change. */
unsigned ice_version(const struct ice *ice);

/** A pair that media goes over. */
struct ice_selected {
	struct media_candidate local;
	struct media_candidate remote;
	bool relayed; /* by our TURN server */
	bool before;  /* of before a restart */
};

/** The pair of a component; after a restart the one of before until another is
 * selected. @return false: none was selected for this component */
bool ice_selected(const struct ice *ice, uint8_t component,
		  struct ice_selected *ret);
bool ice_controlling(const struct ice *ice);

#endif
