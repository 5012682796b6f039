#include "control/server/session/throttle.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 16

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

static struct subject of_name(const char *name)
{
	return subject_of("name of an account", name, THROTTLE_NAME_NS);
}

static struct subject of_address(const char *address)
{
	return subject_of("address of a client", address, THROTTLE_ADDRESS_NS);
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

static int64_t wait_of(const struct entry *e, const struct subject *s,
		       int64_t now_ns)
{
	int64_t wait_ns = NS_PER_S, left_ns;

	if (!e || e->failures < THROTTLE_FREE)
		return 0;
	for (unsigned i = THROTTLE_FREE;
	     i < e->failures && wait_ns < s->longest_ns; i++)
		wait_ns *= 2;
	if (wait_ns > s->longest_ns)
		wait_ns = s->longest_ns;
	left_ns = e->last_ns + wait_ns - now_ns;
	return left_ns > 0 ? left_ns : 0;
}

int64_t throttle_wait(struct throttle *t, const char *name, const char *address,
		      int64_t now_ns)
{
	const struct subject subjects[] = {of_name(name), of_address(address)};
	int64_t longest_ns = 0;

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < 2; i++) {
		int64_t wait_ns =
			wait_of(find(t, &subjects[i]), &subjects[i], now_ns);

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

void throttle_failed(struct throttle *t, const char *name, const char *address,
		     int64_t now_ns)
{
	const struct subject subjects[] = {of_name(name), of_address(address)};

	pthread_mutex_lock(&t->lock);
	for (size_t i = 0; i < 2; i++)
		note(t, &subjects[i], now_ns);
	pthread_mutex_unlock(&t->lock);
}

void throttle_passed(struct throttle *t, const char *name)
{
	const struct subject subject = of_name(name);
	struct entry *e;

	pthread_mutex_lock(&t->lock);
	e = find(t, &subject);
	if (e)
		e->failures = 0;
	pthread_mutex_unlock(&t->lock);
}
