/**
 * What a tapped program and its STUN and TURN servers say to each other (RFC
 * 8489, RFC 8656): at which addresses others see its ports, and whose datagrams
 * lie within those of a relay. For the hot path: pure, nothing is allocated.
 *
 * Only answers to requests that passed count, and only once. What is full
 * forgets its oldest entry: a port it belonged to is not found any more, a
 * datagram by its channel is the server's.
 * Thread: one owner.
 */
#ifndef OFFHOOK_MEDIA_TAP_TAP_PATHS_H
#define OFFHOOK_MEDIA_TAP_TAP_PATHS_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAP_WAYS_ASKED    256
#define TAP_WAYS_OUTSIDE  512
#define TAP_WAYS_CHANNELS 1024

struct tap_paths_asked {
	uint16_t port; /* 0: free */
	uint8_t id[12];
};

/* A port of the program, as others see it. */
struct tap_paths_outside {
	uint16_t port; /* 0: free */
	struct media_addr addr;
};

struct tap_paths_channel {
	uint16_t port; /* 0: free */
	uint16_t number;
	struct media_addr peer;
};

/** All zero: nothing is known. Each a ring. */
struct tap_paths {
	struct tap_paths_asked asked[TAP_WAYS_ASKED];
	struct tap_paths_outside outside[TAP_WAYS_OUTSIDE];
	struct tap_paths_channel channels[TAP_WAYS_CHANNELS];
	size_t asked_next;
	size_t outside_next;
	size_t channel_next;
};

/** A datagram of the program. */
struct tap_paths_datagram {
	uint16_t port; /* of the program */
	bool sent;     /* by it */
	struct media_addr peer;
	const uint8_t *data;
	size_t captured;
	size_t bytes;
};

/**
 * @param d  in/out: of a relayed one the inner datagram and its other end are
 *           left
 * @return true: an address outside was learned, which tap_paths_port() knows
 */
bool tap_paths_take(struct tap_paths *w, struct tap_paths_datagram *d);

/** The port of the program that others see at this address.
 * @return 0: it is not known */
uint16_t tap_paths_port(const struct tap_paths *w,
			const struct media_addr *outside);

#endif
