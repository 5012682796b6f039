/**
 * Inside of the ICE agent. Docs: docs/internals/nat.md
 *
 * ice.c        the agent: start, timers, selected pairs
 * ice_check.c  candidates, pairs, checks and their responses
 */
#ifndef OFFHOOK_MEDIA_NAT_ICE_INTERNAL_H
#define OFFHOOK_MEDIA_NAT_ICE_INTERNAL_H

#include "media/nat/ice.h"
#include "media/nat/stun_message.h"

enum pair_state {
	PAIR_WAITING,
	PAIR_CHECKING,
	PAIR_VALID,
	PAIR_FAILED,
};

/* A request of ours. */
struct check {
	bool open;
	bool use_candidate;
	bool controlling; /* our role when it was sent */
	uint8_t id[STUN_TRANSACTION_BYTES];
	unsigned sent;
	int64_t next_ns; /* when it is retransmitted, or fails */
};

struct pair {
	enum pair_state state;
	bool relayed; /* its base is our relayed candidate */
	bool triggered;
	bool nominated;       /* by the controlling agent, and confirmed */
	bool nominate_wanted; /* nominated by the controlling peer; select it
			       * once it is valid */
	uint8_t component;
	size_t local;  /* index in locals: its base; once valid the candidate
			* that the peer sees */
	size_t remote; /* index in remotes */
	uint64_t priority;
	int64_t valid_ns;
	struct check check;
};

/* The state of a component. */
struct component {
	struct pair *selected;
	struct pair *nominating;
	struct check consent;
	int64_t consent_ns; /* time of the last consent response */
	/* selected before the restart, used until a new pair is selected (RFC
	 * 8445 section 9) */
	bool has_before;
	struct ice_selected before;
};

/* A check that arrived before the peer's SDP, or before the one that gives its
 * component. */
struct early {
	struct ice_path from;
	uint32_t priority;
	bool use_candidate;
};

struct ice {
	struct ice_params params;
	enum ice_state state;
	const char *reason;
	unsigned version;
	bool controlling;
	bool started;
	uint64_t tie_breaker;
	unsigned components;
	struct media_ice local; /* as in our SDP */
	struct media_ice peer;
	struct media_candidate locals[ICE_LOCALS_MAX]; /* with peer reflexive
							* ones */
	size_t local_count;
	struct media_candidate remotes[ICE_REMOTES_MAX];
	size_t remote_count;
	struct pair pairs[ICE_PAIRS_MAX];
	size_t pair_count;
	struct component parts[MEDIA_ICE_COMPONENTS];
	struct early early[ICE_EARLY_MAX];
	size_t early_count;
	int64_t now_ns;
	int64_t pace_ns; /* no new check before this time */
	int64_t until_ns;
};

#define NONE SIZE_MAX

/** @param component  1: RTP, 2: RTCP */
struct component *ice_part(struct ice *ice, uint8_t component);
/** A pair is nominated: select it, unless a better nominated pair is
 * selected. */
void ice_select(struct ice *ice, struct pair *pair);

/* ---- ice_check.c: candidates and pairs ---- */

/** Priority of a candidate of ours (RFC 8445 section 5.1.2.1). */
uint32_t ice_priority(enum media_candidate_type type, uint8_t component);
/** @return index of our candidate; NONE: not found */
size_t ice_local_find(const struct ice *ice, uint8_t component,
		      const struct media_addr *addr);
/** @return index of the peer's candidate; NONE: not found */
size_t ice_remote_find(const struct ice *ice, uint8_t component,
		       const struct media_addr *addr);
/** Find the pair of this base and remote candidate, or create it.
 * @return NULL: we have no such base */
struct pair *ice_pair(struct ice *ice, bool relayed, size_t remote);

/* ---- ice_check.c ---- */

/** Send a new check of a pair. */
void ice_check_begin(struct ice *ice, struct pair *pair, bool use_candidate);
/** Retransmit a check, or let it fail. */
void ice_check_repeat(struct ice *ice, struct pair *pair);
/** Send a consent check (RFC 7675). */
void ice_consent_send(struct ice *ice, struct component *part);
/** Process a valid check of the peer, just received or kept: RFC 8445 section
 * 7.3.1. */
void ice_checked(struct ice *ice, const struct early *check);

#endif
