#include "control/server/http/rate.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct bucket {
	int64_t key; /* 0: free */
	/* The bucket is full at this time if nothing is taken until then: the
	 * virtual scheduling form of a token bucket (ITU-T I.371, GCRA). */
	int64_t full_ns;
	int64_t unreported_ns; /* time for the tokens taken and not reported */
};

struct rate {
	int64_t token_ns; /* constant: time for one token */
	int64_t depth_ns; /* constant: time to fill a bucket */
	pthread_mutex_t lock;
	struct bucket buckets[RATE_KEYS_MAX]; /* lock */
};

int rate_new(struct rate **ret, uint32_t per_second, uint32_t burst)
{
	struct rate *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->token_ns = NS_PER_S / per_second;
	r->depth_ns = r->token_ns * burst;
	pthread_mutex_init(&r->lock, NULL);
	*ret = r;
	return 0;
}

struct rate *rate_free(struct rate *r)
{
	if (!r)
		return NULL;
	pthread_mutex_destroy(&r->lock);
	free(r);
	return NULL;
}

/* Keys are few: searching the table costs less than the request's TLS. */
static struct bucket *find(struct rate *r, int64_t key)
{
	struct bucket *oldest = &r->buckets[0];

	for (size_t i = 0; i < RATE_KEYS_MAX; i++) {
		struct bucket *b = &r->buckets[i];

		if (b->key == key)
			return b;
		if (b->key == 0) {
			oldest = b;
			break; /* the table is filled from the front */
		}
		if (b->full_ns < oldest->full_ns)
			oldest = b;
	}
	*oldest = (struct bucket){.key = key, .full_ns = INT64_MIN};
	return oldest;
}

int64_t rate_take(struct rate *r, int64_t key, int64_t now_ns,
		  struct rate_left *ret_left)
{
	struct bucket *b;
	int64_t full, wait;

	pthread_mutex_lock(&r->lock);
	b = find(r, key);
	full = (b->full_ns > now_ns ? b->full_ns : now_ns) + r->token_ns;
	wait = full - now_ns - r->depth_ns;
	if (wait <= 0) {
		b->full_ns = full;
		b->unreported_ns += r->token_ns;
	}
	ret_left->full_ns = b->full_ns - now_ns;
	pthread_mutex_unlock(&r->lock);
	ret_left->tokens = 0;
	if (ret_left->full_ns < r->depth_ns)
		ret_left->tokens =
			(uint32_t)((r->depth_ns - ret_left->full_ns) /
				   r->token_ns);
	return wait > 0 ? wait : 0;
}

static int64_t later(int64_t a_ns, int64_t b_ns)
{
	return a_ns > b_ns ? a_ns : b_ns;
}

/* What was taken here since then may have been taken at any time since then: the own
 * bucket knows when, so the shared one is never taken as the fuller of both. */
void rate_learn(struct rate *r, const struct rate_share *shared, size_t count,
		int64_t now_ns, int64_t since_ns)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < count; i++) {
		struct bucket *b = find(r, shared[i].key);

		b->full_ns = later(b->full_ns,
				   later(now_ns + shared[i].ns, since_ns) +
					   b->unreported_ns);
	}
	pthread_mutex_unlock(&r->lock);
}

size_t rate_unreported(struct rate *r,
		       struct rate_share ret[static RATE_KEYS_MAX])
{
	size_t count = 0;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < RATE_KEYS_MAX && r->buckets[i].key; i++) {
		const struct bucket *b = &r->buckets[i];

		if (b->unreported_ns)
			ret[count++] =
				(struct rate_share){b->key, b->unreported_ns};
	}
	pthread_mutex_unlock(&r->lock);
	return count;
}

void rate_reported(struct rate *r, const struct rate_share *reported,
		   size_t count)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < count; i++) {
		struct bucket *b = find(r, reported[i].key);

		/* an evicted key that came back has less */
		b->unreported_ns = b->unreported_ns > reported[i].ns
					   ? b->unreported_ns - reported[i].ns
					   : 0;
	}
	pthread_mutex_unlock(&r->lock);
}
