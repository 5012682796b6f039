/**
 * Access of this folder's operations to the connections. Included by
 * control/server/store only.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_DB_H
#define OFFHOOK_SERVER_STORE_STORE_DB_H

#include "control/server/store/db.h"
#include "control/server/store/store.h"

#include <jansson.h>
#include <stdbool.h>

/** This thread's reading connection: it sees committed changes only. */
struct db *store_reader(struct store *s);

/**
 * A number that grows with changes. While it is unchanged, rows that were read after
 * it are still valid. SQLite: commits of this process, as no other one uses the file;
 * PostgreSQL: a query.
 */
uint64_t store_changes(struct store *s);

/**
 * Get the count of a whole table that this store last kept.
 * @param table    its name, compared by address
 * @param changes  store_changes()
 * @return true and the rows; false: the database has changed since
 */
bool store_total(struct store *s, const char *table, uint64_t changes,
		 int64_t *ret);
/** Keep the count of a table. @param changes  store_changes() before
 * counting */
void store_total_keep(struct store *s, const char *table, uint64_t changes,
		      int64_t rows);

/**
 * Encrypt a JSON value (store_secret.h).
 * @param purpose  as of secret_seal()
 * @param ret      allocated; the caller frees it
 * @return 0; -ENOMEM
 */
int store_seal_json(struct store *s, const char *purpose, const json_t *value,
		    uint8_t **ret, size_t *ret_len);
/**
 * Decrypt a column that has one.
 * @param ret  new reference; NULL if the column is NULL, or was encrypted with another
 *             key file
 * @return 0; -ENOMEM
 */
int store_open_json(struct store *s, const char *purpose,
		    const struct db_value *box, json_t **ret);

/** Caches of this folder's files, one pointer each per store. */
enum store_cache {
	STORE_CACHE_KEYS,  /* API keys that were read */
	STORE_CACHE_WAITS, /* whether a lease waits */
	STORE_CACHES
};
typedef void(store_cache_free_h)(void *cache);

/** Get a cache. @return borrowed; NULL: not set yet */
void *store_cache(const struct store *s, enum store_cache which);
/** Set a cache, once; it is released with the store. */
void store_cache_keep(struct store *s, enum store_cache which, void *cache,
		      store_cache_free_h *free_h);

/** Caches that all stores of the process share: what is read for one thread need not be
 * read for the others. */
enum store_shared {
	STORE_SHARED_RUNS,     /* runs written as text */
	STORE_SHARED_COUNT,    /* how many runs there are */
	STORE_SHARED_VERDICTS, /* the last runs of all tests */
	STORE_SHARED_TREND,    /* days of all tests */
	STORE_SHARED
};

/**
 * Lock a shared cache until store_shared_unlock(). Each has its own lock; a thread takes
 * one of them, and never begins to write meanwhile.
 * @param ret  the cache, borrowed; NULL: not set yet
 * @return 0; -EBUSY: another thread has waited too long for the database
 */
int store_shared_lock(struct store *s, enum store_shared which, void **ret);
/** Set a locked cache, in place of the one before, which its owner has released. It is
 * released with the database. */
void store_shared_keep(struct store *s, enum store_shared which, void *cache,
		       store_cache_free_h *free_h);
void store_shared_unlock(struct store *s, enum store_shared which);

/** The request whose changes are noted; NULL: none. */
struct audit;
struct audit **store_audit(struct store *s);

/** The Idempotency-Key that the request has claimed; NULL: none. */
struct idempotency;
const struct idempotency **store_claim(struct store *s);
/** Record, within its transaction, the run that the claiming request starts.
 * @return 0, also without a claim; -EBUSY the claim has lapsed; -EIO */
int idempotency_started(struct store *s, struct db *db, const char *uuid);

/**
 * Begin a write transaction: the writer belongs to this thread until
 * store_write_end(), which must follow soon and never be nested.
 * @param ret  the writing connection; it reads its own changes
 * @return 0; -EBUSY, -EIO (then there is nothing to end)
 */
int store_write_begin(struct store *s, struct db **ret);

/**
 * End the transaction: commit if result >= 0, else roll back.
 * @return result, or the error of the commit
 */
int store_write_end(struct store *s, int result);

#endif
