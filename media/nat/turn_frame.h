/**
 * How a datagram travels through a TURN server: ChannelData (RFC 8656 section
 * 12.4), Send and Data indications (section 11). For the hot path: pure,
 * nothing is allocated.
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

/** What a datagram of the server is. */
enum turn_frame_kind {
	TURN_FRAME_CONTROL, /* STUN: an answer to a request of ours */
	TURN_FRAME_CHANNEL, /* data by a channel */
	TURN_FRAME_DATA,    /* data by an indication of the server */
	TURN_FRAME_SEND,    /* data by one of a client */
};

struct turn_frame {
	enum turn_frame_kind kind;
	uint16_t channel;       /* TURN_FRAME_CHANNEL */
	struct media_addr peer; /* of an indication: the other end */
	size_t offset;          /* where the peer's datagram begins, */
	size_t bytes;           /* and its size */
};

/**
 * @param captured  bytes that are there
 * @param bytes     of the datagram, >= captured
 * @return 0; -EBADMSG it is none of these, or does not add up
 */
int turn_frame_parse(struct turn_frame *ret, const uint8_t *data,
		     size_t captured, size_t bytes);

/**
 * How many bytes of a stream are the next frame, with its padding.
 * @return 0; -EAGAIN too few bytes to tell; -EBADMSG it is none
 */
int turn_frame_size(size_t *ret, const uint8_t *data, size_t bytes);

/**
 * The address in an attribute such as XOR-PEER-ADDRESS (RFC 8489 section 14.2).
 * @param header  of the message, 20 bytes
 * @return false: it is none
 */
bool turn_frame_addr(struct media_addr *ret, const uint8_t *value, size_t bytes,
		     const uint8_t *header);

/** Write the header of ChannelData. */
void turn_frame_channel(uint8_t dst[static TURN_CHANNEL_BYTES],
			uint16_t channel, size_t bytes);

/**
 * Write a Send indication.
 * @return its size; 0: no room
 */
size_t turn_frame_send(uint8_t *dst, size_t room, const struct media_addr *peer,
		       const uint8_t *data, size_t bytes);

#endif
