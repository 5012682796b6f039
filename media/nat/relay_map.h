/**
 * Channels of a TURN server and their peers (RFC 8656 section 12): lets the RX
 * thread unpack ChannelData messages.
 */
#ifndef OFFHOOK_MEDIA_NAT_RELAY_MAP_H
#define OFFHOOK_MEDIA_NAT_RELAY_MAP_H

#include "media/socket.h"

#include <stdint.h>

/* Channels per component that the RX thread knows: the newest ones. */
#define RELAY_CHANNELS_MAX 4

/** Channels of one socket. All zero: no server. */
struct relay_map {
	struct media_addr server; /* len 0: none, or one reached over TCP or
				   * TLS */
	struct {
		uint16_t number; /* 0: none */
		struct media_addr peer;
	} channels[RELAY_CHANNELS_MAX];
};

#endif
