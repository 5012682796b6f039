/* Frames of a capture, built layer by layer. */
#ifndef OFFHOOK_TESTS_UNIT_CAPTURE_FRAMES_H
#define OFFHOOK_TESTS_UNIT_CAPTURE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/reader.h"

#define FRAME_BYTES 4096

/** A buffer that is written from its start; `at` bytes are in use. */
struct frame_builder {
	uint8_t data[FRAME_BYTES];
	size_t at;
	uint32_t link;
};

enum frame_version {
	FRAME_IPV4 = 4,
	FRAME_IPV6 = 6
};

/** The header fields; a field that is not set is 0. */
struct frame_fields {
	enum frame_version version;
	uint8_t protocol; /* 17 UDP, 6 TCP */
	uint16_t sport;
	uint16_t dport;
	uint32_t tcp_seq;
	uint8_t tcp_flags;
	uint16_t ip_id;
	uint16_t fragment; /* flags and offset, as IPv4 writes them */
	bool reverse;      /* from 10.0.0.2 to 10.0.0.1 */
};

void frame_u8(struct frame_builder *b, uint8_t v);
void frame_u16(struct frame_builder *b, uint16_t v);
void frame_u32(struct frame_builder *b, uint32_t v);
void frame_bytes(struct frame_builder *b, const void *data, size_t bytes);

/** Append the link header, with the network layer's type where it has one. */
void frame_link(struct frame_builder *b, uint32_t link, uint16_t ether_type);

/** Append an IP header for `bytes` of payload. */
void frame_ip(struct frame_builder *b, const struct frame_fields *f,
	      size_t bytes);

/** Append an IP and a UDP or TCP header, and the payload. */
void frame_transport(struct frame_builder *b, const struct frame_fields *f,
		     const void *payload, size_t bytes);

/** Build an Ethernet frame with all layers. */
void frame_make(struct frame_builder *b, const struct frame_fields *f,
		const void *payload, size_t bytes);

/** The frame as the capture reader would return it. */
struct frame frame_of(const struct frame_builder *b, int64_t ns);

#endif
