#include "media/nat/session_ice.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

int session_ice_open(struct session_ice *i, const struct ice_params *params,
		     struct media_local *local)
{
	const struct media_addr *addrs[] = {&local->rtp, &local->rtcp};
	int err = ice_new(&i->ice, params);

	for (uint8_t k = 0; !err && k < MEDIA_ICE_COMPONENTS; k++) {
		const struct media_candidate host = {
			.type = MEDIA_CANDIDATE_HOST,
			.component = (uint8_t)(k + 1),
			.addr = *addrs[k],
		};

		err = ice_candidate_add(i->ice, &host);
	}
	if (!err)
		local->ice = *ice_local(i->ice);
	return err;
}

static void candidate_add(struct ice *ice, enum media_candidate_type type,
			  unsigned socket, const struct media_addr *addr,
			  const struct media_addr *related)
{
	const struct media_candidate c = {
		.type = type,
		.component = (uint8_t)(socket + 1),
		.addr = *addr,
		.related = *related,
	};

	/* at most one of each type and component, so there is room */
	if (addr->len > 0)
		(void)ice_candidate_add(ice, &c);
}

void session_ice_gathered(struct session_ice *i,
			  const struct session_servers *servers,
			  struct media_local *local)
{
	const struct media_addr *hosts[] = {&local->rtp, &local->rtcp};

	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		const struct turn *stun = servers->stuns[k];
		const struct turn *turn = servers->turns[k];

		if (stun && turn_state(stun) == TURN_READY)
			candidate_add(i->ice, MEDIA_CANDIDATE_SRFLX, k,
				      turn_mapped(stun), hosts[k]);
		if (turn && turn_state(turn) == TURN_READY)
			candidate_add(i->ice, MEDIA_CANDIDATE_RELAY, k,
				      turn_relayed(turn), turn_mapped(turn));
	}
	local->ice = *ice_local(i->ice);
}

void session_ice_release(struct session_ice *i)
{
	i->ice = ice_free(i->ice);
}

static struct media_addr remote_of(const struct ice *ice, uint8_t component)
{
	struct ice_selected pair;

	memset(&pair, 0, sizeof(pair));
	(void)ice_selected(ice, component, &pair);
	return pair.remote.addr;
}

/* RTCP has its own component if both sides have candidates for it (RFC 8445
 * section 5.1.1). */
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

/* Let the peer's checks pass our TURN server. */
static void permit_all(const struct session_servers *servers,
		       const struct media_ice *peer)
{
	for (size_t i = 0; i < peer->candidate_count; i++) {
		const struct media_candidate *c = &peer->candidates[i];
		struct turn *turn = servers->turns[c->component - 1];

		/* without room for the permission that pair fails */
		if (turn)
			(void)turn_permit(turn, &c->addr);
	}
}

int session_ice_settle(struct session_ice *i, struct session_servers *servers,
		       struct media_negotiated *n)
{
	int err;

	if (!i->ice)
		return -EINVAL;
	i->components = components_of(n);
	err = ice_start(i->ice, &n->ice_peer, i->components, n->ice_controlling,
			clock_mono_ns());
	if (err)
		return err;
	permit_all(servers, &n->ice_peer);
	n->rtp = remote_of(i->ice, 1);
	if (n->rtcp_mux)
		n->rtcp = n->rtp;
	else if (i->components == 2)
		n->rtcp = remote_of(i->ice, 2);
	return 0;
}

bool session_ice_relayed(const struct session_ice *i, uint8_t component)
{
	struct ice_selected pair;

	return i->ice && ice_selected(i->ice, component, &pair) && pair.relayed;
}

bool session_ice_restarting(const struct session_ice *i, uint8_t component)
{
	struct ice_selected pair;

	return i->ice && ice_selected(i->ice, component, &pair) && pair.before;
}

/* Bind a channel to each selected peer behind our relayed candidate. */
static void channels_bind(const struct session_ice *i,
			  const struct session_servers *servers)
{
	for (unsigned k = 0; k < SOCKET_COUNT; k++) {
		struct ice_selected pair;

		if (servers->turns[k] &&
		    ice_selected(i->ice, (uint8_t)(k + 1), &pair) &&
		    pair.relayed)
			(void)turn_bind(servers->turns[k], &pair.remote.addr);
	}
}

bool session_ice_tick(struct session_ice *i, struct session_servers *servers,
		      int64_t now_ns)
{
	ice_tick(i->ice, now_ns);
	if (ice_version(i->ice) == i->version)
		return false;
	channels_bind(i, servers);
	return true;
}

bool session_ice_path(struct session_ice *i, struct media_path *ret)
{
	bool failed = ice_state(i->ice) == ICE_FAILED;

	if (ice_version(i->ice) == i->version)
		return false;
	i->version = ice_version(i->ice);
	if (!failed && ice_state(i->ice) != ICE_CONNECTED)
		return false;
	memset(ret, 0, sizeof(*ret));
	ret->mode = MEDIA_NAT_ICE;
	ret->controlling = ice_controlling(i->ice);
	ret->lite = ice_local(i->ice)->lite;
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
