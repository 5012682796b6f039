/**
 * The addresses and ports at which the SDPs of a capture announced media, with
 * the payload types of each.
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
	uint32_t generation; /* counts changes of payload maps */
	uint64_t left_out;   /* above the ceiling */
};

void endpoints_init(struct endpoints *e);
void endpoints_release(struct endpoints *e);

/** Add a media line. A later one for the same port adds payload types and replaces
 * those with the same number. */
void endpoints_learn(struct endpoints *e, const struct sdp_media *media);

/** Whether half of ENDPOINTS_MAX is used: call endpoints_keep(). */
bool endpoints_crowded(const struct endpoints *e);

/** Remove all but some. @param used  keys to keep, with src and sport only */
void endpoints_keep(struct endpoints *e, const struct flow_table *used);

/** Whether an SDP announced this address and port. */
bool endpoints_known(const struct endpoints *e, const struct address *address,
		     uint16_t port);

/** The payload types of a port.
 * @return borrowed until the next endpoints_learn(); NULL: not known */
const struct rtp_payload_map *endpoints_map(const struct endpoints *e,
					    const struct address *address,
					    uint16_t port);

#endif
