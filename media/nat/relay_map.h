/**
 * Which peers' datagrams a TURN server brings by which channel (RFC 8656
 * section 12): what the RX thread needs to unpack them.
 */
#ifndef OFFHOOK_MEDIA_NAT_RELAY_MAP_H
#define OFFHOOK_MEDIA_NAT_RELAY_MAP_H

#include "media/socket.h"

#include <stdint.h>

/* Channels of a component that the RX thread knows: the last ones. */
#define RELAY_CHANNELS_MAX 4

/** Of one socket. All zero: there is no server. */
struct relay_map {
	struct media_addr server; /* len 0: none, or one behind a connection */
	struct {
		uint16_t number; /* 0: none */
		struct media_addr peer;
	} channels[RELAY_CHANNELS_MAX];
};

#endif
