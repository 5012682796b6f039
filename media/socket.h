/**
 * The sockets of a session and their addresses.
 * Thread: any.
 */
#ifndef OFFHOOK_MEDIA_SOCKET_H
#define OFFHOOK_MEDIA_SOCKET_H

#include "media/params.h"

#include <stdbool.h>
#include <stdint.h>

/** @return it is an IPv4 or IPv6 address with the matching length */
bool media_addr_valid(const struct media_addr *a);

/** @return it is 0.0.0.0 or ::, to which nothing can be sent (hold as in RFC
 *         2543) */
bool media_addr_unspecified(const struct media_addr *a);

/** @return family, address and port are equal */
bool media_addr_equal(const struct media_addr *a, const struct media_addr *b);

/** Replace the port of an address. */
void media_addr_set_port(struct media_addr *a, uint16_t port);
/** @return the port of an address */
uint16_t media_addr_port(const struct media_addr *a);

enum {
	SOCKET_RTP,
	SOCKET_RTCP,
	SOCKET_COUNT
};

/**
 * Bind a pair of sockets: RTP to an even port, RTCP to the next one. It tries
 * each pair of the range once, starting at a random one. The sockets do not
 * block, time-stamp every datagram (SO_TIMESTAMPNS) and count dropped ones
 * (SO_RXQ_OVFL).
 * @param ret_fds  owned by the caller
 * @param ret      local addresses of the sockets
 * @param bind_to  address, port ignored
 * @return 0; -EINVAL no address, empty range; -EADDRINUSE none left; -errno
 */
int socket_pair_bind(int ret_fds[static SOCKET_COUNT],
		     struct media_addr ret[static SOCKET_COUNT],
		     const struct media_addr *bind_to, uint16_t port_min,
		     uint16_t port_max);

/**
 * Look at the receive queue of a UDP socket, without reading it.
 * Source: Linux, SO_MEMINFO: net/core/sock.c sk_get_meminfo()
 * @param ret_waiting  datagrams have arrived and are not read yet
 * @param ret_drops    datagrams dropped since the socket was made
 * @return 0; -errno
 */
int socket_queue_look(int fd, bool *ret_waiting, uint32_t *ret_drops);

/** Fill with random bytes for identifiers, from the kernel's generator. */
void random_bytes(void *dst, size_t bytes);

#endif
