/**
 * Reads the media lines of SDPs in a capture: addresses, ports and payload
 * types. A captured text may be cut anywhere: complete lines count, the rest is
 * ignored.
 * Source: RFC 8866; RFC 3605 (a=rtcp); RFC 3551 (static payload types)
 * Thread: any; no state.
 */
#ifndef OFFHOOK_CAPTURE_SDP_H
#define OFFHOOK_CAPTURE_SDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/flow.h"
#include "media/analysis/payload_map.h"

/** One media line: where it wants to receive. */
struct sdp_media {
	struct address address;
	uint16_t port;
	uint16_t rtcp_port; /* a=rtcp, else port + 1; 0: none */
	struct rtp_payload_map map;
};

/** Gets each media line that has RTP, an address and a port.
 * @param media  valid during the call */
typedef void(sdp_media_h)(const struct sdp_media *media, void *arg);

/**
 * Read a text that may hold SDPs (each begins with the line v=0), for
 * example a SIP message or a multipart body.
 * @param cut  the end of the text is missing: ignore an unfinished last line
 * @return SDPs found
 */
unsigned sdp_scan(const char *text, size_t bytes, bool cut,
		  sdp_media_h *handler, void *arg);

/** Whether a text begins like a SIP request or response (RFC 3261 section 7). */
bool sdp_is_sip(const uint8_t *data, size_t bytes);

/** Add the static payload types of RFC 3551 section 6 that the map does not have,
 * as far as there is room. */
void sdp_add_static(struct rtp_payload_map *map);

#endif
