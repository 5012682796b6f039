#include "capture/endpoints.h"

#include <stdlib.h>
#include <string.h>

void endpoints_init(struct endpoints *e)
{
	*e = (struct endpoints){0};
	flow_table_init(&e->table, ENDPOINTS_MAX);
}

void endpoints_release(struct endpoints *e)
{
	for (size_t i = 0; i < e->table.count; i++)
		free(e->map[i]);
	free(e->map);
	flow_table_release(&e->table);
	*e = (struct endpoints){0};
}

static uint32_t find(const struct endpoints *e, const struct address *address,
		     uint16_t port)
{
	struct flow_key key = {.src = *address, .sport = port};

	return flow_table_find(&e->table, &key);
}

static bool grow(struct endpoints *e)
{
	size_t n = e->allocated ? 2 * e->allocated : 64;
	struct rtp_payload_map **map;

	if (e->table.count < e->allocated)
		return true;
	map = realloc(e->map, n * sizeof(struct rtp_payload_map *));
	if (!map)
		return false;
	e->map = map;
	e->allocated = n;
	return true;
}

static uint32_t find_or_add(struct endpoints *e, const struct address *address,
			    uint16_t port)
{
	struct flow_key key = {.src = *address, .sport = port};
	uint32_t i = flow_table_find(&e->table, &key);

	if (i != FLOW_NONE)
		return i;
	if (grow(e))
		i = flow_table_add(&e->table, &key);
	if (i == FLOW_NONE)
		e->left_out++;
	else
		e->map[i] = NULL;
	return i;
}

/* The new map, with the payload types that only the old one has. */
static void merge(struct rtp_payload_map *ret,
		  const struct rtp_payload_map *new,
		  const struct rtp_payload_map *old)
{
	*ret = *new;
	for (size_t i = 0; i < old->count; i++)
		rtp_payload_map_copy(ret, &old->entries[i]);
}

static void set_map(struct endpoints *e, uint32_t i,
		    const struct rtp_payload_map *map)
{
	struct rtp_payload_map merged = {0};

	if (!e->map[i]) {
		e->map[i] = calloc(1, sizeof(**e->map));
		if (!e->map[i])
			return;
	}
	merge(&merged, map, e->map[i]);
	if (memcmp(&merged, e->map[i], sizeof(merged)) == 0)
		return;
	*e->map[i] = merged;
	e->generation++;
}

void endpoints_learn(struct endpoints *e, const struct sdp_media *media)
{
	uint32_t i = find_or_add(e, &media->address, media->port);

	if (i != FLOW_NONE)
		set_map(e, i, &media->map);
	if (media->rtcp_port > 0 && media->rtcp_port != media->port)
		find_or_add(e, &media->address, media->rtcp_port);
}

bool endpoints_crowded(const struct endpoints *e)
{
	return e->table.count >= ENDPOINTS_MAX / 2;
}

void endpoints_keep(struct endpoints *e, const struct flow_table *used)
{
	struct flow_table kept;
	size_t left = 0;

	flow_table_init(&kept, ENDPOINTS_MAX);
	for (size_t i = 0; i < e->table.count; i++) {
		const struct flow_key *k = &e->table.keys[i];

		if (flow_table_find(used, k) != FLOW_NONE &&
		    flow_table_add(&kept, k) != FLOW_NONE)
			e->map[left++] = e->map[i];
		else
			free(e->map[i]);
	}
	flow_table_release(&e->table);
	e->table = kept;
}

bool endpoints_known(const struct endpoints *e, const struct address *address,
		     uint16_t port)
{
	return find(e, address, port) != FLOW_NONE;
}

const struct rtp_payload_map *endpoints_map(const struct endpoints *e,
					    const struct address *address,
					    uint16_t port)
{
	uint32_t i = find(e, address, port);

	return i == FLOW_NONE ? NULL : e->map[i];
}
