/**
 * Can media be sent to an address that a peer's SDP names?
 * Thread: any; a struct sdp_route is one thread's at a time.
 */
#ifndef OFFHOOK_SIP_SDP_SDP_ADDRESS_H
#define OFFHOOK_SIP_SDP_SDP_ADDRESS_H

#include "media/params.h"

/**
 * By the address alone. Pure.
 * @param peer   len 0 (on hold, RFC 3264 8.4) is fine
 * @param local  of our socket, or what stands for it in our SDP
 * @return 0; -EAFNOSUPPORT one is IPv4, the other one IPv6; -EADDRNOTAVAIL it
 *         is no unicast address: multicast, 255.255.255.255, 0.0.0.0/8
 */
int sdp_address_check(const struct media_addr *peer,
		      const struct media_addr *local);

/** A UDP socket that is kept to ask for routes. All zero: none yet. */
struct sdp_route {
	bool open;
	int fd;
	struct media_addr local; /* it is bound to, any port */
};

/**
 * By the routes of this host: asks the kernel, sends nothing.
 * @param r      in/out; keeps one socket, until sdp_route_close()
 * @param peer   as sdp_address_check() accepts it
 * @param local  where it is no address of this host (that of a relay, or of a
 *               NAT), the routes say nothing: 0
 * @return 0; -errno of connect(): ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL
 */
int sdp_address_route(struct sdp_route *r, const struct media_addr *peer,
		      const struct media_addr *local);

/** Close its socket. It may be used again. */
void sdp_route_close(struct sdp_route *r);

#endif
