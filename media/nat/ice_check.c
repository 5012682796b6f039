/* Candidate pairs and their connectivity checks: RFC 8445 sections 6.1.2 and
 * 7. */
#include "media/nat/ice_internal.h"

#include "base/str.h"
#include "media/socket.h"

#include <string.h>

#define USERNAME_BYTES (MEDIA_ICE_UFRAG_BYTES * 2)
/* RFC 7675 section 5.1: 5 s, times 0.8 to 1.2 */
#define CONSENT_SPREAD_NS (ICE_CONSENT_NS / 5)

/* ---- candidates and pairs ---- */

/* RFC 8445 section 5.1.2.1; one address per type: local preference 65535 */
uint32_t ice_priority(enum media_candidate_type type, uint8_t component)
{
	static const uint32_t preferences[MEDIA_CANDIDATE_TYPES] = {
		[MEDIA_CANDIDATE_HOST] = 126,
		[MEDIA_CANDIDATE_PRFLX] = 110,
		[MEDIA_CANDIDATE_SRFLX] = 100,
		[MEDIA_CANDIDATE_RELAY] = 0,
	};

	return preferences[type] << 24 | UINT32_C(65535) << 8 |
	       (256u - component);
}

static size_t candidate_find(const struct media_candidate *list, size_t count,
			     uint8_t component, const struct media_addr *addr)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].component == component &&
		    media_addr_equal(&list[i].addr, addr))
			return i;
	}
	return NONE;
}

size_t ice_remote_find(const struct ice *ice, uint8_t component,
		       const struct media_addr *addr)
{
	return candidate_find(ice->remotes, ice->remote_count, component, addr);
}

size_t ice_local_find(const struct ice *ice, uint8_t component,
		      const struct media_addr *addr)
{
	return candidate_find(ice->locals, ice->local_count, component, addr);
}

/* Add a peer reflexive candidate learned from a check.
 * @return its index; NONE: no room */
static size_t ice_remote_learn(struct ice *ice, const struct ice_path *from,
			       uint32_t priority)
{
	if (ice->remote_count == ICE_REMOTES_MAX)
		return NONE;
	ice->remotes[ice->remote_count] = (struct media_candidate){
		.type = MEDIA_CANDIDATE_PRFLX,
		.component = from->component,
		.priority = priority,
		.addr = from->peer,
	};
	return ice->remote_count++;
}

/* Add a peer reflexive candidate of ours, learned from a response.
 * @return its index; NONE: no room */
static size_t ice_local_learn(struct ice *ice, const struct pair *pair,
			      const struct media_addr *addr)
{
	if (ice->local_count == ICE_LOCALS_MAX)
		return NONE;
	ice->locals[ice->local_count] = (struct media_candidate){
		.type = MEDIA_CANDIDATE_PRFLX,
		.component = pair->component,
		.priority =
			ice_priority(MEDIA_CANDIDATE_PRFLX, pair->component),
		.addr = *addr,
		.related = ice->locals[pair->local].addr,
	};
	return ice->local_count++;
}

/* RFC 8445 section 6.1.2.3 */
static uint64_t pair_priority(const struct ice *ice, uint32_t local,
			      uint32_t remote)
{
	uint64_t g = ice->controlling ? local : remote;
	uint64_t d = ice->controlling ? remote : local;

	return (g < d ? g : d) * (UINT64_C(1) << 32) + 2 * (g > d ? g : d) +
	       (g > d ? 1 : 0);
}

/* The base of a pair: the host candidate, or the relayed one. */
static size_t base_find(const struct ice *ice, uint8_t component, bool relayed)
{
	enum media_candidate_type type =
		relayed ? MEDIA_CANDIDATE_RELAY : MEDIA_CANDIDATE_HOST;

	for (size_t i = 0; i < ice->local_count; i++) {
		if (ice->locals[i].component == component &&
		    ice->locals[i].type == type)
			return i;
	}
	return NONE;
}

struct pair *ice_pair(struct ice *ice, bool relayed, size_t remote)
{
	const struct media_candidate *r = &ice->remotes[remote];
	size_t base = base_find(ice, r->component, relayed);
	struct pair *pair;

	for (size_t i = 0; i < ice->pair_count; i++) {
		if (ice->pairs[i].relayed == relayed &&
		    ice->pairs[i].remote == remote)
			return &ice->pairs[i];
	}
	if (base == NONE ||
	    ice->locals[base].addr.ss.ss_family != r->addr.ss.ss_family)
		return NULL;
	pair = &ice->pairs[ice->pair_count++];
	*pair = (struct pair){
		.relayed = relayed,
		.component = r->component,
		.local = base,
		.remote = remote,
		.priority = pair_priority(ice, ice->locals[base].priority,
					  r->priority),
	};
	return pair;
}

/* ---- checks ---- */

static struct ice_path path_of(const struct ice *ice, const struct pair *pair)
{
	return (struct ice_path){
		.component = pair->component,
		.relayed = pair->relayed,
		.peer = ice->remotes[pair->remote].addr,
	};
}

/* ---- our checks ---- */

/* A retransmission is the same request: the transaction ID is the check's. */
static void request_send(struct ice *ice, const struct pair *pair,
			 const struct check *check)
{
	char username[USERNAME_BYTES];
	uint32_t priority =
		ice_priority(MEDIA_CANDIDATE_PRFLX, pair->component);
	struct stun_draft draft = {
		.method = STUN_MESSAGE_BINDING,
		.class = STUN_MESSAGE_REQUEST,
		.id = check->id,
		.key = ice->peer.pwd,
		.key_bytes = strlen(ice->peer.pwd),
		.fingerprint = true,
		.username = username,
		.priority = &priority,
		.controlling = check->controlling ? &ice->tie_breaker : NULL,
		.controlled = check->controlling ? NULL : &ice->tie_breaker,
		.use_candidate = check->use_candidate,
	};
	struct ice_path path = path_of(ice, pair);
	uint8_t data[STUN_MESSAGE_BYTES];
	size_t bytes;

	(void)str_print(username, sizeof(username), "%s:%s", ice->peer.ufrag,
			ice->local.ufrag);
	if (stun_message_write(data, &bytes, &draft) == 0)
		ice->params.send(&path, data, bytes, ice->params.arg);
}

static void check_open(struct ice *ice, struct check *check, bool use_candidate)
{
	*check = (struct check){
		.open = true,
		.use_candidate = use_candidate,
		.controlling = ice->controlling,
		.sent = 1,
		.next_ns = ice->now_ns + ICE_RTO_NS,
	};
	random_bytes(check->id, sizeof(check->id));
}

void ice_check_begin(struct ice *ice, struct pair *pair, bool use_candidate)
{
	if (pair->state != PAIR_VALID)
		pair->state = PAIR_CHECKING;
	check_open(ice, &pair->check, use_candidate);
	request_send(ice, pair, &pair->check);
}

static void pair_fail(struct ice *ice, struct pair *pair)
{
	struct component *part = ice_part(ice, pair->component);

	pair->check.open = false;
	pair->state = PAIR_FAILED;
	if (part->nominating == pair)
		part->nominating = NULL;
}

void ice_check_repeat(struct ice *ice, struct pair *pair)
{
	struct check *check = &pair->check;

	if (check->sent == ICE_SENDS_MAX) {
		pair_fail(ice, pair);
		return;
	}
	/* RFC 8489 section 6.2.1: the interval is doubled each time */
	check->next_ns = ice->now_ns + (ICE_RTO_NS << check->sent);
	check->sent++;
	request_send(ice, pair, check);
}

void ice_consent_send(struct ice *ice, struct component *part)
{
	uint32_t random;

	check_open(ice, &part->consent, false);
	random_bytes(&random, sizeof(random));
	part->consent.next_ns = ice->now_ns + ICE_CONSENT_NS -
				CONSENT_SPREAD_NS +
				2 * CONSENT_SPREAD_NS / 1000 * (random % 1000);
	request_send(ice, part->selected, &part->consent);
}

/* ---- responses to our checks ---- */

static bool is_of(const struct check *check, const struct stun_message *m)
{
	return check->open && memcmp(check->id, m->id, sizeof(m->id)) == 0;
}

/* RFC 8445 section 7.2.5.2.1: the addresses of request and response are
 * symmetric */
static bool came_back(const struct ice *ice, const struct pair *pair,
		      const struct ice_path *from)
{
	return pair->component == from->component &&
	       pair->relayed == from->relayed &&
	       media_addr_equal(&ice->remotes[pair->remote].addr, &from->peer);
}

/* RFC 8445 section 7.2.5.1: switch the role, unless it has changed since the
 * request, and check again. */
static void role_conflict(struct ice *ice, struct pair *pair)
{
	struct component *part = ice_part(ice, pair->component);

	if (pair->check.controlling == ice->controlling)
		ice->controlling = !ice->controlling;
	if (part->nominating == pair)
		part->nominating = NULL;
	pair->check.open = false;
	pair->triggered = true;
}

static void pair_succeed(struct ice *ice, struct pair *pair,
			 const struct media_addr *mapped)
{
	bool use_candidate = pair->check.use_candidate;
	size_t local = ice_local_find(ice, pair->component, mapped);

	pair->check.open = false;
	if (local == NONE)
		local = ice_local_learn(ice, pair, mapped);
	if (local != NONE)
		pair->local = local;
	if (pair->state != PAIR_VALID) {
		pair->state = PAIR_VALID;
		pair->valid_ns = ice->now_ns;
	}
	if (use_candidate ? ice->controlling
			  : pair->nominate_wanted && !ice->controlling)
		ice_select(ice, pair);
}

static void answer_take(struct ice *ice, const struct ice_path *from,
			const struct stun_message *m)
{
	for (unsigned i = 0; i < ice->components; i++) {
		struct component *part = &ice->parts[i];

		if (part->selected && is_of(&part->consent, m) &&
		    m->class == STUN_MESSAGE_SUCCESS &&
		    came_back(ice, part->selected, from)) {
			part->consent.open = false;
			part->consent_ns = ice->now_ns;
			return;
		}
	}
	for (size_t i = 0; i < ice->pair_count; i++) {
		struct pair *pair = &ice->pairs[i];

		if (!is_of(&pair->check, m))
			continue;
		if (m->class == STUN_MESSAGE_ERROR && m->error == 487)
			role_conflict(ice, pair);
		else if (m->class == STUN_MESSAGE_ERROR ||
			 !came_back(ice, pair, from) || m->mapped.len == 0)
			pair_fail(ice, pair);
		else
			pair_succeed(ice, pair, &m->mapped);
		return;
	}
}

/* ---- the peer's checks ---- */

static void answer_send(struct ice *ice, const struct ice_path *to,
			const struct stun_message *request, unsigned error,
			const char *reason)
{
	struct stun_draft draft = {
		.method = STUN_MESSAGE_BINDING,
		.class = error ? STUN_MESSAGE_ERROR : STUN_MESSAGE_SUCCESS,
		.id = request->id,
		.key = ice->local.pwd,
		.key_bytes = strlen(ice->local.pwd),
		.fingerprint = true,
		.mapped = error ? NULL : &to->peer,
		.error = error,
		.reason = reason,
	};
	uint8_t data[STUN_MESSAGE_BYTES];
	size_t bytes;

	if (error == 400 || error == 401)
		draft.key = NULL; /* RFC 8489 section 9.1.3: no
				   * MESSAGE-INTEGRITY */
	if (stun_message_write(data, &bytes, &draft) == 0)
		ice->params.send(to, data, bytes, ice->params.arg);
}

/* "ours:theirs" (RFC 8445 section 7.3) */
static bool username_fits(const struct ice *ice, const char *username)
{
	size_t ours = strlen(ice->local.ufrag);

	return strncmp(username, ice->local.ufrag, ours) == 0 &&
	       username[ours] == ':' &&
	       (!ice->started ||
		strcmp(username + ours + 1, ice->peer.ufrag) == 0);
}

/* RFC 8445 section 7.3.1.1.
 * @return false: the peer shall switch its role (487) */
static bool role_agree(struct ice *ice, const struct stun_message *m)
{
	bool larger = ice->tie_breaker >= m->tie_breaker;

	/* a lite agent cannot be controlling: it sends no checks, so it has
	 * nothing to nominate (rtpengine 10.5 asks for it when we offer) */
	if (ice->local.lite)
		return !m->controlled;
	if (!ice->started)
		return true;
	if (ice->controlling && m->controlling) {
		if (larger)
			return false;
		ice->controlling = false;
	} else if (!ice->controlling && m->controlled) {
		if (!larger)
			return false;
		ice->controlling = true;
	}
	return true;
}

void ice_checked(struct ice *ice, const struct early *check)
{
	const struct ice_path *from = &check->from;
	size_t remote = ice_remote_find(ice, from->component, &from->peer);
	struct pair *pair;

	if (from->component > ice->components)
		return;
	if (remote == NONE)
		remote = ice_remote_learn(ice, from, check->priority);
	pair = remote == NONE ? NULL : ice_pair(ice, from->relayed, remote);
	if (!pair)
		return;
	if (ice->local.lite) { /* RFC 8445 section 7.3.2 */
		pair->state = PAIR_VALID;
		if (check->use_candidate)
			ice_select(ice, pair);
		return;
	}
	if (check->use_candidate && !ice->controlling) {
		pair->nominate_wanted = true;
		if (pair->state == PAIR_VALID) {
			ice_select(ice, pair);
			return;
		}
	}
	/* Triggered check, RFC 8445 section 7.3.1.4. A check in progress is
	 * retransmitted instead, as its response may still arrive. One that
	 * was sent nearly as often as it may be is replaced by a new one */
	if (pair->state == PAIR_VALID)
		return;
	if (pair->check.open && pair->check.sent < ICE_SENDS_MAX - 1)
		pair->check.next_ns = ice->now_ns;
	else
		pair->triggered = true;
	if (pair->state == PAIR_FAILED)
		pair->state = PAIR_WAITING;
}

static void early_keep(struct ice *ice, const struct early *check)
{
	for (size_t i = 0; i < ice->early_count; i++) {
		struct early *e = &ice->early[i];

		if (e->from.component == check->from.component &&
		    e->from.relayed == check->from.relayed &&
		    media_addr_equal(&e->from.peer, &check->from.peer)) {
			e->use_candidate |= check->use_candidate;
			return;
		}
	}
	if (ice->early_count < ICE_EARLY_MAX)
		ice->early[ice->early_count++] = *check;
}

static void request_take(struct ice *ice, const struct ice_path *from,
			 const struct stun_message *m)
{
	const struct early check = {
		.from = *from,
		.priority = m->priority,
		.use_candidate = m->use_candidate,
	};

	if (!m->username || !m->has_priority) {
		answer_send(ice, from, m, 400, "Bad Request");
		return;
	}
	if (!username_fits(ice, m->username) ||
	    !stun_message_verify(m, ice->local.pwd, strlen(ice->local.pwd))) {
		answer_send(ice, from, m, 401, "Unauthenticated");
		return;
	}
	if (m->unknown) {
		answer_send(ice, from, m, 420, "Unknown Attribute");
		return;
	}
	if (!role_agree(ice, m)) {
		answer_send(ice, from, m, 487, "Role Conflict");
		return;
	}
	answer_send(ice, from, m, 0, NULL);
	if (!ice->started || from->component > ice->components)
		early_keep(ice, &check);
	else if (ice->state != ICE_FAILED)
		ice_checked(ice, &check);
}

void ice_input(struct ice *ice, const struct ice_path *from,
	       const uint8_t *data, size_t bytes, int64_t now_ns)
{
	struct stun_message m;

	ice->now_ns = now_ns;
	if (from->component < 1 || from->component > MEDIA_ICE_COMPONENTS ||
	    stun_message_open(&m, data, bytes))
		return;
	if (m.method == STUN_MESSAGE_BINDING && stun_message_fingerprint(&m)) {
		if (m.class == STUN_MESSAGE_REQUEST)
			request_take(ice, from, &m);
		else if (m.class != STUN_MESSAGE_INDICATION && ice->started &&
			 stun_message_verify(&m, ice->peer.pwd,
					     strlen(ice->peer.pwd)))
			answer_take(ice, from, &m);
	}
	stun_message_close(&m);
}
