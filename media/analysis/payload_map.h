/**
 * The payload types of a stream or a session, with the values for their scores.
 * Thread: any; a map that several threads use is constant.
 */
#ifndef OFFHOOK_MEDIA_ANALYSIS_PAYLOAD_MAP_H
#define OFFHOOK_MEDIA_ANALYSIS_PAYLOAD_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "media/analysis/emodel_values.h"

#define RTP_PAYLOADS_MAX 24 /* payload types of a session */

enum rtp_payload_kind {
	RTP_PAYLOAD_AUDIO,
	RTP_PAYLOAD_CN, /* comfort noise, RFC 3389 */
	RTP_PAYLOAD_TE, /* telephone-event, RFC 4733 */
};

/** Meaning of a payload type (the SDP's rtpmap, or RFC 3551). */
struct rtp_payload {
	uint32_t clock_hz;           /* RTP clock rate; 0: unknown, no jitter */
	uint8_t pt;                  /* 0..127 */
	uint8_t kind;                /* enum rtp_payload_kind */
	char codec[16];              /* encoding name, e.g. "PCMU" */
	struct emodel_values values; /* values for its score */
};

/** Constant while a stream uses it; streams may share it. */
struct rtp_payload_map {
	size_t count; /* <= RTP_PAYLOADS_MAX */
	struct rtp_payload entries[RTP_PAYLOADS_MAX];
};

/**
 * Append a payload type. The name determines the kind; the values are those of
 * emodel_values_of() without format parameters.
 * @return 0; -ENOSPC the map is full; -EINVAL pt > 127; -EEXIST
 */
int rtp_payload_map_add(struct rtp_payload_map *map, uint8_t pt,
			const char *encoding, uint32_t clock_hz);

/** Append an entry of another map, with its values.
 * @return as rtp_payload_map_add() */
int rtp_payload_map_copy(struct rtp_payload_map *map,
			 const struct rtp_payload *entry);

/** Find the entry of a payload type.
 * @return NULL: none */
const struct rtp_payload *rtp_payload_map_find(
	const struct rtp_payload_map *map, uint8_t pt);

/** @return both have the same entries, with the same values, in the same
 *         order */
bool rtp_payload_map_same(const struct rtp_payload_map *a,
			  const struct rtp_payload_map *b);

#endif
