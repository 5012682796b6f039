#include "control/server/session/throttle.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/server/store/store_login_failure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES    16
#define CLIENT_BYTES 64 /* of an address as text */

struct entry {
	uint8_t key[KEY_BYTES];
	unsigned failures; /* 0: free */
	int64_t last_ns;   /* of the last failure */
};

struct throttle {
	pthread_mutex_t lock;
	struct entry entries[THROTTLE_ENTRIES]; /* lock */
};

/* A name or an address, with its longest wait. */
struct subject {
	uint8_t key[KEY_BYTES];
	int64_t longest_ns;
};

static struct subject subject_of(const char *kind, const char *text,
				 int64_t longest_ns)
{
	struct subject s = {.longest_ns = longest_ns};

	crypto_generichash(s.key, KEY_BYTES, (const unsigned char *)text,
			   strlen(text), (const unsigned char *)kind,
			   strlen(kind));
	return s;
}

/* One host may use all addresses of a /64 (RFC 6177): it counts as one client.
 * @param ret  the address, of IPv6 without its lower half */
static void client_of(const char *address, char ret[static CLIENT_BYTES])
{
	struct in6_addr in6;

	if (inet_pton(AF_INET6, address, &in6) == 1 &&
	    !IN6_IS_ADDR_V4MAPPED(&in6)) {
		memset(in6.s6_addr + 8, 0, 8);
		inet_ntop(AF_INET6, &in6, ret, CLIENT_BYTES);
		return;
	}
	str_print(ret, CLIENT_BYTES, "%s", address);
}

static struct subject of_name(const char *name)
{
	return subject_of("name of an account", name, THROTTLE_NAME_NS);
}

static struct subject of_address(const char *address)
{
	char client[CLIENT_BYTES];

	client_of(address, client);
	return subject_of("address of a client", client, THROTTLE_ADDRESS_NS);
}

int throttle_new(struct throttle **ret)
{
	struct throttle *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

struct throttle *throttle_free(struct throttle *t)
{
	if (!t)
		return NULL;
	pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

static struct entry *find(struct throttle *t, const struct subject *s)
{
	for (size_t i = 0; i < THROTTLE_ENTRIES; i++) {
		struct entry *e = &t->entries[i];

		if (e->failures && memcmp(e->key, s->key, KEY_BYTES) == 0)
			return e;
	}
	return NULL;
}

static int64_t wait_of(unsigned failures, int64_t last_ns, int64_t longest_ns,
		       int64_t now_ns)
{
	int64_t wait_ns = NS_PER_S, left_ns;

	if (failures < THROTTLE_FREE)
		return 0;
	for (unsigned i = THROTTLE_FREE; i < failures && wait_ns < longest_ns;
	     i++)
		wait_ns *= 2;
	if (wait_ns > longest_ns)
		wait_ns = longest_ns;
	left_ns = last_ns + wait_ns - now_ns;
	if (left_ns > wait_ns)
		left_ns = wait_ns; /* the wall clock was set back */
	return left_ns > 0 ? left_ns : 0;
}

/* ---- in the database ---- */

static void subjects_of(const struct guess *g, struct login_subject ret[2])
{
	char client[CLIENT_BYTES];

	client_of(g->address, client);
	ret[0] = login_subject(g->shared, "name", g->name);
	ret[1] = login_subject(g->shared, "address", client);
}

static int shared_wait(const struct guess *g, int64_t *ret_wait_ns)
{
	static const int64_t longest_ns[] = {THROTTLE_NAME_NS,
					     THROTTLE_ADDRESS_NS};
	struct login_subject subjects[2];
	int64_t wait_ns = 0;

	subjects_of(g, subjects);
	for (size_t i = 0; i < 2; i++) {
		struct login_failures f;
		int64_t of_one_ns;
		int err = store_login_failures(g->shared, &subjects[i], &f);

		if (err)
			return err;
		of_one_ns = wait_of(f.failures, f.last_ms * NS_PER_MS,
				    longest_ns[i], g->now_ns);
		if (of_one_ns > wait_ns)
			wait_ns = of_one_ns;
	}
	*ret_wait_ns = wait_ns;
	return 0;
}

static int shared_failed(const struct guess *g)
{
	struct login_subject subjects[2];

	subjects_of(g, subjects);
	return store_login_failed(g->shared, subjects, 2, g->now_ns / NS_PER_MS,
				  THROTTLE_ADDRESS_NS / NS_PER_MS,
				  THROTTLE_ENTRIES);
}

/* ---- in this process ---- */

static int64_t own_wait(struct throttle *t, const struct guess *g)
{
	const struct subject subjects[] = {of_name(g->name),
					   of_address(g->address)};
	int64_t longest_ns = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < 2; i++) {
		const struct entry *e = find(t, &subjects[i]);
		int64_t wait_ns = e ? wait_of(e->failures, e->last_ns,
					      subjects[i].longest_ns, g->now_ns)
				    : 0;

		if (wait_ns > longest_ns)
			longest_ns = wait_ns;
	}
	pthread_mutex_unlock(&t->lock);
	return longest_ns;
}

static struct entry *oldest(struct throttle *t)
{
	struct entry *found = &t->entries[0];

	for (size_t i = 0; i < THROTTLE_ENTRIES; i++) {
		struct entry *e = &t->entries[i];

		if (e->failures == 0)
			return e;
		if (e->last_ns < found->last_ns)
			found = e;
	}
	return found;
}

static void note(struct throttle *t, const struct subject *s, int64_t now_ns)
{
	struct entry *e = find(t, s);

	if (!e) {
		e = oldest(t);
		*e = (struct entry){.failures = 0};
		memcpy(e->key, s->key, KEY_BYTES);
	} else if (now_ns - e->last_ns > THROTTLE_ADDRESS_NS) {
		e->failures = 0;
	}
	e->failures++;
	e->last_ns = now_ns;
}

static void own_failed(struct throttle *t, const struct guess *g)
{
	const struct subject subjects[] = {of_name(g->name),
					   of_address(g->address)};

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < 2; i++)
		note(t, &subjects[i], g->now_ns);
	pthread_mutex_unlock(&t->lock);
}

static void own_passed(struct throttle *t, const struct guess *g)
{
	const struct subject subject = of_name(g->name);
	struct entry *e;

	pthread_mutex_lock(&t->lock);
	e = find(t, &subject);
	if (e)
		e->failures = 0;
	pthread_mutex_unlock(&t->lock);
}

int throttle_wait(struct throttle *t, const struct guess *g,
		  int64_t *ret_wait_ns)
{
	if (g->shared)
		return shared_wait(g, ret_wait_ns);
	*ret_wait_ns = own_wait(t, g);
	return 0;
}

int throttle_failed(struct throttle *t, const struct guess *g)
{
	if (g->shared)
		return shared_failed(g);
	own_failed(t, g);
	return 0;
}

int throttle_passed(struct throttle *t, const struct guess *g)
{
	if (g->shared) {
		struct login_subject name =
			login_subject(g->shared, "name", g->name);

		return store_login_passed(g->shared, &name);
	}
	own_passed(t, g);
	return 0;
}
