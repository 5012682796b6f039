#include "media/rx_secure.h"

#include <errno.h>
#include <string.h>

struct stashed *stash_place(struct rx_stash *stash, bool *ret_lost)
{
	struct stashed *item = &stash->items[stash->next];

	stash->next = (stash->next + 1) % STASH_MAX;
	*ret_lost = item->waits;
	return item;
}

struct stashed *stash_take(struct rx_stash *stash,
			   const struct media_session *s)
{
	for (size_t i = 0; i < STASH_MAX; i++) {
		struct stashed *item =
			&stash->items[(stash->next + i) % STASH_MAX];

		if (item->waits && item->from->session == s) {
			item->waits = false;
			return item;
		}
	}
	return NULL;
}

void rx_secure_apply(struct rx_session *rx, const struct command *c,
		     int64_t now_ns)
{
	struct session_key *key = c->key_rx;

	rx->encrypted = c->encrypted;
	rx->rekeying = false;
	if (key == rx->key)
		return;
	if (key && rx->key)
		srtp_context_continue(key->context, rx->key->context);
	session_key_drop(rx->key_before);
	rx->key_before = rx->key;
	rx->before_until_ns = now_ns + KEY_BEFORE_NS;
	rx->key = key;
}

static int open_with(struct session_key *key, uint8_t *data, size_t *bytes,
		     bool rtcp)
{
	return rtcp ? srtp_context_unprotect_rtcp(key->context, data, bytes)
		    : srtp_context_unprotect(key->context, data, bytes);
}

int rx_secure_open(struct rx_session *rx, uint8_t *data, size_t *bytes,
		   bool rtcp, int64_t now_ns)
{
	uint8_t copy[STASH_DATAGRAM_BYTES];
	bool two = rx->key_before && now_ns < rx->before_until_ns;
	int err;

	if (!rx->key)
		return -ENOKEY;
	if (*bytes > sizeof(copy))
		return -EBADMSG;
	/* AES-GCM overwrites what it cannot verify */
	if (two || rx->rekeying)
		memcpy(copy, data, *bytes);
	err = open_with(rx->key, data, bytes, rtcp);
	if (err == -EACCES && two) {
		memcpy(data, copy, *bytes);
		err = open_with(rx->key_before, data, bytes, rtcp);
	}
	if (err == -EACCES && (two || rx->rekeying))
		memcpy(data, copy, *bytes); /* another key may fit */
	return err;
}
