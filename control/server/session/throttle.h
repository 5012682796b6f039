/**
 * Throttles password guesses: after some failures a name or an address has to
 * wait, longer each time. IPv6 addresses of one /64 count as one. Failures are counted in this process (SQLite), or in the
 * database by all controllers that share it (PostgreSQL).
 * Thread: any; guarded by its own lock.
 */
#ifndef OFFHOOK_SERVER_SESSION_THROTTLE_H
#define OFFHOOK_SERVER_SESSION_THROTTLE_H

#include <stdint.h>

/* Failures without a wait. Then the wait is 1 s and doubles with each failure.
 */
#define THROTTLE_FREE 5
/* Longest wait of a name, so that its owner is not locked out for longer. */
#define THROTTLE_NAME_NS    (INT64_C(60) * 1000000000)
#define THROTTLE_ADDRESS_NS (INT64_C(900) * 1000000000)
/* Names and addresses that are kept; above it the one whose last failure is
 * oldest is dropped. */
#define THROTTLE_ENTRIES 1024

struct store;
struct throttle;

/* A name and a password that a client sends. */
struct guess {
	struct store *shared; /* to count in; NULL: count in this process */
	const char *name;
	const char *address; /* as text */
	int64_t now_ns;      /* monotonic; with `shared` the wall clock */
};

/** @return 0; -ENOMEM */
int throttle_new(struct throttle **ret);
/** Accepts NULL. @return NULL */
struct throttle *throttle_free(struct throttle *t);

/**
 * Check whether a guess must wait.
 * @param ret_wait_ns  0: go on; else ns to wait
 * @return 0; of the database: -ENOTCONN, -EIO
 */
int throttle_wait(struct throttle *t, const struct guess *g,
		  int64_t *ret_wait_ns);

/** Count a failed guess. @return 0; of the database: -EBUSY, -ENOTCONN, -EIO */
int throttle_failed(struct throttle *t, const struct guess *g);

/** Note a right password: clears the failures of the name, not those of the
 * address. @return as throttle_failed() */
int throttle_passed(struct throttle *t, const struct guess *g);

#endif
