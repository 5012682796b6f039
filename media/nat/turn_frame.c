#include "media/nat/turn_frame.h"

#include "base/big_endian.h"
#include "media/socket.h"

#include <errno.h>
#include <string.h>

#define STUN_HEADER_BYTES 20
#define ATTRIBUTE_BYTES   4 /* header of one */
#define TYPE_SEND         0x0016
#define TYPE_DATA         0x0017
#define COOKIE            UINT32_C(0x2112a442)
#define ATTR_XOR_PEER     0x0012
#define ATTR_DATA         0x0013
#define FAMILY_V4         1
#define FAMILY_V6         2
#define PEER_V4_BYTES     8
#define PEER_V6_BYTES     20

/* The bytes of an address are XORed with the magic cookie and the transaction id, which
 * follow one another in the header. */
static void xor_header(uint8_t *dst, const uint8_t *src, size_t bytes,
		       const uint8_t *header)
{
	for (size_t i = 0; i < bytes; i++)
		dst[i] = src[i] ^ header[4 + i];
}

bool turn_frame_addr(struct media_addr *ret, const uint8_t *value, size_t bytes,
		     const uint8_t *header)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&ret->ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ret->ss;
	uint16_t port;

	memset(ret, 0, sizeof(*ret));
	if (bytes != PEER_V4_BYTES && bytes != PEER_V6_BYTES)
		return false;
	port = (uint16_t)(be16(value + 2) ^ (COOKIE >> 16));
	if (value[1] == FAMILY_V4 && bytes == PEER_V4_BYTES) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		xor_header((uint8_t *)&in->sin_addr, value + 4, 4, header);
		ret->len = sizeof(*in);
		return true;
	}
	if (value[1] == FAMILY_V6 && bytes == PEER_V6_BYTES) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		xor_header((uint8_t *)&in6->sin6_addr, value + 4, 16, header);
		ret->len = sizeof(*in6);
		return true;
	}
	return false;
}

/* Find XOR-PEER-ADDRESS and DATA, in any order; of several the first counts. DATA may
 * reach beyond the captured bytes. */
static int indication_parse(struct turn_frame *ret, const uint8_t *data,
			    size_t captured, size_t end)
{
	struct turn_frame f = {.kind = be16(data) == TYPE_SEND
					       ? TURN_FRAME_SEND
					       : TURN_FRAME_DATA};
	size_t at = STUN_HEADER_BYTES;

	while (at + ATTRIBUTE_BYTES <= captured) {
		uint16_t type = be16(data + at);
		size_t bytes = be16(data + at + 2);

		at += ATTRIBUTE_BYTES;
		if (at + bytes > end)
			return -EBADMSG;
		if (type == ATTR_DATA && f.offset == 0) {
			f.offset = at;
			f.bytes = bytes;
		} else if (type == ATTR_XOR_PEER && f.peer.len == 0) {
			if (at + bytes > captured ||
			    !turn_frame_addr(&f.peer, data + at, bytes, data))
				return -EBADMSG;
		}
		at += (bytes + 3) & ~(size_t)3;
	}
	if (f.offset == 0 || f.peer.len == 0)
		return -EBADMSG;
	*ret = f;
	return 0;
}

int turn_frame_parse(struct turn_frame *ret, const uint8_t *data,
		     size_t captured, size_t bytes)
{
	struct turn_frame f = {.kind = TURN_FRAME_CHANNEL};
	size_t end;

	if (captured < TURN_CHANNEL_BYTES || captured > bytes)
		return -EBADMSG;
	if (data[0] >> 6 == 1) {
		f.channel = be16(data);
		f.offset = TURN_CHANNEL_BYTES;
		f.bytes = be16(data + 2);
		/* the rest is padding (RFC 8656 section 12.5) */
		if (f.channel > TURN_CHANNEL_MAX ||
		    f.bytes > bytes - TURN_CHANNEL_BYTES)
			return -EBADMSG;
		*ret = f;
		return 0;
	}
	if (data[0] >> 6 != 0 || captured < STUN_HEADER_BYTES ||
	    be16(data + 4) != COOKIE >> 16 ||
	    be16(data + 6) != (COOKIE & 0xffff))
		return -EBADMSG;
	end = STUN_HEADER_BYTES + (size_t)be16(data + 2);
	if (end > bytes)
		return -EBADMSG;
	if (be16(data) == TYPE_DATA || be16(data) == TYPE_SEND)
		return indication_parse(ret, data,
					captured < end ? captured : end, end);
	f.kind = TURN_FRAME_CONTROL;
	f.bytes = bytes;
	*ret = f;
	return 0;
}

int turn_frame_size(size_t *ret, const uint8_t *data, size_t bytes)
{
	size_t body;

	if (bytes < TURN_CHANNEL_BYTES)
		return -EAGAIN;
	body = be16(data + 2);
	if (data[0] >> 6 == 1)
		*ret = (TURN_CHANNEL_BYTES + body + 3) & ~(size_t)3;
	else if (data[0] >> 6 == 0 && body % 4 == 0)
		*ret = STUN_HEADER_BYTES + body;
	else
		return -EBADMSG;
	return 0;
}

void turn_frame_channel(uint8_t dst[static TURN_CHANNEL_BYTES],
			uint16_t channel, size_t bytes)
{
	be16_put(dst, channel);
	be16_put(dst + 2, bytes);
}

size_t turn_frame_send(uint8_t *dst, size_t room, const struct media_addr *peer,
		       const uint8_t *data, size_t bytes)
{
	const struct sockaddr_in *in = (const void *)&peer->ss;
	const struct sockaddr_in6 *in6 = (const void *)&peer->ss;
	bool v6 = peer->ss.ss_family == AF_INET6;
	size_t peer_bytes = v6 ? PEER_V6_BYTES : PEER_V4_BYTES;
	size_t padded = (bytes + 3) & ~(size_t)3;
	size_t body = 2 * ATTRIBUTE_BYTES + peer_bytes + padded;
	uint8_t *p = dst + STUN_HEADER_BYTES;

	if (bytes > UINT16_MAX - TURN_INDICATION_BYTES ||
	    STUN_HEADER_BYTES + body > room)
		return 0;
	memset(dst, 0, STUN_HEADER_BYTES + body);
	be16_put(dst, TYPE_SEND);
	be16_put(dst + 2, body);
	be16_put(dst + 4, COOKIE >> 16);
	be16_put(dst + 6, COOKIE & 0xffff);
	random_bytes(dst + 8, 12);
	be16_put(p, ATTR_XOR_PEER);
	be16_put(p + 2, peer_bytes);
	p += ATTRIBUTE_BYTES;
	p[1] = v6 ? FAMILY_V6 : FAMILY_V4;
	be16_put(p + 2, media_addr_port(peer) ^ (COOKIE >> 16));
	xor_header(p + 4,
		   v6 ? (const uint8_t *)&in6->sin6_addr
		      : (const uint8_t *)&in->sin_addr,
		   peer_bytes - 4, dst);
	p += peer_bytes;
	be16_put(p, ATTR_DATA);
	be16_put(p + 2, bytes);
	memcpy(p + ATTRIBUTE_BYTES, data, bytes);
	return STUN_HEADER_BYTES + body;
}
