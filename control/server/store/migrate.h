/**
 * The schema of the database, as numbered steps. A file with fewer steps is
 * updated when the controller starts. docs/internals/testing.md ("Migrations")
 * describes how to add a step.
 */
#ifndef OFFHOOK_SERVER_STORE_MIGRATE_H
#define OFFHOOK_SERVER_STORE_MIGRATE_H

#include "control/server/store/db.h"

#include <stddef.h>

/* Hex digits of the hash over the steps' SQL, and a terminator. */
#define MIGRATION_PRINT_BYTES 17

struct migration {
	int number;       /* ascending by 1; the first is the base */
	const char *name; /* for the log */
	const char *sql;  /* one or more statements; or NULL */
	/* Changes that SQL alone cannot make, after `sql`; or NULL. Runs in the
	 * transaction of all steps. @return 0; negative: the whole update fails */
	int (*change)(struct db *db);
};

/* All steps, ascending; the last number is the schema of this program. */
extern const struct migration migrations[];
extern const size_t migration_count;

/**
 * Update the database to the last step. An empty one gets all steps. One with
 * fewer steps is copied (beside the file: PATH.vNUMBER-YYYYMMDDTHHMMSSZ) and
 * changed in one transaction. One with all steps is left as it is. Any error
 * leaves the file unchanged.
 * Thread: the one that opened the database, before any other connection.
 * @param db     the writing connection, in no transaction
 * @param path   of its file
 * @param steps  ascending, without gaps; borrowed
 * @return 0; -EPROTO the file is of a later program, of one before the base, or
 *         of steps with other SQL; -EIO not a file of ours, or a step or the
 *         copy failed; the log has the reason and the remedy
 */
int migrate(struct db *db, const char *path, const struct migration *steps,
	    size_t count);

/**
 * Refuse a database that has not exactly these steps; nothing is changed.
 * @param path  of its file, or its name, for the log
 * @return 0; -EPROTO; -EIO not a database of ours; logged with the remedy
 */
int migrate_check(struct db *db, const char *path,
		  const struct migration *steps, size_t count);

/**
 * Make the tables of an empty database, in the caller's transaction. SQLite: the
 * connection does not check foreign keys.
 * @return 0; -EEXIST it is not empty; -EIO; logged with the remedy
 */
int migrate_fill(struct db *db, const char *path, const struct migration *steps,
		 size_t count);

/** Hash the SQL of the first `count` steps, without comments and blanks. */
void migration_print(const struct migration *steps, size_t count,
		     char print[static MIGRATION_PRINT_BYTES]);

#endif
