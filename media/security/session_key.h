/**
 * Inside of the media engine: the SRTP keys of a session. The loop makes and
 * releases them, one media thread uses each in between. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SESSION_KEY_H
#define OFFHOOK_MEDIA_SECURITY_SESSION_KEY_H

#include "media/params.h"
#include "media/security/srtp_context.h"

#include <stdatomic.h>
#include <stdbool.h>

/** A key of one direction. */
struct session_key {
	struct session_key *next;     /* loop */
	struct media_crypto crypto;   /* loop */
	struct srtp_context *context; /* the thread that uses it */
	_Atomic bool dropped;         /* by that thread, or never given out */
};

/** Keys of one direction, the newest first. Loop thread. */
struct session_keys {
	struct session_key *first;
	bool in_force; /* the first one; else the last settlement was plain */
};

/**
 * The key to use from now on: the one in force if it is the same (its state
 * goes on), else a new one.
 * @return 0; -EINVAL; -ENOMEM; -EIO
 */
int session_keys_get(struct session_key **ret, struct session_keys *keys,
		     const struct media_crypto *crypto,
		     enum media_srtp_library library);
/** Nothing is encrypted from now on. */
void session_keys_none(struct session_keys *keys);
/** Wipe and free all; no thread uses them. */
void session_keys_release(struct session_keys *keys);

/** Fresh keys for our side, one a suite, from the kernel's generator. */
void session_keys_choose(struct media_local *local);

/** The thread does not use it any more. NULL is fine. Thread: its user. */
static inline void session_key_drop(struct session_key *key)
{
	/* release: pairs with the acquire in sweep(); the context was used
	 * before it is freed */
	if (key)
		atomic_store_explicit(&key->dropped, true,
				      memory_order_release);
}

#endif
