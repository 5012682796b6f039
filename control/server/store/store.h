/**
 * The database as the controller's threads see it. One `struct database` per
 * process holds the writing connection. Each thread that serves requests has
 * its own `struct store` with a reading connection.
 * The operations are declared in store_*.h and record.h.
 */
#ifndef OFFHOOK_SERVER_STORE_STORE_H
#define OFFHOOK_SERVER_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

struct database;
struct secrets;
struct store;

/**
 * Open the database and update it to this program's schema (migrate.h): an
 * earlier file is copied, then changed. Other files are refused unchanged.
 * @param path     of an SQLite file, or the URI of a PostgreSQL database, which
 *                 may have a password
 * @param secrets  borrowed, must outlive the database
 * @return 0; -EBUSY another process has it open, or alone (PostgreSQL); -EPROTO
 *         its schema cannot be updated; -EPERM controllers that are running have
 *         another master key; -ENOTCONN the server cannot be reached; -ENOMEM; -EIO; the
 *         reason is in the log
 */
int database_open(struct database **ret, const char *path,
		  const struct secrets *secrets);
/** Whether the configured database is an SQLite file, not one of PostgreSQL. */
bool database_is_file(const char *configured);

/**
 * Whether no other process has the database open. One of PostgreSQL is opened alone
 * if it can be, and others wait until database_share(); an SQLite file is always
 * alone.
 */
bool database_is_alone(const struct database *d);
/** Wait until no other process has it, and let none in.
 * @return 0; -EBUSY; -ENOTCONN; -EIO; the reason is in the log */
int database_lock_alone(struct database *d);
/** Let other processes in. @return 0; -ENOTCONN; -EIO; likewise */
int database_share(struct database *d);

/** Close; all stores must be gone. Accepts NULL. @return NULL */
struct database *database_close(struct database *d);

/** Make the store of a thread. @return 0; -ENOMEM; -EIO */
int store_new(struct store **ret, struct database *d);
/** Accepts NULL. @return NULL */
struct store *store_free(struct store *s);

/**
 * Begin a conditional change (If-Match): until store_edit_end() no other thread, and
 * no other process, changes a plain resource. Short, never nested; at most one
 * operation writes within it. If it could not begin, or those before it last too long,
 * that operation fails with -EBUSY or another error of store_write_begin().
 */
void store_edit_begin(struct store *s);
void store_edit_end(struct store *s);

/** Whether several controllers may have the database (PostgreSQL). */
bool store_is_shared(const struct store *s);

/** Keys for hashes and boxes; constant. */
const struct secrets *store_secrets(const struct store *s);

/** Wall clock, ms since 1970, as stored in time columns. */
int64_t store_now_ms(void);

#endif
