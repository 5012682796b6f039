/**
 * From a frame to a UDP datagram or TCP segment.
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
	DATAGRAM_IS_FRAGMENT, /* a part of an IP datagram */
	DATAGRAM_IS_OTHER,    /* anything else, or too short to tell */
	DATAGRAM_BAD_LINK,    /* a link type this program does not know */
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
	bool fragment;     /* the beginning of one whose rest is not here */
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
			uint32_t at; /* bytes before it in the datagram */
			bool more;   /* it is not the last */
			uint8_t protocol;
		} part; /* of a fragment */
	};
};

/** @param ret  valid for UDP, TCP and fragments only; the ports not for these */
enum datagram_kind datagram_parse(struct datagram *ret, const struct frame *f);

/** What follows the IP header: of UDP and TCP ports, payload and sizes are set.
 * @param captured  bytes of it that are there, of `bytes` by the IP header */
enum datagram_kind datagram_transport(struct datagram *ret, uint8_t protocol,
				      const uint8_t *p, size_t captured,
				      size_t bytes);

#endif
