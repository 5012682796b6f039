#include "media/engine/shared_sockets.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <unistd.h>

/* Asked for; without CAP_NET_ADMIN the kernel grants net.core.rmem_max. */
#define RECEIVE_BYTES (8 * 1024 * 1024)
/* Of the kernel's receive memory a session needs this much: 100 ms of its packets.
 * A pair takes as many sessions as that allows. */
#define SESSION_BYTES 4096
#define SESSIONS_MIN  16

struct shared_sockets *shared_sockets_free(struct shared_sockets *shared)
{
	if (!shared)
		return NULL;
	while (shared->pairs) {
		struct shared_pair *pair = shared->pairs;

		shared->pairs = pair->next;
		for (int i = 0; i < SOCKET_COUNT; i++)
			close(pair->fds[i]);
		free(pair);
	}
	peer_table_free(shared->table);
	rx_shared_free(shared->rx);
	tx_queue_free(shared->queue);
	free(shared);
	return NULL;
}

int shared_sockets_new(struct shared_sockets **ret, uint32_t slots)
{
	struct shared_sockets *shared = calloc(1, sizeof(*shared));
	int err;

	if (!shared)
		return -ENOMEM;
	err = peer_table_new(&shared->table, slots);
	if (!err)
		err = rx_shared_new(&shared->rx, slots);
	if (!err)
		err = tx_queue_new(&shared->queue);
	if (err) {
		shared_sockets_free(shared);
		return err;
	}
	*ret = shared;
	return 0;
}

bool shared_sockets_loopback(const struct media_addr *a)
{
	if (a->ss.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->ss.in6.sin6_addr);
	return ntohl(a->ss.in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Ask for room for many sessions. On a loopback address also for joined datagrams:
 * there the kernel joins only what was sent joined, so that one time stamp is that
 * of all. @return sessions that there is room for */
static uint32_t socket_widen(struct shared_pair *pair, int i)
{
	const int bytes = RECEIVE_BYTES;
	const int on = 1;
	int fd = pair->fds[i];
	int granted = 0;
	socklen_t length = sizeof(granted);

	/* what is granted counts */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes,
				 sizeof(bytes));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	pair->rx[i].joined =
		shared_sockets_loopback(&pair->bind) &&
		setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) == 0;
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &granted, &length) ||
	    granted / SESSION_BYTES < SESSIONS_MIN)
		return SESSIONS_MIN;
	return (uint32_t)(granted / SESSION_BYTES);
}

static int pair_open(struct shared_sockets *shared, struct shared_pair **ret,
		     const struct media_addr *bind, uint16_t port_min,
		     uint16_t port_max)
{
	struct shared_pair *pair = calloc(1, sizeof(*pair));
	int err;

	if (!pair)
		return -ENOMEM;
	err = socket_pair_bind(pair->fds, pair->addrs, bind, port_min,
			       port_max);
	if (err) {
		free(pair);
		return err;
	}
	pair->bind = *bind;
	for (int i = 0; i < SOCKET_COUNT; i++) {
		uint32_t max = socket_widen(pair, i);

		pair->rx[i].source.path = &rx_path_shared;
		pair->rx[i].shared = shared->rx;
		pair->rx[i].fd = pair->fds[i];
		pair->rx[i].rtcp = i == SOCKET_RTCP;
		if (i == SOCKET_RTP)
			pair->sessions_max = max;
	}
	pair->next = shared->pairs;
	shared->pairs = pair;
	*ret = pair;
	return 0;
}

int shared_sockets_take(struct shared_sockets *shared, struct shared_pair **ret,
			const struct media_addr *bind, uint16_t port_min,
			uint16_t port_max)
{
	struct shared_pair *pair = shared->pairs;
	int err = 0;

	while (pair && (pair->sessions == pair->sessions_max ||
			!media_addr_equal(&pair->bind, bind)))
		pair = pair->next;
	if (!pair)
		err = pair_open(shared, &pair, bind, port_min, port_max);
	if (err)
		return err;
	pair->sessions++;
	*ret = pair;
	return 0;
}

void shared_sockets_give(struct shared_pair *pair)
{
	pair->sessions--;
}
