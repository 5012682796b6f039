/**
 * What requests took from the buckets of keys, for all controllers on a database.
 * A bucket is stored as the time at which it is full again; one without a row is
 * full.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_RATE_H
#define OFFHOOK_SERVER_STORE_STORE_RATE_H

#include <stddef.h>
#include <stdint.h>

struct store;

struct store_rate {
	int64_t key_id; /* negative: a user of the pages */
	int64_t us;     /* of the tokens taken; or until the bucket is full */
};

/* A row is deleted when its bucket has been full for so many seconds. */
#define RATE_KEPT_S 60

/**
 * Take tokens out of buckets, in one transaction.
 * @param since_us  wall clock: they were taken after that, and refilled since
 * @return 0; -EBUSY; -ENOTCONN, possibly after the commit; -EIO
 */
int store_rate_take(struct store *s, const struct store_rate *taken,
		    size_t count, int64_t since_us);

/**
 * Read the buckets, the emptiest first.
 * @param now_us    wall clock
 * @param since_us  those that have been full since then are left out
 * @param ret       `max` elements, written from the first; the time until each is
 *                  full, negative if it is
 * @return how many; -ENOTCONN; -EIO
 */
int store_rate_read(struct store *s, int64_t now_us, int64_t since_us,
		    struct store_rate *ret, size_t max);

#endif
