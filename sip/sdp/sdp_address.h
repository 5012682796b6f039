/**
 * Checks whether media can be sent to an address in a peer's SDP.
 * Thread: any; a struct sdp_route is one thread's at a time.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_ADDRESS_H
#define OFFHOOK_SIP_SDP_SDP_ADDRESS_H

#include "base/clock.h"
#include "media/params.h"

/**
 * Check the address itself. Pure.
 * @param peer   len 0 (on hold, RFC 3264 8.4) is allowed
 * @param local  of our socket, or the one in our SDP
 * @return 0; -EAFNOSUPPORT one is IPv4, the other one IPv6; -EADDRNOTAVAIL not
 *         a unicast address: multicast, 255.255.255.255, 0.0.0.0/8
 */
int sdp_address_check(const struct media_addr *peer,
		      const struct media_addr *local);

/** A route that was found is taken for granted as long: the RTCP of the same call,
 * and calls to the same host, do not ask the kernel again. */
#define SDP_ROUTE_VALID_NS NS_PER_S

/** A UDP socket that is kept to look up routes. All zero: none yet. */
struct sdp_route {
	bool open;
	int fd;
	struct media_addr local; /* bound to this address, any port */
	struct media_addr peer;  /* the last one with a route; len 0: none */
	int64_t found_ns;
};

/**
 * Check that this host has a route to it: asks the kernel, sends nothing.
 * @param r       in/out; keeps one socket, until sdp_route_close()
 * @param peer    as sdp_address_check() accepts it
 * @param local   our address; if it is not one of this host (a relay's or a NAT's)
 *                the result is 0
 * @param now_ns  monotonic
 * @return 0; -errno of connect(): ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL
 */
int sdp_address_route(struct sdp_route *r, const struct media_addr *peer,
		      const struct media_addr *local, int64_t now_ns);

/** Close its socket. It may be used again afterwards. */
void sdp_route_close(struct sdp_route *r);

#endif
