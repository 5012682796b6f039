/**
 * Secrets: keyed hashes of tokens, and encrypted boxes for passwords. Both use
 * one master key, which is kept in a file outside the database.
 * Thread: any; constant after load.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_SECRET_H
#define OFFHOOK_SERVER_STORE_STORE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct secrets;

/* A token of 256 random bits: base64url without padding, and a terminator. */
#define SECRET_TOKEN_BYTES 44
#define SECRET_HASH_BYTES  32

/**
 * Load the master key: 64 hex digits in the first line; in the second, if it is not the
 * first key, those of the key for hashes. If the file is missing, create it (mode 0600).
 * @return 0; -EPERM other users may read the file; -EINVAL not 32 bytes of hex;
 *         -errno; the reason is in the log
 */
int secrets_load(struct secrets **ret, const char *key_file);

/**
 * Make the next master key and write it to a file (mode 0600, synced; a file of the
 * name is replaced). Its hashes are those of the former key: tokens are not stored, so
 * that their hashes cannot be made anew.
 * @return 0; -ENOMEM; -errno
 */
int secrets_make_next(const struct secrets *former, const char *key_file);

/** Release; the keys are wiped. Accepts NULL. @return NULL */
struct secrets *secrets_free(struct secrets *s);

/* Hex digits of secrets_check(), and a terminator. */
#define SECRETS_CHECK_BYTES 17

/** A value by which two files with the same master key are recognised. It tells
 * nothing of the key. */
void secrets_check(const struct secrets *s,
		   char check[static SECRETS_CHECK_BYTES]);

/** Make a token. */
void secret_token(char token[static SECRET_TOKEN_BYTES]);

/** Keyed BLAKE2b of a token. */
void secret_hash(const struct secrets *s, const char *token,
		 uint8_t hash[static SECRET_HASH_BYTES]);

/** True if the token has this hash; in constant time. */
bool secret_matches(const struct secrets *s, const char *token,
		    const uint8_t hash[static SECRET_HASH_BYTES]);

/**
 * Encrypt (XChaCha20-Poly1305): nonce, cipher text and tag.
 * @param purpose  a box opens only with the purpose it was sealed for
 * @param ret      allocated; the caller frees it
 * @return 0; -ENOMEM
 */
int secret_seal(const struct secrets *s, const char *purpose, const void *plain,
		size_t len, uint8_t **ret, size_t *ret_len);

/**
 * Decrypt.
 * @param ret  allocated, with a terminator after its length; released by
 *             secret_wipe_free()
 * @return 0; -EBADMSG the box was changed, or sealed with another key or
 *         purpose; -ENOMEM
 */
int secret_open(const struct secrets *s, const char *purpose, const void *box,
		size_t box_len, char **ret, size_t *ret_len);

/** Wipe and free; accepts NULL. @return NULL */
char *secret_wipe_free(char *plain, size_t len);

#endif
