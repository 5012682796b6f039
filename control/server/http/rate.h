/**
 * Limits the request rate of API keys: a token bucket for each key.
 * Thread: any; guarded by its own lock.
 */
#ifndef OFFHOOK_SERVER_HTTP_RATE_H
#define OFFHOOK_SERVER_HTTP_RATE_H

#include <stddef.h>
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

/* ---- buckets that several controllers share (rate_sharing.h) ---- */

struct rate_share {
	int64_t key;
	int64_t ns; /* of the tokens taken; or until the bucket is full */
};

/**
 * Learn what is left in the shared buckets, and take that much out of the own ones, if
 * they have more. A shared one may owe more than a bucket holds: requests then wait
 * until that is made up for.
 * @param shared    time until each is full; negative: it has been full so long
 * @param now_ns    monotonic, when that was so
 * @param since_ns  monotonic, <= now_ns: what was taken here since then is not in them
 */
void rate_learn(struct rate *r, const struct rate_share *shared, size_t count,
		int64_t now_ns, int64_t since_ns);

/**
 * Copy the tokens that were taken and not reported, as the time in which they are
 * added again. What an evicted key had taken is lost.
 * @param ret  written from the first element
 * @return how many keys
 */
size_t rate_unreported(struct rate *r,
		       struct rate_share ret[static RATE_KEYS_MAX]);

/** Note that the shared buckets contain these tokens: they are not reported again. */
void rate_reported(struct rate *r, const struct rate_share *reported,
		   size_t count);

#endif
