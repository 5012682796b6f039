#include "media/engine/session_ice.h"

#include "base/clock.h"
#include "media/engine/media_session.h"

#include <errno.h>
#include <string.h>

static void send_h(const struct ice_path *path, const uint8_t *data,
		   size_t bytes, void *arg)
{
	session_nat_send(arg, path, data, bytes);
}

int session_ice_open(struct media_session *s, bool lite)
{
	const struct ice_params params = {
		.lite = lite,
		.send = send_h,
		.arg = s,
	};
	const struct media_addr *addrs[] = {&s->local.rtp, &s->local.rtcp};
	struct session_ice *i = &s->nat.ice;
	int err = ice_new(&i->ice, &params);

	for (uint8_t k = 0; !err && k < MEDIA_ICE_COMPONENTS; k++) {
		const struct media_candidate host = {
			.type = MEDIA_CANDIDATE_HOST,
			.component = (uint8_t)(k + 1),
			.addr = *addrs[k],
		};

		err = ice_candidate_add(i->ice, &host);
	}
	if (!err)
		s->local.ice = *ice_local(i->ice);
	return err;
}

static void candidate_add(struct media_session *s,
			  enum media_candidate_type type, unsigned socket,
			  const struct media_addr *addr,
			  const struct media_addr *related)
{
	const struct media_candidate c = {
		.type = type,
		.component = (uint8_t)(socket + 1),
		.addr = *addr,
		.related = *related,
	};

	/* one of each type: there is room */
	if (addr->len > 0)
		(void)ice_candidate_add(s->nat.ice.ice, &c);
}

void session_ice_gathered(struct media_session *s)
{
	struct session_nat *nat = &s->nat;
	const struct media_addr *hosts[] = {&s->local.rtp, &s->local.rtcp};

	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		const struct turn *stun = nat->servers.stuns[k];
		const struct turn *turn = nat->servers.turns[k];

		if (stun && turn_state(stun) == TURN_READY)
			candidate_add(s, MEDIA_CANDIDATE_SRFLX, k,
				      turn_mapped(stun), hosts[k]);
		if (turn && turn_state(turn) == TURN_READY)
			candidate_add(s, MEDIA_CANDIDATE_RELAY, k,
				      turn_relayed(turn), turn_mapped(turn));
	}
	s->local.ice = *ice_local(nat->ice.ice);
}

void session_ice_release(struct media_session *s)
{
	s->nat.ice.ice = ice_free(s->nat.ice.ice);
}

static struct media_addr remote_of(const struct ice *ice, uint8_t component)
{
	struct ice_selected pair;

	memset(&pair, 0, sizeof(pair));
	(void)ice_selected(ice, component, &pair);
	return pair.remote.addr;
}

/* RTCP has a component where both have candidates for it (RFC 8445 5.1.1). */
static unsigned components_of(const struct media_negotiated *n)
{
	const struct media_ice *peer = &n->ice_peer;

	if (n->rtcp_mux)
		return 1;
	for (size_t i = 0; i < peer->candidate_count; i++) {
		if (peer->candidates[i].component == 2)
			return 2;
	}
	return 1;
}

/* Let the peer's checks come through our relay. */
static void permit_all(struct media_session *s, const struct media_ice *peer)
{
	for (size_t i = 0; i < peer->candidate_count; i++) {
		const struct media_candidate *c = &peer->candidates[i];
		struct turn *turn = s->nat.servers.turns[c->component - 1];

		/* no room: that pair fails */
		if (turn)
			(void)turn_permit(turn, &c->addr);
	}
}

int session_ice_settle(struct media_session *s, struct media_negotiated *n)
{
	struct session_ice *i = &s->nat.ice;
	int err;

	if (!i->ice)
		return -EINVAL;
	i->components = components_of(n);
	err = ice_start(i->ice, &n->ice_peer, i->components, n->ice_controlling,
			clock_mono_ns());
	if (err)
		return err;
	permit_all(s, &n->ice_peer);
	n->rtp = remote_of(i->ice, 1);
	if (n->rtcp_mux)
		n->rtcp = n->rtp;
	else if (i->components == 2)
		n->rtcp = remote_of(i->ice, 2);
	return 0;
}

bool session_ice_relayed(const struct media_session *s, uint8_t component)
{
	struct ice_selected pair;

	return s->nat.ice.ice &&
	       ice_selected(s->nat.ice.ice, component, &pair) && pair.relayed;
}

bool session_ice_awaited(const struct media_session *s, uint8_t component)
{
	struct ice_selected pair;

	return s->nat.ice.ice &&
	       ice_selected(s->nat.ice.ice, component, &pair) && pair.before;
}

/* A channel to whom we send to through the relay. */
static void channels_bind(struct media_session *s)
{
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		struct ice_selected pair;

		if (s->nat.servers.turns[k] &&
		    ice_selected(s->nat.ice.ice, (uint8_t)(k + 1), &pair) &&
		    pair.relayed)
			(void)turn_bind(s->nat.servers.turns[k],
					&pair.remote.addr);
	}
}

bool session_ice_tick(struct media_session *s, int64_t now_ns)
{
	struct session_ice *i = &s->nat.ice;

	ice_tick(i->ice, now_ns);
	if (ice_version(i->ice) == i->version)
		return false;
	channels_bind(s);
	return true;
}

bool session_ice_path(struct media_session *s, struct media_path *ret)
{
	struct session_ice *i = &s->nat.ice;
	bool failed = ice_state(i->ice) == ICE_FAILED;

	if (ice_version(i->ice) == i->version)
		return false;
	i->version = ice_version(i->ice);
	if (!failed && ice_state(i->ice) != ICE_CONNECTED)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->mode = MEDIA_NAT_ICE;
	ret->controlling = ice_controlling(i->ice);
	ret->lite = s->local.ice.lite;
	ret->reason = failed ? ice_reason(i->ice) : NULL;
	for (uint8_t k = 0; k < MEDIA_ICE_COMPONENTS; k++) {
		struct ice_selected pair;

		if (!ice_selected(i->ice, (uint8_t)(k + 1), &pair))
			break;
		ret->local[k] = pair.local;
		ret->remote[k] = pair.remote;
		ret->component_count = k + 1u;
	}
	return true;
}
