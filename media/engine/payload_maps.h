/**
 * Maps of payload types, shared by the sessions that settled the same, as
 * nearly all calls of an action do. A map is constant; it is freed with its
 * last reference.
 * Thread: loop. Media threads read maps that the loop holds for them.
 */
#ifndef OFFHOOK_MEDIA_ENGINE_PAYLOAD_MAPS_H
#define OFFHOOK_MEDIA_ENGINE_PAYLOAD_MAPS_H

#include "media/analysis/payload_map.h"

/* Maps that are looked through for an equal one. */
#define PAYLOAD_MAPS_RECENT 8

/** All zero: none. */
struct payload_maps {
	/* a reference each; NULL: none */
	const struct rtp_payload_map *recent[PAYLOAD_MAPS_RECENT];
	size_t next; /* index to be replaced */
};

/** Get a reference to a map with these entries.
 * @param ret     give it back with payload_map_put()
 * @param wanted  copied
 * @return 0; -ENOMEM */
int payload_map_get(const struct rtp_payload_map **ret, struct payload_maps *m,
		    const struct rtp_payload_map *wanted);

/** Give a reference back. No thread may read the map by it any more.
 * @param map  may be NULL */
void payload_map_put(const struct rtp_payload_map *map);

/** Give back the references of `m`. */
void payload_maps_release(struct payload_maps *m);

#endif
