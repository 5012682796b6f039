/**
 * Where the SDPs of a capture said media would arrive, and what its payload
 * types mean there.
 * Thread: one owner.
 */
#ifndef OFFHOOK_CAPTURE_ENDPOINTS_H
#define OFFHOOK_CAPTURE_ENDPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/flow.h"
#include "capture/sdp.h"

#define ENDPOINTS_MAX 131072 /* addresses with ports, RTP and RTCP */

struct endpoints {
	struct flow_table table;      /* src and sport only */
	struct rtp_payload_map **map; /* by index; NULL: RTCP only */
	size_t allocated;
	uint32_t generation; /* moves when a payload map changed */
	uint64_t left_out;   /* beyond the ceiling */
};

void endpoints_init(struct endpoints *e);
void endpoints_release(struct endpoints *e);

/** Take what an SDP says; a later one about the same port adds to it and
 * replaces what it contradicts. */
void endpoints_learn(struct endpoints *e, const struct sdp_media *media);

/** Half of the places are taken: time for endpoints_keep(). */
bool endpoints_crowded(const struct endpoints *e);

/** Forget all but these. @param used  keys with src and sport only */
void endpoints_keep(struct endpoints *e, const struct flow_table *used);

/** @return somebody announced this address and port */
bool endpoints_known(const struct endpoints *e, const struct address *address,
		     uint16_t port);

/** @return borrowed until the next endpoints_learn(); NULL: not known */
const struct rtp_payload_map *endpoints_map(const struct endpoints *e,
					    const struct address *address,
					    uint16_t port);

#endif
