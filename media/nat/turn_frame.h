/**
 * The framing of peers' datagrams between us and a TURN server: ChannelData (RFC 8656
 * section 12.4), Send and Data indications (section 11). Pure functions for the hot
 * path; they allocate nothing.
 * Thread: any.
 */
#ifndef OFFHOOK_MEDIA_NAT_TURN_FRAME_H
#define OFFHOOK_MEDIA_NAT_TURN_FRAME_H

#include "media/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURN_CHANNEL_BYTES 4 /* header of ChannelData */
/* Header, XOR-PEER-ADDRESS of IPv6, header of DATA */
#define TURN_INDICATION_BYTES (20 + 24 + 4)
#define TURN_CHANNEL_MIN      0x4000 /* RFC 8656 section 12 */
#define TURN_CHANNEL_MAX      0x4fff

/** Kinds of datagrams between a client and its server. */
enum turn_frame_kind {
	TURN_FRAME_CONTROL, /* a STUN response to one of our requests */
	TURN_FRAME_CHANNEL, /* ChannelData */
	TURN_FRAME_DATA,    /* Data indication, from the server */
	TURN_FRAME_SEND,    /* Send indication, from a client */
};

struct turn_frame {
	enum turn_frame_kind kind;
	uint16_t channel;       /* TURN_FRAME_CHANNEL */
	struct media_addr peer; /* XOR-PEER-ADDRESS of an indication */
	size_t offset;          /* of the peer's datagram */
	size_t bytes;           /* of the peer's datagram */
};

/**
 * Parse a datagram.
 * @param captured  bytes in data; fewer than bytes if a capture cut it
 * @param bytes     size of the whole datagram
 * @return 0; -EBADMSG it is of no kind above, or its lengths contradict each other
 */
int turn_frame_parse(struct turn_frame *ret, const uint8_t *data,
		     size_t captured, size_t bytes);

/**
 * Find the size of the next frame in a TCP or TLS stream, with its padding (RFC 8656
 * section 12.5).
 * @return 0; -EAGAIN its header is incomplete; -EBADMSG no frame begins here
 */
int turn_frame_size(size_t *ret, const uint8_t *data, size_t bytes);

/**
 * Read an attribute such as XOR-PEER-ADDRESS (RFC 8489 section 14.2).
 * @param header  the 20 bytes at the start of the STUN message
 * @return false: it holds no address
 */
bool turn_frame_addr(struct media_addr *ret, const uint8_t *value, size_t bytes,
		     const uint8_t *header);

/** Write the header of ChannelData. */
void turn_frame_channel(uint8_t dst[static TURN_CHANNEL_BYTES],
			uint16_t channel, size_t bytes);

/**
 * Write a Send indication (RFC 8656 section 11.1).
 * @param room  bytes at dst
 * @return its size; 0: dst is too small
 */
size_t turn_frame_send(uint8_t *dst, size_t room, const struct media_addr *peer,
		       const uint8_t *data, size_t bytes);

#endif
