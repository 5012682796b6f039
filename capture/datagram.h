/**
 * Finds the UDP datagram or TCP segment in a frame.
 * Links: Ethernet (VLAN, QinQ, PPPoE), Linux cooked v1 and v2, raw IP,
 * BSD loopback. IPv4, IPv6 with extension headers.
 * Thread: any; no state.
 */
#ifndef OFFHOOK_CAPTURE_DATAGRAM_H
#define OFFHOOK_CAPTURE_DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/flow.h"
#include "capture/reader.h"

enum datagram_kind {
	DATAGRAM_IS_UDP,
	DATAGRAM_IS_TCP,
	DATAGRAM_IS_FRAGMENT, /* a fragment of an IP datagram */
	DATAGRAM_IS_OTHER,    /* anything else, or too short to tell */
	DATAGRAM_BAD_LINK,    /* unknown link type */
};

struct datagram {
	union {
		struct flow_key flow; /* ssrc is not set here */
		struct {
			struct address src;
			struct address dst;
			uint16_t sport;
			uint16_t dport;
		};
	};
	bool fragment;     /* only the beginning of a fragmented datagram */
	const uint8_t *ip; /* its IP header; not set by datagram_transport() */
	const uint8_t *transport; /* the UDP or TCP header; not a fragment's */
	const uint8_t *payload;   /* a fragment's: what follows the IP header */
	size_t captured;          /* of the payload, <= bytes */
	size_t bytes;             /* by the UDP length or the IP length */
	union {
		struct {
			uint32_t seq; /* of the first byte */
			bool end;     /* FIN or RST */
		} tcp;
		struct {
			uint32_t id;
			uint32_t at; /* offset in the datagram, bytes */
			bool more;   /* not the last one */
			uint8_t protocol;
		} part; /* of a fragment */
	};
};

/**
 * Parse a frame.
 * @param ret  valid for UDP, TCP and fragments only; points into the frame. A
 *             fragment has no ports
 */
enum datagram_kind datagram_parse(struct datagram *ret, const struct frame *f);

/**
 * Parse what follows the IP header. For UDP and TCP ports, payload and sizes are
 * set.
 * @param p         the transport header
 * @param captured  bytes at p
 * @param bytes     by the IP header; more than captured if the capture cut them
 */
enum datagram_kind datagram_transport(struct datagram *ret, uint8_t protocol,
				      const uint8_t *p, size_t captured,
				      size_t bytes);

#endif
