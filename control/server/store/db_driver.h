/**
 * What a kind of database does for db.h. A connection of a driver is a struct
 * whose first member is its struct db. Included by db.c and the drivers.
 */
#ifndef OFFHOOK_SERVER_STORE_DB_DRIVER_H
#define OFFHOOK_SERVER_STORE_DB_DRIVER_H

#include "base/buf.h"
#include "control/server/store/db.h"

/** Each function is the one of db.h that has its name; all are set. */
struct db_driver {
	enum db_dialect dialect;
	int (*query)(struct db *db, const char *sql,
		     const struct db_value *params, size_t count,
		     db_row_h *row_h, void *arg);
	int (*script)(struct db *db, const char *sql);
	int (*load_begin)(struct db *db, const struct db_load *load);
	int (*load_row)(struct db *db, const struct db_value *row);
	int (*load_end)(struct db *db);
	int (*begin)(struct db *db);
	int (*commit)(struct db *db);
	void (*rollback)(struct db *db);
	bool (*is_alone)(const struct db *db);
	int (*lock_alone)(struct db *db);
	int (*lock_shared)(struct db *db);
	uint64_t (*connections)(const struct db *db);
	const char *(*error)(const struct db *db);
	void (*close)(struct db *db); /* not NULL */
};

struct db {
	const struct db_driver *driver; /* constant */
};

/** Append `BEFORE "TABLE" ("COLUMN", ...) AFTER`. @return as buf_add() */
int db_load_text(struct buf *sql, const char *before,
		 const struct db_load *load, const char *after);

#endif
