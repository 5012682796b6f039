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
 * entry with `has_password` and without a password keeps the password of its
 * username in the pool (the nth entry of a username that of the nth).
 * @return 0; -ENOMEM; -EIO
 */
int store_credentials_replace(struct store *s, struct db *db, int64_t pool_id,
			      json_t *values);

/** Read them in order, `has_password` instead of passwords.
 * @return 0; -EIO; -ENOMEM */
int store_credentials_get(struct store *s, int64_t pool_id, json_t **ret);

/** Read them with their passwords, as a job carries them (docs/internals/wire.md).
 * @return 0; -EBADMSG a box does not open: another master key; -EIO */
int store_credentials_open(struct store *s, int64_t pool_id, json_t **ret);

#endif
