/**
 * Pairs of sockets that sessions share, and what the sessions on them have in
 * common. Thread: loop.
 */
#ifndef OFFHOOK_MEDIA_ENGINE_SHARED_SOCKETS_H
#define OFFHOOK_MEDIA_ENGINE_SHARED_SOCKETS_H

#include "media/peer_table.h"
#include "media/rx/rx_path_shared.h"
#include "media/socket.h"
#include "media/tx/tx_path_shared.h"

#include <stdbool.h>
#include <stdint.h>

/** It stays open until the engine ends. */
struct shared_pair {
	struct shared_pair *next;
	struct media_addr bind; /* address, port 0 */
	int fds[SOCKET_COUNT];
	struct media_addr addrs[SOCKET_COUNT];
	struct rx_shared_socket rx[SOCKET_COUNT];
	uint32_t sessions;
	uint32_t sessions_max;
};

struct shared_sockets {
	struct peer_table *table; /* the loop's */
	struct rx_shared *rx;
	struct tx_queue *queue;
	struct shared_pair *pairs;
};

/** @param slots  sessions have numbers below it
 * @return 0; -ENOMEM */
int shared_sockets_new(struct shared_sockets **ret, uint32_t slots);
/** The threads have ended. @param shared  may be NULL @return NULL */
struct shared_sockets *shared_sockets_free(struct shared_sockets *shared);

/**
 * Take a place on a pair with this address; a new one is opened if none is left.
 * @param bind  port 0
 * @return 0; as socket_pair_bind(); -ENOMEM
 */
int shared_sockets_take(struct shared_sockets *shared, struct shared_pair **ret,
			const struct media_addr *bind, uint16_t port_min,
			uint16_t port_max);
/** Give the place back. */
void shared_sockets_give(struct shared_pair *pair);

/** @return it is a loopback address */
bool shared_sockets_loopback(const struct media_addr *a);

#endif
