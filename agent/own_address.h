/**
 * The address of this host from which the controller is reached, for bind =
 * "auto": in a container nobody knows it beforehand.
 * Thread: any; blocks while the name is resolved.
 */
#ifndef OFFHOOK_AGENT_OWN_ADDRESS_H
#define OFFHOOK_AGENT_OWN_ADDRESS_H

#include <stddef.h>

/**
 * Ask the kernel for the source address of the route to a URL's host. Nothing is
 * sent to it.
 * @param dst     out: an IPv4 or IPv6 literal without brackets and zone
 * @param size    of dst, bytes; INET6_ADDRSTRLEN is enough
 * @param url     http(s)://HOST[:PORT][...]
 * @param reason  out, on failure: static text or gai_strerror()'s
 * @return 0; -EINVAL no such URL; -EHOSTUNREACH the name is not resolved, or there
 *         is no route; -ENOMEM
 */
int own_address_to(char *dst, size_t size, const char *url,
		   const char **reason);

#endif
