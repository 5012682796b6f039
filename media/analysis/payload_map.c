#include "media/analysis/payload_map.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* Kind of an encoding name, any case: "CN", "telephone-event", else audio. */
static enum rtp_payload_kind rtp_payload_kind_of(const char *encoding)
{
	if (!strcasecmp(encoding, "CN"))
		return RTP_PAYLOAD_CN;
	if (!strcasecmp(encoding, "telephone-event"))
		return RTP_PAYLOAD_TE;
	return RTP_PAYLOAD_AUDIO;
}

/* @return map->count: not found */
static size_t find_index(const struct rtp_payload_map *map, uint8_t pt)
{
	size_t i = 0;

	while (i < map->count && map->entries[i].pt != pt)
		i++;
	return i;
}

/* @return 0; -EINVAL; -EEXIST; -ENOSPC */
static int has_room(const struct rtp_payload_map *map, uint8_t pt)
{
	if (pt > 127)
		return -EINVAL;
	if (find_index(map, pt) < map->count)
		return -EEXIST;
	return map->count < RTP_PAYLOADS_MAX ? 0 : -ENOSPC;
}

int rtp_payload_map_add(struct rtp_payload_map *map, uint8_t pt,
			const char *encoding, uint32_t clock_hz)
{
	size_t name_bytes =
		strnlen(encoding, sizeof(map->entries[0].codec) - 1);
	struct rtp_payload *p;
	int err = has_room(map, pt);

	if (err)
		return err;
	p = &map->entries[map->count++];
	p->pt = pt;
	p->clock_hz = clock_hz;
	p->kind = (uint8_t)rtp_payload_kind_of(encoding);
	memset(p->codec, 0, sizeof(p->codec));
	memcpy(p->codec, encoding, name_bytes);
	emodel_values_of(&p->values, encoding, clock_hz, NULL);
	return 0;
}

int rtp_payload_map_copy(struct rtp_payload_map *map,
			 const struct rtp_payload *entry)
{
	int err = has_room(map, entry->pt);

	if (!err)
		map->entries[map->count++] = *entry;
	return err;
}

const struct rtp_payload *rtp_payload_map_find(
	const struct rtp_payload_map *map, uint8_t pt)
{
	size_t i = find_index(map, pt);

	return i < map->count ? &map->entries[i] : NULL;
}

static bool entry_same(const struct rtp_payload *a, const struct rtp_payload *b)
{
	return a->pt == b->pt && a->kind == b->kind &&
	       a->clock_hz == b->clock_hz && strcmp(a->codec, b->codec) == 0 &&
	       emodel_values_equal(&a->values, &b->values);
}

bool rtp_payload_map_same(const struct rtp_payload_map *a,
			  const struct rtp_payload_map *b)
{
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = entry_same(&a->entries[i], &b->entries[i]);
	return same;
}
