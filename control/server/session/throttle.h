/**
 * Guesses at passwords: after some that failed, a name or an address has to
 * wait, longer each time.
 * Thread: any; guarded by its own lock.
 */
#ifndef OFFHOOK_SERVER_SESSION_THROTTLE_H
#define OFFHOOK_SERVER_SESSION_THROTTLE_H

#include <stdint.h>

/* So many may fail before there is a wait: 1 s, then twice the one before. */
#define THROTTLE_FREE 5
/* Of a name: whoever it belongs to is not kept out for longer. */
#define THROTTLE_NAME_NS    (INT64_C(60) * 1000000000)
#define THROTTLE_ADDRESS_NS (INT64_C(900) * 1000000000)
/* Names and addresses kept; beyond, the one without failures for longest goes. */
#define THROTTLE_ENTRIES 1024

struct throttle;

/** @return 0; -ENOMEM */
int throttle_new(struct throttle **ret);
/** Accepts NULL. @return NULL */
struct throttle *throttle_free(struct throttle *t);

/** @param now_ns  monotonic @return 0: go on; else ns to wait, > 0 */
int64_t throttle_wait(struct throttle *t, const char *name, const char *address,
		      int64_t now_ns);

/** A guess was wrong. */
void throttle_failed(struct throttle *t, const char *name, const char *address,
		     int64_t now_ns);

/** It was right: the name begins anew, the address does not. */
void throttle_passed(struct throttle *t, const char *name);

#endif
