#include "media/nat/ice_internal.h"

#include "media/socket.h"

/* RFC 8445 5.1.2.1; one address a type: local preference 65535 */
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

size_t ice_remote_learn(struct ice *ice, const struct ice_path *from,
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

size_t ice_local_learn(struct ice *ice, const struct pair *pair,
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

/* RFC 8445 6.1.2.3 */
static uint64_t pair_priority(const struct ice *ice, uint32_t local,
			      uint32_t remote)
{
	uint64_t g = ice->controlling ? local : remote;
	uint64_t d = ice->controlling ? remote : local;

	return (g < d ? g : d) * (UINT64_C(1) << 32) + 2 * (g > d ? g : d) +
	       (g > d ? 1 : 0);
}

/* The candidate we send from: of the host, or our relay. */
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
	if (base == NONE || ice->pair_count == ICE_PAIRS_MAX ||
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
