/**
 * People who sign in with a password, and their sessions.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_USER_H
#define OFFHOOK_SERVER_STORE_STORE_USER_H

#include "control/server/request/request.h"
#include "control/server/store/record.h"
#include "control/server/store/store_secret.h"

#include <stdbool.h>
#include <stdint.h>

#define USER_NAME_BYTES     101
#define USER_PASSWORD_BYTES 128 /* of its argon2id hash, crypto_pwhash_str() */

/* A session ends so long after its last request, or after its beginning. */
#define SESSION_IDLE_MS (12 * INT64_C(3600000))
#define SESSION_MS      (7 * INT64_C(86400000))

struct web_user {
	int64_t id;
	char name[USER_NAME_BYTES];
	char password_hash[USER_PASSWORD_BYTES];
	enum api_right right;
};

/** Count the users. @return 0; -EIO */
int store_user_count(struct store *s, int64_t *ret);

/** Count the users with the right admin. @return 0; -EIO */
int store_user_admins(struct store *s, int64_t *ret);

/** A record_children_h of users: a new password ends the user's sessions. */
int store_user_children(struct store *s, struct db *db, int64_t id,
			json_t *values);

/** Find a user. @return 0; -ENOENT; -EIO */
int store_user_find(struct store *s, const char *name, struct web_user *ret);

/**
 * Make a user, or set a user's password, which ends the user's sessions.
 * @param rights  "read"...; NULL: unchanged (new user: admin)
 * @return 0 and the id; -EIO
 */
int store_user_put(struct store *s, const char *name, const char *password_hash,
		   const char *rights, int64_t *ret_id);

/** Make the first user, with the right admin.
 * @return 0 and the id; -EEXIST there is already a user; -EIO */
int store_user_first(struct store *s, const char *name,
		     const char *password_hash, int64_t *ret_id);

/**
 * Begin a session. Sessions that are over are deleted.
 * @param token  receives the cookie's value: only its hash is stored
 * @return 0; -EIO
 */
int store_session_begin(struct store *s, int64_t user_id,
			char token[static SECRET_TOKEN_BYTES]);

/**
 * Find the user of a session that is not over. Its use is recorded at most once
 * a minute.
 * @return 0; -EACCES; -EIO
 */
int store_session_find(struct store *s, const char *token,
		       struct web_user *ret);

/** End a session. @return 0; -EIO */
int store_session_end(struct store *s, const char *token);

#endif
