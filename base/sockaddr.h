/**
 * IPv4 and IPv6 socket addresses and their literals (without brackets).
 * Thread: any; no state.
 */
#ifndef OFFHOOK_BASE_SOCKADDR_H
#define OFFHOOK_BASE_SOCKADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** An address and a port: 28 bytes, while a sockaddr_storage has 128. */
union sockaddr_ip {
	sa_family_t ss_family; /* AF_INET, AF_INET6 */
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/**
 * Parse a literal; names are not resolved.
 * @param ret      unused bytes are zero
 * @param ret_len  length of the address, as for bind()
 * @return 0; -EINVAL (nothing is written)
 */
int sockaddr_parse(union sockaddr_ip *ret, socklen_t *ret_len, const char *host,
		   uint16_t port);

/**
 * Get the literal and the port of an address.
 * @return 0; -EINVAL neither IPv4 nor IPv6 (nothing is written)
 */
int sockaddr_host(char host[static INET6_ADDRSTRLEN], uint16_t *ret_port,
		  const union sockaddr_ip *address);

/** @return it is 0.0.0.0 or :: */
bool sockaddr_is_any(const union sockaddr_ip *address);

#endif
