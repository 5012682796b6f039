/**
 * Can media be sent to an address that a peer's SDP names?
 * Thread: any; no state.
 */
#ifndef OFFHOOK_SIP_SDP_ADDRESS_H
#define OFFHOOK_SIP_SDP_ADDRESS_H

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

/**
 * By the routes of this host: asks the kernel, sends nothing.
 * @param peer   as sdp_address_check() accepts it
 * @param local  where it is no address of this host (that of a relay, or of a
 *               NAT), the routes say nothing: 0
 * @return 0; -errno of connect(): ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL
 */
int sdp_address_route(const struct media_addr *peer,
		      const struct media_addr *local);

#endif
