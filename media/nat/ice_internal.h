/**
 * Inside of the ICE agent. Docs: docs/internals/nat.md
 *
 * ice.c        the agent: its beginning, what is due, what is selected
 * ice_check.c  candidates, pairs, and checks: sent, answered, their answers
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

/* A request of ours that may be under way. */
struct check {
	bool open;
	bool use_candidate;
	bool controlling; /* as it was sent */
	uint8_t id[STUN_TRANSACTION_BYTES];
	unsigned sent;
	int64_t next_ns; /* when it is repeated, or has failed */
};

struct pair {
	enum pair_state state;
	bool relayed; /* our base */
	bool triggered;
	bool nominated;       /* settled by both */
	bool nominate_wanted; /* by the controlling peer, once it is valid */
	uint8_t component;
	size_t local;  /* of locals: what the peer sees, once valid */
	size_t remote; /* of remotes */
	uint64_t priority;
	int64_t valid_ns;
	struct check check;
};

/* What a component goes over. */
struct component {
	struct pair *selected;
	struct pair *nominating;
	struct check consent;
	int64_t consent_ns; /* of the last answer */
	/* before the restart: until another is selected (RFC 8445 9) */
	bool has_before;
	struct ice_selected before;
};

/* A check that came before we knew the peer's SDP. */
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
	struct media_candidate locals[ICE_LOCALS_MAX]; /* peer reflexive too */
	size_t local_count;
	struct media_candidate remotes[ICE_REMOTES_MAX];
	size_t remote_count;
	struct pair pairs[ICE_PAIRS_MAX];
	size_t pair_count;
	struct component parts[MEDIA_ICE_COMPONENTS];
	struct early early[ICE_EARLY_MAX];
	size_t early_count;
	int64_t now_ns;
	int64_t pace_ns; /* no check before */
	int64_t until_ns;
};

#define NONE SIZE_MAX

struct component *ice_part(struct ice *ice, uint8_t component);
void ice_select(struct ice *ice, struct pair *pair);
void ice_fail(struct ice *ice, const char *reason);

/* ---- ice_check.c: candidates and pairs ---- */

uint32_t ice_priority(enum media_candidate_type type, uint8_t component);
/** @return its place; NONE: there is none */
size_t ice_remote_find(const struct ice *ice, uint8_t component,
		       const struct media_addr *addr);
size_t ice_local_find(const struct ice *ice, uint8_t component,
		      const struct media_addr *addr);
/** Add what a check told. @return its place; NONE: no room */
size_t ice_remote_learn(struct ice *ice, const struct ice_path *from,
			uint32_t priority);
size_t ice_local_learn(struct ice *ice, const struct pair *pair,
		       const struct media_addr *addr);
/** The pair of that base and remote candidate, made where there is none.
 * @return NULL: no room, or no base of ours */
struct pair *ice_pair(struct ice *ice, bool relayed, size_t remote);

/* ---- ice_check.c ---- */

/** Send a check of a pair, anew. */
void ice_check_begin(struct ice *ice, struct pair *pair, bool use_candidate);
/** Send it again, or let it fail. */
void ice_check_repeat(struct ice *ice, struct pair *pair);
/** Ask the peer whether it still wants to hear us. */
void ice_consent_send(struct ice *ice, struct component *part);
/** A check of the peer, known or kept: RFC 8445 section 7.3.1. */
void ice_checked(struct ice *ice, const struct early *check);

#endif
