/**
 * Limits the request rate of API keys: a token bucket for each key.
 * Thread: any; guarded by its own lock.
 */
#ifndef OFFHOOK_SERVER_HTTP_RATE_H
#define OFFHOOK_SERVER_HTTP_RATE_H

#include <stdint.h>

/* Keys kept. Above this number the key idle for longest is dropped; it gets a
 * full bucket with its next request. */
#define RATE_KEYS_MAX 1024

struct rate;

/**
 * Make the table of buckets, all full.
 * @param per_second  tokens added to a bucket per second, > 0
 * @param burst       tokens a bucket holds, > 0
 * @return 0; -ENOMEM
 */
int rate_new(struct rate **ret, uint32_t per_second, uint32_t burst);
/** Accepts NULL. @return NULL */
struct rate *rate_free(struct rate *r);

/** State of a bucket after a request. */
struct rate_left {
	uint32_t tokens; /* left, rounded down */
	int64_t full_ns; /* until it is full again */
};

/**
 * Take a token out of a key's bucket.
 * @param key       not 0
 * @param now_ns    monotonic
 * @param ret_left  written in any case
 * @return 0: a token was taken; else ns until there is one, > 0
 */
int64_t rate_take(struct rate *r, int64_t key, int64_t now_ns,
		  struct rate_left *ret_left);

#endif
