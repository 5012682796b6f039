#include "media/nat/ice_internal.h"

#include "media/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UFRAG_CHARS 8  /* RFC 8445 section 5.3: at least 24 bits */
#define PWD_CHARS   24 /* and at least 128 bits */

const char *media_candidate_type_name(enum media_candidate_type type)
{
	static const char *const names[MEDIA_CANDIDATE_TYPES] = {
		[MEDIA_CANDIDATE_HOST] = "host",
		[MEDIA_CANDIDATE_SRFLX] = "srflx",
		[MEDIA_CANDIDATE_PRFLX] = "prflx",
		[MEDIA_CANDIDATE_RELAY] = "relay",
	};

	return type < MEDIA_CANDIDATE_TYPES ? names[type] : "";
}

/* 6 bits per character */
static void secret_make(char *dst, size_t chars)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t raw[PWD_CHARS];

	random_bytes(raw, chars);
	for (size_t i = 0; i < chars; i++)
		dst[i] = alphabet[raw[i] & 63];
	dst[chars] = '\0';
}

int ice_new(struct ice **ret, const struct ice_params *params)
{
	struct ice *ice = calloc(1, sizeof(*ice));

	if (!ice)
		return -ENOMEM;
	ice->params = *params;
	ice->reason = "";
	ice->local.lite = params->lite;
	secret_make(ice->local.ufrag, UFRAG_CHARS);
	secret_make(ice->local.pwd, PWD_CHARS);
	random_bytes(&ice->tie_breaker, sizeof(ice->tie_breaker));
	*ret = ice;
	return 0;
}

struct ice *ice_free(struct ice *ice)
{
	if (ice)
		explicit_bzero(ice, sizeof(*ice));
	free(ice);
	return NULL;
}

int ice_candidate_add(struct ice *ice, const struct media_candidate *c)
{
	struct media_ice *local = &ice->local;
	struct media_candidate own = *c;

	if (ice_local_find(ice, c->component, &c->addr) != NONE)
		return 0;
	if (local->candidate_count == MEDIA_CANDIDATES_MAX)
		return -ENOSPC;
	own.priority = ice_priority(c->type, c->component);
	local->candidates[local->candidate_count++] = own;
	ice->locals[ice->local_count++] = own;
	return 0;
}

const struct media_ice *ice_local(const struct ice *ice)
{
	return &ice->local;
}

enum ice_state ice_state(const struct ice *ice)
{
	return ice->state;
}

const char *ice_reason(const struct ice *ice)
{
	return ice->reason;
}

unsigned ice_version(const struct ice *ice)
{
	return ice->version;
}

bool ice_controlling(const struct ice *ice)
{
	return ice->controlling;
}

/* ---- selected pairs ---- */

struct component *ice_part(struct ice *ice, uint8_t component)
{
	return &ice->parts[component - 1];
}

void ice_select(struct ice *ice, struct pair *pair)
{
	struct component *part = ice_part(ice, pair->component);
	bool all = true;

	pair->nominated = true;
	/* of several pairs nominated by the peer use the best (RFC 8445 section
	 * 8.1.1) */
	if (part->selected == pair ||
	    (part->selected && part->selected->nominated &&
	     part->selected->priority > pair->priority))
		return;
	part->selected = pair;
	part->consent = (struct check){.next_ns = ice->now_ns + ICE_CONSENT_NS};
	part->consent_ns = ice->now_ns;
	for (unsigned i = 0; i < ice->components; i++)
		all &= ice->parts[i].selected != NULL;
	if (all)
		ice->state = ICE_CONNECTED;
	ice->version++;
}

/* ICE has failed. `reason` is static. */
static void ice_fail(struct ice *ice, const char *reason)
{
	ice->state = ICE_FAILED;
	ice->reason = reason;
	ice->version++;
}

bool ice_selected(const struct ice *ice, uint8_t component,
		  struct ice_selected *ret)
{
	const struct component *part;
	const struct pair *pair;

	if (component < 1 || component > MEDIA_ICE_COMPONENTS)
		return false;
	part = &ice->parts[component - 1];
	pair = part->selected;
	if (!pair && part->has_before)
		*ret = part->before;
	if (!pair)
		return part->has_before;
	ret->local = ice->locals[pair->local];
	ret->remote = ice->remotes[pair->remote];
	ret->relayed = pair->relayed;
	ret->before = false;
	return true;
}

/* ---- start and restart ---- */

static bool same_peer(const struct media_ice *a, const struct media_ice *b)
{
	return strcmp(a->ufrag, b->ufrag) == 0 && strcmp(a->pwd, b->pwd) == 0;
}

static void forget(struct ice *ice)
{
	for (uint8_t k = 0; k < MEDIA_ICE_COMPONENTS; k++) {
		struct component none = {0};

		none.has_before =
			ice_selected(ice, (uint8_t)(k + 1), &none.before);
		none.before.before = true;
		ice->parts[k] = none;
	}
	ice->pair_count = 0;
	ice->remote_count = 0;
	ice->reason = "";
}

/* RFC 8445 section 6.1.2. All pairs begin Waiting: with one data stream,
 * freezing would only change their order. */
static void pairs_form(struct ice *ice)
{
	for (size_t i = 0; i < ice->remote_count; i++) {
		(void)ice_pair(ice, false, i);
		(void)ice_pair(ice, true, i);
	}
}

/* Both agents are lite, so none checks: use the peer's candidates as they are
 * (RFC 8445 section 8.2.2). */
static void both_lite(struct ice *ice)
{
	for (size_t i = 0; i < ice->remote_count; i++) {
		struct pair *pair = ice_pair(ice, false, i);

		if (pair && !ice_part(ice, pair->component)->selected) {
			pair->state = PAIR_VALID;
			ice_select(ice, pair);
		}
	}
}

/* Start the checks of what has no pair yet. */
static void checks_start(struct ice *ice)
{
	if (!ice->local.lite)
		pairs_form(ice);
	else if (ice->peer.lite)
		both_lite(ice);
	for (size_t i = 0; i < ice->early_count; i++)
		ice_checked(ice, &ice->early[i]);
	ice->early_count = 0;
}

/* RTCP's component begins anew, or is not used any more. */
static void rtcp_reset(struct ice *ice, enum pair_state state)
{
	memset(&ice->parts[1], 0, sizeof(ice->parts[1]));
	/* RTP's pairs stay where they are */
	for (size_t i = 0; i < ice->pair_count; i++) {
		struct pair *p = &ice->pairs[i];

		if (p->component == 1)
			continue;
		p->state = state;
		p->triggered = false;
		p->nominated = false;
		p->nominate_wanted = false;
		p->check.open = false;
	}
}

/* The same peer, with RTCP on a port of its own or no longer: RTP's component
 * goes on. */
static void components_change(struct ice *ice, const struct media_ice *peer,
			      unsigned components, int64_t now_ns)
{
	if (ice->components == components || ice->state == ICE_FAILED)
		return;
	ice->now_ns = now_ns;
	ice->components = components;
	ice->version++;
	if (components == 1) {
		rtcp_reset(ice, PAIR_FAILED);
		if (ice->parts[0].selected)
			ice->state = ICE_CONNECTED;
		return;
	}
	rtcp_reset(ice, PAIR_WAITING);
	ice->state = ICE_CHECKING;
	ice->until_ns = now_ns + ICE_PATIENCE_NS;
	for (size_t i = 0; i < peer->candidate_count; i++) {
		const struct media_candidate *c = &peer->candidates[i];

		if (c->component == 2 && ice->remote_count < ICE_REMOTES_MAX &&
		    ice_remote_find(ice, 2, &c->addr) == NONE)
			ice->remotes[ice->remote_count++] = *c;
	}
	checks_start(ice);
}

int ice_start(struct ice *ice, const struct media_ice *peer,
	      unsigned components, bool controlling, int64_t now_ns)
{
	if (!peer->ufrag[0] || !peer->pwd[0] || components < 1 ||
	    components > MEDIA_ICE_COMPONENTS)
		return -EINVAL;
	if (ice->started && same_peer(&ice->peer, peer)) {
		components_change(ice, peer, components, now_ns);
		return 0;
	}
	if (ice->started) {
		/* they came with the peer's former user name */
		ice->early_count = 0;
	} else {
		/* RFC 8445 section 6.1.1: a lite agent is controlled by a full
		 * one */
		ice->controlling = ice->local.lite == peer->lite ? controlling
								 : peer->lite;
	}
	forget(ice);
	ice->started = true;
	ice->now_ns = now_ns;
	ice->peer = *peer;
	ice->components = components;
	ice->state = ICE_CHECKING;
	ice->version++;
	ice->until_ns = now_ns + ICE_PATIENCE_NS;
	ice->pace_ns = now_ns;
	for (size_t i = 0; i < peer->candidate_count; i++) {
		if (peer->candidates[i].component <= components)
			ice->remotes[ice->remote_count++] = peer->candidates[i];
	}
	checks_start(ice);
	return 0;
}

/* ---- timers ---- */

/* Triggered checks first, then by priority (RFC 8445 section 6.1.4.2). */
static struct pair *pair_next(struct ice *ice)
{
	struct pair *best = NULL;

	for (size_t i = 0; i < ice->pair_count; i++) {
		struct pair *p = &ice->pairs[i];

		if (!p->triggered && p->state != PAIR_WAITING)
			continue;
		/* with a selected pair no further ordinary checks are needed */
		if (!p->triggered && ice_part(ice, p->component)->selected)
			continue;
		if (!best || p->triggered > best->triggered ||
		    (p->triggered == best->triggered &&
		     p->priority > best->priority))
			best = p;
	}
	return best;
}

static void checks_repeat(struct ice *ice)
{
	for (size_t i = 0; i < ice->pair_count; i++) {
		struct pair *p = &ice->pairs[i];

		if (p->check.open && ice->now_ns >= p->check.next_ns)
			ice_check_repeat(ice, p);
	}
}

/* @return the best valid pair; NULL: there is none, or a better one may still
 *         become valid within ICE_NOMINATE_NS (RFC 8445 section 8.1.1) */
static struct pair *pair_to_nominate(struct ice *ice, uint8_t component)
{
	struct pair *best = NULL;
	int64_t first_ns = INT64_MAX;
	bool better = false;

	for (size_t i = 0; i < ice->pair_count; i++) {
		struct pair *p = &ice->pairs[i];

		if (p->component != component || p->state != PAIR_VALID)
			continue;
		if (p->valid_ns < first_ns)
			first_ns = p->valid_ns;
		if (!best || p->priority > best->priority)
			best = p;
	}
	for (size_t i = 0; best && i < ice->pair_count; i++) {
		const struct pair *p = &ice->pairs[i];

		better |=
			p->component == component &&
			p->priority > best->priority &&
			(p->state == PAIR_WAITING || p->state == PAIR_CHECKING);
	}
	return better && ice->now_ns - first_ns < ICE_NOMINATE_NS ? NULL : best;
}

static void nominate(struct ice *ice)
{
	for (unsigned i = 0; i < ice->components; i++) {
		struct component *part = &ice->parts[i];
		struct pair *pair;

		if (part->selected || part->nominating)
			continue;
		pair = pair_to_nominate(ice, (uint8_t)(i + 1));
		if (!pair || pair->check.open)
			continue;
		part->nominating = pair;
		ice_check_begin(ice, pair, true);
	}
}

static void consents_review(struct ice *ice)
{
	for (unsigned i = 0; i < ice->components; i++) {
		struct component *part = &ice->parts[i];

		if (!part->selected)
			continue;
		if (ice->now_ns - part->consent_ns > ICE_CONSENT_LOST_NS) {
			ice_fail(ice, "the peer does not answer the consent "
				      "checks of ICE any more");
			return;
		}
		if (ice->now_ns >= part->consent.next_ns)
			ice_consent_send(ice, part);
	}
}

void ice_tick(struct ice *ice, int64_t now_ns)
{
	struct pair *pair;

	ice->now_ns = now_ns;
	if (ice->state != ICE_CHECKING && ice->state != ICE_CONNECTED)
		return;
	if (ice->state == ICE_CHECKING && now_ns >= ice->until_ns) {
		ice_fail(ice, ice->pair_count == 0
				      ? "ICE found no candidate pair to check"
				      : "ICE found no candidate pair that "
					"works both ways");
		return;
	}
	if (ice->local.lite)
		return;
	checks_repeat(ice);
	if (now_ns >= ice->pace_ns) {
		pair = pair_next(ice);
		if (pair) {
			pair->triggered = false;
			ice_check_begin(ice, pair, false);
			ice->pace_ns = now_ns + ICE_PACE_NS;
		}
	}
	if (ice->controlling)
		nominate(ice);
	consents_review(ice);
}
