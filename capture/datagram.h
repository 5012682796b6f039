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
	DATAGRAM_IS_FRAGMENT, /* a later part of an IP datagram */
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
	bool fragment; /* the first part of a fragmented one */
	const uint8_t *payload;
	size_t captured; /* of the payload, <= bytes */
	size_t bytes;    /* by the UDP length or the IP length */
};

/** @param ret  valid for UDP and TCP only */
enum datagram_kind datagram_parse(struct datagram *ret, const struct frame *f);

#endif
