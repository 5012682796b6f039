/**
 * The SRTP keys of a media session. The loop thread makes and releases them; in
 * between each is used by one media thread. Docs: docs/internals/media.md
 */
#ifndef OFFHOOK_MEDIA_SECURITY_SESSION_KEY_H
#define OFFHOOK_MEDIA_SECURITY_SESSION_KEY_H

#include "media/params.h"
#include "media/security/srtp_context.h"

#include <stdatomic.h>
#include <stdbool.h>

/** A key of one direction and port. */
struct session_key {
	struct session_key *next;     /* loop */
	struct media_crypto crypto;   /* constant */
	struct srtp_context *context; /* the media thread */
	_Atomic bool dropped;         /* by that thread: it may be released */
};

/** The keys of one direction and port, the newest first. Thread: loop. */
struct session_keys {
	struct session_key *first;
	bool in_force; /* `first` is used; false: RTP is plain now */
};

/**
 * The key to use from now on: the one in force if it has the same master key, so
 * that roll-over counters and replay windows stay, else a new one. Releases keys
 * that their threads have dropped.
 * Thread: loop
 * @param library  what a new key is made with
 * @return 0; -EINVAL suite unknown; -ENOMEM; -EIO the library refused
 */
int session_keys_get(struct session_key **ret, struct session_keys *keys,
		     const struct media_crypto *crypto,
		     enum media_srtp_library library);
/** No key is used from now on. Thread: loop */
void session_keys_none(struct session_keys *keys);
/** Wipe and release all keys. Thread: loop; no media thread may use them. */
void session_keys_release(struct session_keys *keys);

/** @return they have the same suite and master key. Thread: any that may use
 * both */
bool session_key_same(const struct session_key *a, const struct session_key *b);

/** Draw a master key for each suite in local->crypto, with tags 1, 2, ..., from
 * the kernel's random number generator. Thread: loop */
void session_keys_choose(struct media_local *local);

/** The media thread has stopped using the key. NULL is allowed. Thread: the one
 * that used it */
static inline void session_key_drop(struct session_key *key)
{
	/* release: pairs with the acquire in sweep(); the context was used
	 * before it is freed */
	if (key)
		atomic_store_explicit(&key->dropped, true,
				      memory_order_release);
}

#endif
