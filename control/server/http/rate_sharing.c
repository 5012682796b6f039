#include "control/server/http/rate_sharing.h"

#include "base/clock.h"
#include "base/log.h"
#include "control/server/http/rate.h"
#include "control/server/store/store.h"
#include "control/server/store/store_rate.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Interval of the exchange: docs/reference/api.md#limits derives the bound of it. */
#define EXCHANGE_NS NS_PER_S

struct rate_sharing {
	/* constant after start */
	struct rate *rate;
	struct store *store;
	pthread_t thread;

	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* lock */

	/* thread */
	int64_t since_ns; /* what was taken before is reported */
	struct rate_share shares[RATE_KEYS_MAX];
	struct store_rate stored[RATE_KEYS_MAX];
};

/* @return the wall clock at a monotonic time */
static int64_t wall_us(int64_t mono_ns)
{
	return (clock_wall_ns() - (clock_mono_ns() - mono_ns)) / NS_PER_US;
}

static int learn(struct rate_sharing *s)
{
	const int64_t now_ns = clock_mono_ns();
	int count =
		store_rate_read(s->store, wall_us(now_ns), wall_us(s->since_ns),
				s->stored, RATE_KEYS_MAX);

	if (count < 0)
		return count;
	for (int i = 0; i < count; i++)
		s->shares[i] = (struct rate_share){s->stored[i].key_id,
						   s->stored[i].us * NS_PER_US};
	rate_learn(s->rate, s->shares, (size_t)count, now_ns, s->since_ns);
	return 0;
}

/* If the answer to the commit is lost the same is reported again, and counts twice. */
static int report(struct rate_sharing *s)
{
	const int64_t now_ns = clock_mono_ns();
	const size_t count = rate_unreported(s->rate, s->shares);
	int err = 0;

	for (size_t i = 0; i < count; i++)
		s->stored[i] = (struct store_rate){s->shares[i].key,
						   s->shares[i].ns / NS_PER_US};
	if (count)
		err = store_rate_take(s->store, s->stored, count,
				      wall_us(s->since_ns));
	if (err)
		return err;
	rate_reported(s->rate, s->shares, count);
	s->since_ns = now_ns;
	return 0;
}

/* @return false: stop */
static bool pause_until(struct rate_sharing *s, int64_t until_ns)
{
	const struct timespec deadline = {.tv_sec = until_ns / NS_PER_S,
					  .tv_nsec = until_ns % NS_PER_S};
	bool go;

	pthread_mutex_lock(&s->lock);
	while (!s->stop)
		if (pthread_cond_timedwait(&s->wake, &s->lock, &deadline))
			break;
	go = !s->stop;
	pthread_mutex_unlock(&s->lock);
	return go;
}

static void *sharing_thread(void *arg)
{
	struct rate_sharing *s = arg;
	int64_t next_ns;

	do {
		int err = learn(s);

		next_ns = clock_mono_ns() + EXCHANGE_NS;
		if (err == 0)
			err = report(s);
		if (err)
			log_debug("rates of keys: %s", strerror(-err));
	} while (pause_until(s, next_ns));
	return NULL;
}

static void init_lock(struct rate_sharing *s)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&s->lock, NULL);
}

static void release(struct rate_sharing *s)
{
	pthread_cond_destroy(&s->wake);
	pthread_mutex_destroy(&s->lock);
	store_free(s->store);
	free(s);
}

int rate_sharing_start(struct rate_sharing **ret, struct database *database,
		       struct rate *rate)
{
	struct rate_sharing *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->rate = rate;
	s->since_ns = clock_mono_ns();
	init_lock(s);
	err = store_new(&s->store, database);
	if (err || !store_is_shared(s->store)) {
		release(s);
		if (err == 0)
			*ret = NULL;
		return err;
	}
	err = -pthread_create(&s->thread, NULL, sharing_thread, s);
	if (err) {
		release(s);
		return err;
	}
	*ret = s;
	return 0;
}

struct rate_sharing *rate_sharing_stop(struct rate_sharing *s)
{
	if (!s)
		return NULL;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	release(s);
	return NULL;
}
