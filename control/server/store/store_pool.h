/**
 * Agent pools beside the API: the pool of the configuration, what its agents are
 * calibrated for.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_POOL_H
#define OFFHOOK_SERVER_STORE_STORE_POOL_H

#include <stdint.h>

struct store;

/** Agents of a pool, those that serve it besides their first one included. */
struct pool_calibration {
	uint64_t uncalibrated;
	uint64_t calibrated;
	uint64_t calls_most; /* that one is calibrated for */
	uint64_t calls;      /* of all together */
};

/** @return 0; -EIO */
int store_pool_calibration(struct store *s, int64_t pool_id,
			   struct pool_calibration *ret);

/**
 * Give the agent pool of this name a join token; make the pool if there is none.
 * The pool's agents keep their credentials. Nothing is written if it is its token
 * already.
 * @param token  not empty; only its hash is stored
 * @return 1: the pool was made or its token changed; 0: it had this token;
 *         -EEXIST another pool has this token; -EBUSY; -EIO
 */
int store_pool_token(struct store *s, const char *name, const char *token);

#endif
