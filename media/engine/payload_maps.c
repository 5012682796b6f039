#include "media/engine/payload_maps.h"

#include <errno.h>
#include <stdlib.h>

struct shared_map {
	struct rtp_payload_map map; /* first: it is what is given out */
	unsigned references;
};

static struct shared_map *shared_of(const struct rtp_payload_map *map)
{
	return (struct shared_map *)(uintptr_t)map;
}

static const struct rtp_payload_map *reference(
	const struct rtp_payload_map *map)
{
	shared_of(map)->references++;
	return map;
}

int payload_map_get(const struct rtp_payload_map **ret, struct payload_maps *m,
		    const struct rtp_payload_map *wanted)
{
	struct shared_map *made;

	for (size_t i = 0; i < PAYLOAD_MAPS_RECENT; i++) {
		if (!m->recent[i] ||
		    !rtp_payload_map_same(m->recent[i], wanted))
			continue;
		*ret = reference(m->recent[i]);
		return 0;
	}
	made = malloc(sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->map = *wanted;
	made->references = 2;
	payload_map_put(m->recent[m->next]);
	m->recent[m->next] = &made->map;
	m->next = (m->next + 1) % PAYLOAD_MAPS_RECENT;
	*ret = &made->map;
	return 0;
}

void payload_map_put(const struct rtp_payload_map *map)
{
	if (map && --shared_of(map)->references == 0)
		free(shared_of(map));
}

void payload_maps_release(struct payload_maps *m)
{
	for (size_t i = 0; i < PAYLOAD_MAPS_RECENT; i++)
		payload_map_put(m->recent[i]);
	*m = (struct payload_maps){0};
}
