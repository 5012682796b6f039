/**
 * Reads the STUN and TURN messages of a tapped program (RFC 8489, RFC 8656): its
 * server-reflexive and relayed addresses, and the datagrams inside those of a TURN
 * server. For the hot path: nothing is allocated.
 *
 * A response counts only once, and only if its request was seen. A full table
 * replaces its oldest entry: then a mapped address is not found any more, or a
 * datagram of a channel is not unwrapped and seems to come from the server.
 * Thread: one owner.
 */
#ifndef OFFHOOK_MEDIA_TAP_TAP_PATHS_H
#define OFFHOOK_MEDIA_TAP_TAP_PATHS_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAP_PATHS_REQUESTS 256
#define TAP_PATHS_MAPPINGS 512
#define TAP_PATHS_CHANNELS 1024

/** A request that waits for its response. */
struct tap_paths_request {
	uint16_t port; /* 0: free */
	uint8_t id[12];
};

/** The server-reflexive or relayed address of a port of the program. */
struct tap_paths_mapping {
	uint16_t port; /* 0: free */
	struct media_addr addr;
};

/** A TURN channel (RFC 8656 section 12). */
struct tap_paths_channel {
	uint16_t port; /* 0: free */
	uint16_t number;
	struct media_addr peer;
};

/** All zero: empty. Each table is a ring. */
struct tap_paths {
	struct tap_paths_request requests[TAP_PATHS_REQUESTS];
	struct tap_paths_mapping mappings[TAP_PATHS_MAPPINGS];
	struct tap_paths_channel channels[TAP_PATHS_CHANNELS];
	size_t request_next;
	size_t mapping_next;
	size_t channel_next;
};

/** A datagram to or from the program. */
struct tap_paths_datagram {
	uint16_t port; /* of the program */
	bool sent;     /* by the program */
	struct media_addr peer;
	const uint8_t *data;
	size_t captured;
	size_t bytes;
};

/**
 * Take a datagram. If it is one of a TURN server, d becomes the datagram inside, with
 * the peer's address.
 * @param d  in/out
 * @return true: a mapped address was learned; ask tap_paths_port() again
 */
bool tap_paths_take(struct tap_paths *w, struct tap_paths_datagram *d);

/** The port of the program behind a server-reflexive or relayed address.
 * @return 0: unknown */
uint16_t tap_paths_port(const struct tap_paths *w,
			const struct media_addr *mapped);

#endif
