#include "media/security/session_key.h"

#include "media/security/srtp_keys.h"
#include "media/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void key_free(struct session_key *key)
{
	srtp_context_free(key->context);
	explicit_bzero(key, sizeof(*key));
	free(key);
}

static void sweep(struct session_keys *keys)
{
	struct session_key **link = &keys->first;

	while (*link) {
		struct session_key *key = *link;

		/* acquire: pairs with the release in session_key_drop() */
		if (!atomic_load_explicit(&key->dropped,
					  memory_order_acquire)) {
			link = &key->next;
			continue;
		}
		*link = key->next;
		key_free(key);
	}
}

static bool crypto_same(const struct media_crypto *a,
			const struct media_crypto *b)
{
	const struct srtp_suite_info *info = srtp_suite_info(a->suite);

	return a->suite == b->suite &&
	       memcmp(a->key, b->key,
		      (size_t)info->key_bytes + info->salt_bytes) == 0;
}

bool session_key_same(const struct session_key *a, const struct session_key *b)
{
	return crypto_same(&a->crypto, &b->crypto);
}

int session_keys_get(struct session_key **ret, struct session_keys *keys,
		     const struct media_crypto *crypto,
		     enum media_srtp_library library)
{
	struct session_key *key;
	int err;

	if (!srtp_suite_info(crypto->suite))
		return -EINVAL;
	if (keys->in_force && keys->first &&
	    crypto_same(&keys->first->crypto, crypto)) {
		*ret = keys->first;
		return 0;
	}
	sweep(keys);
	key = calloc(1, sizeof(*key));
	if (!key)
		return -ENOMEM;
	err = srtp_context_new(&key->context, crypto, library);
	if (err) {
		free(key);
		return err;
	}
	key->crypto = *crypto;
	key->next = keys->first;
	keys->first = key;
	keys->in_force = true;
	*ret = key;
	return 0;
}

void session_keys_none(struct session_keys *keys)
{
	keys->in_force = false;
	sweep(keys);
}

void session_keys_release(struct session_keys *keys)
{
	while (keys->first) {
		struct session_key *key = keys->first;

		keys->first = key->next;
		key_free(key);
	}
}

void session_keys_choose(struct media_local *local)
{
	for (size_t i = 0; i < local->crypto_count; i++) {
		local->crypto[i].tag = (uint32_t)i + 1;
		random_bytes(local->crypto[i].key,
			     sizeof(local->crypto[i].key));
	}
}
