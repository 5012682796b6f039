/**
 * Passwords: what they must be, and their argon2id hashes (RFC 9106).
 * Thread: any. A hash takes 64 MiB and some 65 ms: not in a loop.
 */
#ifndef OFFHOOK_SERVER_SESSION_PASSWORD_H
#define OFFHOOK_SERVER_SESSION_PASSWORD_H

#include "control/server/store/store_user.h"

#include <stdbool.h>

#define PASSWORD_MIN 10
#define PASSWORD_MAX 1024 /* bytes */

/** Check a new password. @return NULL: it may be used; else the reason why not
 */
const char *password_refused(const char *name, const char *password);

/** Hash with a salt of its own. @return 0; -ENOMEM */
int password_hash(const char *password, char hash[static USER_PASSWORD_BYTES]);

/** Verify a password. @param hash  NULL (no such user): takes as long, and is
 * false */
bool password_matches(const char *hash, const char *password);

/**
 * `--set-password`: read a password from standard input (asking twice on a
 * terminal) and give it to a user, who is made if there is none.
 * @param rights  NULL: as they are, or admin
 * @return 0; -EINVAL; -EIO; -ENOMEM; the reason is in the log
 */
int password_set(struct store *s, const char *name, const char *rights);

#endif
