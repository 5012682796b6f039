#include "control/server/http/peers.h"

#include "base/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUCKETS    1024 /* power of two */
#define SWEEP_NS   (NS_PER_S / 4)
#define ADDR_BYTES 16

struct address {
	struct address *next;
	uint8_t bytes[ADDR_BYTES];
	unsigned connections;
};

struct peer {
	struct peer *prev; /* in the list of idle peers */
	struct peer *next;
	struct address *address;
	int fd;
	int64_t idle_since_ns;
	bool idle;
};

struct peers {
	struct peers_params params; /* constant */
	pthread_t sweeper;
	pthread_mutex_t lock;
	pthread_cond_t stop;
	/* all below: lock */
	bool stopping;
	struct peer *first; /* idle for longest */
	struct peer *last;
	struct address *buckets[BUCKETS];
};

static void address_bytes(uint8_t bytes[static ADDR_BYTES],
			  const struct sockaddr *address)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	memset(bytes, 0, ADDR_BYTES);
	if (address->sa_family == AF_INET6) {
		memcpy(&in6, address, sizeof(in6));
		/* one host may use all addresses of a /64 (RFC 6177) */
		memcpy(bytes, &in6.sin6_addr,
		       IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) ? 16 : 8);
	} else if (address->sa_family == AF_INET) {
		memcpy(&in, address, sizeof(in));
		bytes[10] = bytes[11] = 0xff;
		memcpy(bytes + 12, &in.sin_addr, 4);
	}
}

/* FNV-1a; an attacker with enough addresses to fill one bucket needs no
 * collisions. */
static struct address **find(struct peers *p, const uint8_t *bytes)
{
	uint32_t hash = 2166136261u;
	struct address **at;

	for (size_t i = 0; i < ADDR_BYTES; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	at = &p->buckets[hash & (BUCKETS - 1)];
	while (*at && memcmp((*at)->bytes, bytes, ADDR_BYTES) != 0)
		at = &(*at)->next;
	return at;
}

bool peers_admit(struct peers *p, const struct sockaddr *address)
{
	uint8_t bytes[ADDR_BYTES];
	const struct address *found;
	bool admit;

	if (p->params.per_address == 0 ||
	    netlist_has(p->params.exempt, address))
		return true;
	address_bytes(bytes, address);
	pthread_mutex_lock(&p->lock);
	found = *find(p, bytes);
	admit = !found || found->connections < p->params.per_address;
	pthread_mutex_unlock(&p->lock);
	return admit;
}

static void list_add(struct peers *p, struct peer *peer)
{
	peer->idle = true;
	peer->idle_since_ns = clock_mono_ns();
	peer->next = NULL;
	peer->prev = p->last;
	if (p->last)
		p->last->next = peer;
	else
		p->first = peer;
	p->last = peer;
}

static void list_remove(struct peers *p, struct peer *peer)
{
	if (!peer->idle)
		return;
	peer->idle = false;
	if (peer->prev)
		peer->prev->next = peer->next;
	else
		p->first = peer->next;
	if (peer->next)
		peer->next->prev = peer->prev;
	else
		p->last = peer->prev;
}

struct peer *peers_add(struct peers *p, const struct sockaddr *address, int fd)
{
	uint8_t bytes[ADDR_BYTES];
	struct peer *peer = calloc(1, sizeof(*peer));
	struct address **at;

	if (!peer)
		return NULL;
	peer->fd = fd;
	address_bytes(bytes, address);
	pthread_mutex_lock(&p->lock);
	at = find(p, bytes);
	if (!*at)
		*at = calloc(1, sizeof(**at));
	if (*at) {
		memcpy((*at)->bytes, bytes, ADDR_BYTES);
		(*at)->connections++;
		peer->address = *at;
		list_add(p, peer);
	}
	pthread_mutex_unlock(&p->lock);
	if (peer->address)
		return peer;
	free(peer);
	return NULL;
}

void peers_remove(struct peers *p, struct peer *peer)
{
	if (!peer)
		return;
	pthread_mutex_lock(&p->lock);
	list_remove(p, peer);
	if (--peer->address->connections == 0) {
		struct address **at = find(p, peer->address->bytes);

		*at = peer->address->next;
		free(peer->address);
	}
	pthread_mutex_unlock(&p->lock);
	free(peer);
}

void peers_busy(struct peers *p, struct peer *peer)
{
	if (!peer)
		return;
	pthread_mutex_lock(&p->lock);
	list_remove(p, peer);
	pthread_mutex_unlock(&p->lock);
}

void peers_idle(struct peers *p, struct peer *peer)
{
	if (!peer)
		return;
	pthread_mutex_lock(&p->lock);
	list_remove(p, peer);
	list_add(p, peer);
	pthread_mutex_unlock(&p->lock);
}

/* Shut down connections that are too slow. The HTTP thread notices the end and
 * removes the peer. Until then the peer is at the end of the list, so that it
 * is not shut down again and again. */
static void end_slow(struct peers *p, int64_t now_ns)
{
	struct peer *peer;

	while ((peer = p->first) != NULL &&
	       now_ns - peer->idle_since_ns > p->params.header_ns) {
		shutdown(peer->fd, SHUT_RDWR);
		list_remove(p, peer);
		list_add(p, peer);
	}
}

static void *sweeper_main(void *arg)
{
	struct peers *p = arg;

	pthread_mutex_lock(&p->lock);
	while (!p->stopping) {
		int64_t now_ns = clock_mono_ns();
		struct timespec until;

		end_slow(p, now_ns);
		now_ns += SWEEP_NS;
		until.tv_sec = now_ns / NS_PER_S;
		until.tv_nsec = now_ns % NS_PER_S;
		pthread_cond_timedwait(&p->stop, &p->lock, &until);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int peers_new(struct peers **ret, const struct peers_params *params)
{
	struct peers *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;
	int err;

	if (!p)
		return -ENOMEM;
	p->params = *params;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->stop, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&p->sweeper, NULL, sweeper_main, p);
	if (err) {
		pthread_cond_destroy(&p->stop);
		pthread_mutex_destroy(&p->lock);
		free(p);
		return -err;
	}
	*ret = p;
	return 0;
}

struct peers *peers_free(struct peers *p)
{
	if (!p)
		return NULL;
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_signal(&p->stop);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->sweeper, NULL);
	pthread_cond_destroy(&p->stop);
	pthread_mutex_destroy(&p->lock);
	free(p);
	return NULL;
}
