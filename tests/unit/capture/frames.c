#include "tests/unit/capture/frames.h"

#include <stdlib.h>
#include <string.h>

void frame_bytes(struct frame_builder *b, const void *data, size_t bytes)
{
	if (bytes > sizeof(b->data) - b->at)
		abort();
	memcpy(b->data + b->at, data, bytes);
	b->at += bytes;
}

void frame_u8(struct frame_builder *b, uint8_t v)
{
	frame_bytes(b, &v, 1);
}

void frame_u16(struct frame_builder *b, uint16_t v)
{
	frame_u8(b, (uint8_t)(v >> 8));
	frame_u8(b, (uint8_t)v);
}

void frame_u32(struct frame_builder *b, uint32_t v)
{
	frame_u16(b, (uint16_t)(v >> 16));
	frame_u16(b, (uint16_t)v);
}

/* Link types as described at https://www.tcpdump.org/linktypes.html */
void frame_link(struct frame_builder *b, uint32_t link, uint16_t ether_type)
{
	static const uint8_t zeros[20];

	b->at = 0;
	b->link = link;
	switch (link) {
	case 0: /* BSD loopback: host byte order, here little endian */
		frame_bytes(b, ether_type == 0x86dd ? "\x1e\0\0" : "\2\0\0", 4);
		break;
	case 108: /* OpenBSD loopback: network byte order */
		frame_u32(b, ether_type == 0x86dd ? 24 : 2);
		break;
	case 1:
		frame_bytes(b, zeros, 12);
		frame_u16(b, ether_type);
		break;
	case 113: /* Linux cooked: packet type, ARPHRD, address, protocol */
		frame_u16(b, 0);
		frame_u16(b, 1);
		frame_u16(b, 6);
		frame_bytes(b, zeros, 8);
		frame_u16(b, ether_type);
		break;
	case 276: /* version 2: the protocol is first */
		frame_u16(b, ether_type);
		frame_bytes(b, zeros, 18);
		break;
	default:
		break;
	}
}

static void ipv6(struct frame_builder *b, const struct frame_fields *f,
		 size_t bytes)
{
	static const uint8_t prefix[15] = {0xfd};
	bool fragment = f->fragment != 0;

	frame_u32(b, 0x60000000);
	frame_u16(b, (uint16_t)(bytes + (fragment ? 8 : 0)));
	frame_u8(b, fragment ? 44 : f->protocol);
	frame_u8(b, 64);
	frame_bytes(b, prefix, 15);
	frame_u8(b, f->reverse ? 2 : 1);
	frame_bytes(b, prefix, 15);
	frame_u8(b, f->reverse ? 1 : 2);
	if (!fragment)
		return;
	frame_u8(b, f->protocol);
	frame_u8(b, 0);
	frame_u16(b, (uint16_t)((f->fragment & 0x1fff) << 3 |
				(f->fragment & 0x2000 ? 1 : 0)));
	frame_u32(b, f->ip_id);
}

void frame_ip(struct frame_builder *b, const struct frame_fields *f,
	      size_t bytes)
{
	if (f->version == FRAME_IPV6) {
		ipv6(b, f, bytes);
		return;
	}
	frame_u16(b, 0x4500);
	frame_u16(b, (uint16_t)(20 + bytes));
	frame_u16(b, f->ip_id);
	frame_u16(b, f->fragment);
	frame_u8(b, 64);
	frame_u8(b, f->protocol);
	frame_u16(b, 0);
	frame_u32(b, f->reverse ? 0x0a000002 : 0x0a000001);
	frame_u32(b, f->reverse ? 0x0a000001 : 0x0a000002);
}

void frame_transport(struct frame_builder *b, const struct frame_fields *f,
		     const void *payload, size_t bytes)
{
	bool udp = f->protocol == 17;

	frame_ip(b, f, bytes + (udp ? 8 : 20));
	frame_u16(b, f->sport);
	frame_u16(b, f->dport);
	if (udp) {
		frame_u16(b, (uint16_t)(bytes + 8));
		frame_u16(b, 0);
	} else {
		frame_u32(b, f->tcp_seq);
		frame_u32(b, 0);
		frame_u8(b, 5 << 4);
		frame_u8(b, f->tcp_flags);
		frame_u16(b, 1024);
		frame_u32(b, 0);
	}
	frame_bytes(b, payload, bytes);
}

void frame_make(struct frame_builder *b, const struct frame_fields *f,
		const void *payload, size_t bytes)
{
	frame_link(b, 1, f->version == FRAME_IPV6 ? 0x86dd : 0x0800);
	frame_transport(b, f, payload, bytes);
}

struct frame frame_of(const struct frame_builder *b, int64_t ns)
{
	return (struct frame){
		.ns = ns,
		.timed = true,
		.link = b->link,
		.data = b->data,
		.captured = b->at,
		.bytes = b->at,
	};
}
