/**
 * Failed logins that all controllers on a database know, of names and addresses.
 * They are no changes of the audit log.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_LOGIN_FAILURE_H
#define OFFHOOK_SERVER_STORE_STORE_LOGIN_FAILURE_H

#include "control/server/store/store_secret.h"

#include <stddef.h>
#include <stdint.h>

struct store;

/* The keyed hash of a name or an address: what was typed as a name may be a
 * password. */
struct login_subject {
	uint8_t hash[SECRET_HASH_BYTES];
};

struct login_failures {
	unsigned failures; /* 0: none */
	int64_t last_ms;   /* wall clock, of the last one */
};

/** Make a subject. @param kind  such as "name" @param text  of that kind */
struct login_subject login_subject(const struct store *s, const char *kind,
				   const char *text);

/** Read what failed. @return 0; -ENOTCONN; -EIO */
int store_login_failures(struct store *s, const struct login_subject *subject,
			 struct login_failures *ret);

/**
 * Count a failure of each subject, in one transaction.
 * @param now_ms     wall clock
 * @param forget_ms  failures are counted anew if the last one is older
 * @param keep       subjects kept; above it those whose last failure is oldest are
 *                   deleted
 * @return 0; -EBUSY; -ENOTCONN; -EIO
 */
int store_login_failed(struct store *s, const struct login_subject *subjects,
		       size_t count, int64_t now_ms, int64_t forget_ms,
		       int64_t keep);

/** Forget the failures of a subject. @return 0; -EBUSY; -ENOTCONN; -EIO */
int store_login_passed(struct store *s, const struct login_subject *subject);

#endif
