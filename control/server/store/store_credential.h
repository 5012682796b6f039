/**
 * The credentials of a pool; passwords are kept in boxes.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_CREDENTIAL_H
#define OFFHOOK_SERVER_STORE_STORE_CREDENTIAL_H

#include <jansson.h>
#include <stdint.h>

struct db;
struct store;

/**
 * Replace a pool's credentials by values["credentials"] (record_children_h). An
 * entry with `has_password` and without a password keeps the stored password of
 * its username; the nth entry of a username keeps that of the nth stored one.
 * @return 0; -ENOMEM; -EIO
 */
int store_credentials_replace(struct store *s, struct db *db, int64_t pool_id,
			      json_t *values);

/** Read a pool's credentials in order, with `has_password` instead of
 * passwords.
 * @return 0; -EIO; -ENOMEM */
int store_credentials_get(struct store *s, int64_t pool_id, json_t **ret);

/** Read a pool's credentials with their passwords, as a job carries them
 * (docs/internals/wire.md).
 * @return 0; -EBADMSG a password was encrypted with another master key; -EIO */
int store_credentials_open(struct store *s, int64_t pool_id, json_t **ret);

#endif
