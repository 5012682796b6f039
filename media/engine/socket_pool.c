#include "media/engine/socket_pool.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct resting {
	struct socket_pair pair;
	int64_t since_ns;
};

struct socket_pool {
	struct resting *pairs; /* a ring, the oldest first */
	size_t max;
	size_t first;
	size_t count;
	/* to measure how many sessions end */
	int64_t window_ns;
	unsigned given;
	bool busy;
};

static void pair_close(const struct socket_pair *pair)
{
	for (int i = 0; i < SOCKET_COUNT; i++)
		close(pair->fds[i]);
}

/* @return false: a datagram has arrived or was dropped */
static bool pair_silent(const struct socket_pair *pair)
{
	for (int i = 0; i < SOCKET_COUNT; i++) {
		bool waiting;
		uint32_t drops;

		if (socket_queue_look(pair->fds[i], &waiting, &drops) ||
		    waiting || drops != pair->drops[i])
			return false;
	}
	return true;
}

int socket_pool_new(struct socket_pool **ret, uint16_t port_min,
		    uint16_t port_max)
{
	struct socket_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->max = (size_t)(port_max - port_min + 1) / SOCKET_COUNT /
		 SOCKET_POOL_SHARE;
	if (p->max > SOCKET_POOL_MAX)
		p->max = SOCKET_POOL_MAX;
	p->pairs = calloc(p->max + 1, sizeof(*p->pairs));
	if (!p->pairs) {
		free(p);
		return -ENOMEM;
	}
	*ret = p;
	return 0;
}

struct socket_pool *socket_pool_free(struct socket_pool *p)
{
	if (p) {
		socket_pool_flush(p);
		free(p->pairs);
		free(p);
	}
	return NULL;
}

static bool worth_it(struct socket_pool *p, int64_t now_ns)
{
	if (now_ns - p->window_ns >= NS_PER_S) {
		p->busy = p->given >= SOCKET_POOL_RATE &&
			  now_ns - p->window_ns < 2 * NS_PER_S;
		p->window_ns = now_ns;
		p->given = 0;
	}
	if (++p->given >= SOCKET_POOL_RATE)
		p->busy = true;
	return p->busy;
}

void socket_pool_give(struct socket_pool *p, const struct socket_pair *pair,
		      int64_t now_ns)
{
	if (!worth_it(p, now_ns)) {
		pair_close(pair);
		socket_pool_flush(p);
		return;
	}
	if (p->count == p->max) {
		pair_close(pair);
		return;
	}
	p->pairs[(p->first + p->count) % p->max] =
		(struct resting){*pair, now_ns};
	p->count++;
}

static struct socket_pair oldest_remove(struct socket_pool *p)
{
	struct socket_pair pair = p->pairs[p->first].pair;

	p->first = (p->first + 1) % p->max;
	p->count--;
	return pair;
}

bool socket_pool_take(struct socket_pool *p, struct socket_pair *ret,
		      const struct media_addr *bind_to, int64_t now_ns)
{
	while (p->count > 0) {
		const struct resting *oldest = &p->pairs[p->first];
		struct media_addr wanted = *bind_to;
		struct socket_pair pair;

		media_addr_set_port(
			&wanted,
			media_addr_port(&oldest->pair.addrs[SOCKET_RTP]));
		if (now_ns - oldest->since_ns < SOCKET_POOL_REST_NS ||
		    !media_addr_equal(&wanted, &oldest->pair.addrs[SOCKET_RTP]))
			return false;
		pair = oldest_remove(p);
		if (pair_silent(&pair)) {
			*ret = pair;
			return true;
		}
		pair_close(&pair);
	}
	return false;
}

size_t socket_pool_flush(struct socket_pool *p)
{
	size_t count = p->count;

	while (p->count > 0) {
		const struct socket_pair pair = oldest_remove(p);

		pair_close(&pair);
	}
	return count;
}
