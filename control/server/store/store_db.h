/**
 * How the operations of this folder reach the connections. Included by
 * control/server/store only.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_DB_H
#define OFFHOOK_SERVER_STORE_STORE_DB_H

#include "control/server/store/db.h"
#include "control/server/store/store.h"

/** This thread's reading connection: sees what is committed. */
struct db *store_reader(struct store *s);

/**
 * How often this process has changed the database: what a reader found is
 * still so as long as the figure read before is the same. (The process has the
 * SQLite file for itself.) Thread: any.
 */
uint64_t store_changes(const struct store *s);

/** The latest count of a whole table that this store has read (record.c). */
struct store_total {
	const void *of; /* its name, the constant; NULL: none yet */
	uint64_t changes;
	int64_t rows;
};
struct store_total *store_total(struct store *s);

/** Runs that this store has written as text (store_run_text.c). */
struct run_texts;
struct run_texts **store_run_texts(struct store *s);
struct run_texts *run_texts_free(struct run_texts *texts);

/** Keys that this store has read (store_key.c). */
struct key_cache;
struct key_cache **store_key_cache(struct store *s);
struct key_cache *key_cache_free(struct key_cache *cache);

/** The claim of the request that this store serves (store_idempotency.c). */
struct idempotency;
const struct idempotency **store_claim(struct store *s);
/** Note within its transaction what that request starts; 0 without a claim. */
int idempotency_started(struct store *s, struct db *db, const char *uuid);
/** At the start: free the names of requests that a crash cut off before they
 * started anything. */
int idempotency_recover(struct db *db);

/**
 * Begin a write transaction: the writer belongs to this thread until
 * store_write_end(), which must follow soon and never be nested.
 * @param ret  the writing connection; it reads its own changes
 * @return 0; -EBUSY, -EIO (then there is nothing to end)
 */
int store_write_begin(struct store *s, struct db **ret);

/**
 * End it: commit if result >= 0, else roll back.
 * @return result, or the error of the commit
 */
int store_write_end(struct store *s, int result);

#endif
