/**
 * API keys and their rights; the secrets of agents.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_KEY_H
#define OFFHOOK_SERVER_STORE_STORE_KEY_H

#include "control/server/request/request.h"
#include "control/server/store/store_secret.h"

#include <stdbool.h>
#include <stdint.h>

#define PUBLIC_KEY_BYTES 24

struct api_key {
	int64_t id;
	enum api_right right;
};

/** Parse "read", "run", "write" or "admin". @return 0; -EINVAL */
int right_parse(const char *text, enum api_right *ret);

/** The text of a right; "" for RIGHT_NONE and RIGHT_AGENT. */
const char *right_text(enum api_right right);

/** Make the public half and the secret of a new key. */
void store_key_names(char public_key[static PUBLIC_KEY_BYTES],
		     char secret[static SECRET_TOKEN_BYTES]);

/**
 * Make a key.
 * @param expires_at_ms  0: never
 * @param public_key     receives the public half
 * @param secret         receives the secret: shown once, only its hash is
 *                       stored
 * @return 0 and the id; -EIO
 */
int store_key_create(struct store *s, const char *name, const char *rights,
		     int64_t expires_at_ms, char public_key[PUBLIC_KEY_BYTES],
		     char secret[SECRET_TOKEN_BYTES], int64_t *ret_id);

/**
 * Check a key pair. Its use is recorded at most once a minute. Unknown and
 * wrong keys take the same time.
 * @return 0; -EACCES; -EIO
 */
int store_key_verify(struct store *s, const char *public_key,
		     const char *secret, struct api_key *ret);

/** Check an agent's id and secret. @return 0; -EACCES; -EIO */
int store_agent_verify(struct store *s, const char *agent_id,
		       const char *secret, int64_t *ret);

#endif
