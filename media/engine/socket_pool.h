/**
 * Socket pairs of ended sessions, kept for new ones: at a thousand calls a
 * second, opening and closing them takes more time than the signalling sent.
 * A pair rests before it is used again. If a datagram arrives meanwhile, the
 * peer still sends to the old call, and the pair is closed.
 * Thread: loop.
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SOCKET_POOL_H
#define OFFHOOK_MEDIA_ENGINE_SOCKET_POOL_H

#include "media/socket.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pair rests at least this long. */
#define SOCKET_POOL_REST_NS INT64_C(1000000000)
/* Pairs are kept only while this many sessions or more end per second. */
#define SOCKET_POOL_RATE 100
/* At most 1/SOCKET_POOL_SHARE of the port range may rest, and SOCKET_POOL_MAX
 * pairs. */
#define SOCKET_POOL_SHARE 8
#define SOCKET_POOL_MAX   1024

struct socket_pair {
	int fds[SOCKET_COUNT];
	struct media_addr addrs[SOCKET_COUNT];
	uint32_t drops[SOCKET_COUNT]; /* socket_queue_look() until now */
};

struct socket_pool;

/** @param port_min,port_max  port range of the pairs
 * @return 0; -ENOMEM */
int socket_pool_new(struct socket_pool **ret, uint16_t port_min,
		    uint16_t port_max);
/** Close all pairs.
 * @param p  may be NULL
 * @return NULL */
struct socket_pool *socket_pool_free(struct socket_pool *p);

/**
 * Keep or close a pair that no thread uses.
 * @param pair    its descriptors now belong to the pool
 * @param now_ns  monotonic, not earlier than in previous calls
 */
void socket_pool_give(struct socket_pool *p, const struct socket_pair *pair,
		      int64_t now_ns);

/**
 * Take the pair that has rested longest.
 * @param ret      owned by the caller; written on success
 * @param bind_to  required address, port ignored
 * @param now_ns   monotonic
 * @return false: no pair, or the oldest has another address or has not rested
 *         long enough
 */
bool socket_pool_take(struct socket_pool *p, struct socket_pair *ret,
		      const struct media_addr *bind_to, int64_t now_ns);

/** Close all pairs, since their ports are needed.
 * @return number of pairs closed */
size_t socket_pool_flush(struct socket_pool *p);

#endif
