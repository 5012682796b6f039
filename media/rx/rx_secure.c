#include "media/rx/rx_secure.h"

#include <errno.h>
#include <string.h>

struct stashed *stash_place(struct rx_stash *stash, bool *ret_lost)
{
	struct stashed *item = &stash->items[stash->next];

	stash->next = (stash->next + 1) % STASH_MAX;
	*ret_lost = item->waits;
	stash->waiting += !item->waits;
	item->waits = true;
	return item;
}

struct stashed *stash_take(struct rx_stash *stash, const struct rx_session *s,
			   bool keyed)
{
	/* nearly always nothing waits */
	for (size_t i = 0; stash->waiting > 0 && i < STASH_MAX; i++) {
		struct stashed *item =
			&stash->items[(stash->next + i) % STASH_MAX];

		if (item->waits && item->from->session == s &&
		    (!keyed || rx_secure_keyed(item->from))) {
			item->waits = false;
			stash->waiting--;
			return item;
		}
	}
	return NULL;
}

static void key_apply(struct rx_keys *keys, struct session_key *key,
		      int64_t now_ns)
{
	if (key == keys->key)
		return;
	if (keys->key) {
		session_key_drop(keys->replaced[KEYS_REPLACED_MAX - 1].key);
		memmove(keys->replaced + 1, keys->replaced,
			sizeof(keys->replaced) - sizeof(keys->replaced[0]));
		keys->replaced[0].key = keys->key;
	}
	if (key && keys->replaced[0].key)
		srtp_context_continue(key->context,
				      keys->replaced[0].key->context);
	keys->replaced[0].until_ns = now_ns + KEY_REPLACED_NS;
	keys->key = key;
}

/* The last replaced key is valid until the next one is known, and
 * KEY_REPLACED_NS longer. */
static bool replaced_valid(const struct rx_keys *keys, size_t i, int64_t now_ns)
{
	return keys->replaced[i].key &&
	       ((i == 0 && !keys->key) || now_ns < keys->replaced[i].until_ns);
}

void rx_secure_apply(struct rx_session *rx, const struct rx_command *c,
		     int64_t now_ns)
{
	rx->encrypted = c->encrypted;
	rx->rekeying_until_ns = 0;
	rx->rtcp_keyed = c->rtcp_keyed;
	for (int i = 0; i < SOCKET_COUNT; i++)
		key_apply(&rx->keys[i], c->keys[i], now_ns);
}

/* The keys of the port, for RTP and RTCP alike. */
static struct rx_keys *keys_of(const struct rx_socket *socket)
{
	struct rx_session *rx = socket->session;

	return &rx->keys[rx->rtcp_keyed && socket->rtcp ? SOCKET_RTCP
							: SOCKET_RTP];
}

void rx_secure_rekey(struct rx_session *rx, int64_t now_ns)
{
	rx->rekeying_until_ns = now_ns + REKEY_NS;
}

bool rx_secure_rekeying(const struct rx_socket *socket, int64_t now_ns)
{
	return now_ns < socket->session->rekeying_until_ns;
}

bool rx_secure_keyed(const struct rx_socket *socket)
{
	return !socket->session->encrypted || keys_of(socket)->key;
}

static int open_with(struct session_key *key, uint8_t *data, size_t *bytes,
		     bool rtcp)
{
	return rtcp ? srtp_context_unprotect_rtcp(key->context, data, bytes)
		    : srtp_context_unprotect(key->context, data, bytes);
}

/* No packet of this key. What is too short for its suite may be long enough for
 * the suite of another key. */
static bool is_refused(int err)
{
	return err == -EACCES || err == -EBADMSG;
}

int rx_secure_open(struct rx_socket *from, uint8_t *data, size_t *bytes,
		   bool rtcp, int64_t now_ns)
{
	uint8_t copy[STASH_DATAGRAM_BYTES];
	const struct rx_keys *keys = keys_of(from);
	bool rekeying = rx_secure_rekeying(from, now_ns);
	/* the newest is valid longest */
	bool replaced = replaced_valid(keys, 0, now_ns);
	bool whole = false; /* for the suite of at least one key */
	int err = -EBADMSG;

	if (!keys->key && !replaced)
		return -ENOKEY;
	if (*bytes > sizeof(copy))
		return -EBADMSG;
	/* AES-GCM overwrites what it cannot verify */
	if (replaced || rekeying)
		memcpy(copy, data, *bytes);
	if (keys->key) {
		err = open_with(keys->key, data, bytes, rtcp);
		whole = err != -EBADMSG;
	}
	for (size_t i = 0; i < KEYS_REPLACED_MAX && is_refused(err); i++) {
		if (!replaced_valid(keys, i, now_ns))
			continue;
		memcpy(data, copy, *bytes);
		err = open_with(keys->replaced[i].key, data, bytes, rtcp);
		whole = whole || err != -EBADMSG;
	}
	if (!is_refused(err))
		return err;
	if (replaced || rekeying)
		memcpy(data, copy, *bytes); /* another key may fit */
	if (!keys->key)
		return -ENOKEY;
	return whole || rekeying ? -EACCES : -EBADMSG;
}
