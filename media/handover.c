#include "media/handover.h"

#include <netinet/in.h>

#include "base/clock.h"

bool handover_take(struct handover_gate *gate, int64_t now_ns)
{
	if (!gate->open)
		return false;
	if (now_ns - gate->second_ns >= NS_PER_S) {
		gate->second_ns = now_ns;
		gate->taken = 0;
	}
	return gate->taken++ < gate->rate;
}

/* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv */
static uint64_t hash_add(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * UINT64_C(1099511628211);
	return hash;
}

static uint64_t key_of(const struct media_addr *addr)
{
	const struct sockaddr_in *in = (const void *)&addr->ss;
	const struct sockaddr_in6 *in6 = (const void *)&addr->ss;
	uint64_t hash = UINT64_C(14695981039346656037);

	if (addr->ss.ss_family == AF_INET6) {
		hash = hash_add(hash, &in6->sin6_addr, sizeof(in6->sin6_addr));
		return hash_add(hash, &in6->sin6_port, sizeof(in6->sin6_port));
	}
	hash = hash_add(hash, &in->sin_addr, sizeof(in->sin_addr));
	return hash_add(hash, &in->sin_port, sizeof(in->sin_port));
}

void handover_know(struct handover_known *known, const struct media_addr *addr)
{
	if (known->count < MEDIA_CANDIDATES_MAX)
		known->keys[known->count++] = key_of(addr);
}

bool handover_knows(const struct handover_known *known,
		    const struct media_addr *addr)
{
	uint64_t key = known->count ? key_of(addr) : 0;

	for (size_t i = 0; i < known->count; i++) {
		if (known->keys[i] == key)
			return true;
	}
	return false;
}
