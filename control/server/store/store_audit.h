/**
 * Who changed what, when, from where. The entry is written in the transaction
 * of the change: there is none without the other. Bodies, queries and secrets
 * are never stored.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_AUDIT_H
#define OFFHOOK_SERVER_STORE_STORE_AUDIT_H

#include "control/server/store/audit_entry.h"

#include <jansson.h>
#include <stdint.h>

struct store;

/** Name the request, option or schedule for which the store is changed from now
 * on: its first change writes one entry.
 * @param audit  borrowed until the next call; NULL: nothing is noted */
void store_audit_of(struct store *s, struct audit *audit);

/** Name the actor of the request, who has just signed in. */
void store_audit_actor(struct store *s, int64_t key_id);

/** Note that a login was refused. @param user_id  0: no user has the name that
 * was sent, which is not stored: it may be a password @return 0; -EIO; -EBUSY */
int store_audit_refused(struct store *s, int64_t user_id);

/* ---- reading ---- */

/** A selection of entries; NULL or 0: any. */
struct audit_query {
	const char *actor;
	const char *kind;
	const char *outcome;
	const char *request_id;
	int64_t since_ms; /* at or after */
	int64_t until_ms; /* before */
	int64_t start, count;
};

/** List entries, the latest first. @param ret  new array; docs/reference/api.md
 * @param total  without the page @return 0; -EIO; -ENOMEM */
int store_audit_list(struct store *s, const struct audit_query *query,
		     json_t **ret, int64_t *total);

#endif
