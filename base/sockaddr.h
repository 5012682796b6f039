/**
 * Socket addresses of IPv4 and IPv6, and their literals (without brackets).
 * Thread: any; no state.
 */
#ifndef OFFHOOK_BASE_SOCKADDR_H
#define OFFHOOK_BASE_SOCKADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/**
 * Parse a literal; names are not resolved.
 * @param ret      what is not of the address is zero
 * @param ret_len  bytes of it that count
 * @return 0; -EINVAL (nothing is written)
 */
int sockaddr_parse(struct sockaddr_storage *ret, socklen_t *ret_len,
		   const char *host, uint16_t port);

/**
 * The literal and the port of an address.
 * @return 0; -EINVAL it is neither IPv4 nor IPv6 (nothing is written)
 */
int sockaddr_host(char host[static INET6_ADDRSTRLEN], uint16_t *ret_port,
		  const struct sockaddr_storage *address);

/** 0.0.0.0 or :: */
bool sockaddr_is_any(const struct sockaddr_storage *address);

#endif
