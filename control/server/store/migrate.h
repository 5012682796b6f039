/**
 * The schema of the database, as numbered steps. A file that has fewer of them is
 * brought forward when the controller starts; docs/internals/testing.md ("Migrations") tells how
 * to add one.
 */
#ifndef OFFHOOK_SERVER_STORE_MIGRATE_H
#define OFFHOOK_SERVER_STORE_MIGRATE_H

#include "control/server/store/db.h"

#include <stddef.h>

/* Hex digits of the hash over the steps' SQL, and the end. */
#define MIGRATION_PRINT_BYTES 17

struct migration {
	int number;       /* the one before + 1; the first is the base */
	const char *name; /* for the log */
	const char *sql;  /* or NULL; one or more statements */
	/* Changes that SQL alone cannot make, after `sql`; or NULL. Runs in the
	 * transaction of all steps. @return 0; negative: the whole update fails */
	int (*change)(struct db *db);
};

/* All steps, ascending; the last number is the schema of this program. */
extern const struct migration migrations[];
extern const size_t migration_count;

/**
 * Bring the database to the last step: an empty one gets all of them; one with fewer
 * is copied (beside the file: PATH.vNUMBER-YYYYMMDDTHHMMSSZ) and changed in one
 * transaction; one with all is left as it is. Any error leaves the file unchanged.
 * Thread: the one that opened the database, before any other connection.
 * @param db     the writing connection, in no transaction
 * @param path   of its file
 * @param steps  ascending, without gaps; borrowed
 * @return 0; -EPROTO the file is of a later program, of an earlier one than the base,
 *         or of steps with other SQL; -EIO no file of ours, or a step or the copy
 *         failed; the reason and what to do are in the log
 */
int migrate(struct db *db, const char *path, const struct migration *steps,
	    size_t count);

/** Hash of the SQL of the steps up to one, without comments and blanks. */
void migration_print(const struct migration *steps, size_t count,
		     char print[static MIGRATION_PRINT_BYTES]);

#endif
