/**
 * The sockets of a session and the addresses they talk to.
 * Thread: any.
 */
#ifndef OFFHOOK_MEDIA_SOCKET_H
#define OFFHOOK_MEDIA_SOCKET_H

#include "media/params.h"

#include <stdbool.h>
#include <stdint.h>

/** True for an IPv4 or IPv6 address of the right length. */
bool media_addr_valid(const struct media_addr *a);

/** 0.0.0.0 or ::, which is nobody to send to (hold as in RFC 2543). */
bool media_addr_unspecified(const struct media_addr *a);

/** Same family, address and port. */
bool media_addr_equal(const struct media_addr *a, const struct media_addr *b);

/** The same address with another port. */
void media_addr_set_port(struct media_addr *a, uint16_t port);
uint16_t media_addr_port(const struct media_addr *a);

enum {
	SOCKET_RTP,
	SOCKET_RTCP,
	SOCKET_COUNT
};

/**
 * Bind a pair: RTP to an even port, RTCP to the next one. Ports are tried
 * from a random one of the range on, each pair once. The sockets do not
 * block, stamp every datagram (SO_TIMESTAMPNS) and count what they drop
 * (SO_RXQ_OVFL).
 * @param ret_fds  owned by the caller
 * @param ret      their addresses
 * @param bind_to  address, port ignored
 * @return 0; -EINVAL no address, empty range; -EADDRINUSE none left; -errno
 */
int socket_pair_bind(int ret_fds[static SOCKET_COUNT],
		     struct media_addr ret[static SOCKET_COUNT],
		     const struct media_addr *bind_to, uint16_t port_min,
		     uint16_t port_max);

/** Datagrams the socket dropped since it was made. @return 0; -errno */
int socket_drops(int fd, uint32_t *ret);

/** Random bytes for identifiers; the kernel's generator. */
void random_bytes(void *dst, size_t bytes);

#endif
