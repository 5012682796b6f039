/**
 * The thin layer over a database: parameterised SQL in the dialect that
 * SQLite >= 3.35 and PostgreSQL share ($1 parameters, RETURNING, ON CONFLICT).
 * The operations of the store (store_*.h) use it; nothing outside
 * control/server/store includes this header.
 *
 * SQLite: a single connection writes and checkpoints, the others are opened
 * read-only, without mmap (docs/reference/controller.md: WAL-reset bug of
 * 3.40).
 */
#ifndef OFFHOOK_SERVER_STORE_DB_H
#define OFFHOOK_SERVER_STORE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db; /* one connection; its owner is one thread at a time */

enum db_dialect {
	DB_SQLITE,
	DB_POSTGRESQL
};

enum db_dialect db_dialect(const struct db *db);
/** The text for the connection's database, where one cannot serve both. */
const char *db_choose(const struct db *db, const char *sqlite,
		      const char *postgresql);

enum db_type {
	DB_NULL,
	DB_INT,
	DB_REAL,
	DB_TEXT, /* UTF-8, terminated */
	DB_BLOB,
};

struct db_value {
	enum db_type type;
	int64_t integer;
	double real;
	const void *bytes; /* TEXT, BLOB; borrowed */
	size_t len;        /* TEXT: without the terminator */
};

#define DB_I(v) ((struct db_value){.type = DB_INT, .integer = (v)})
#define DB_R(v) ((struct db_value){.type = DB_REAL, .real = (v)})
struct db_value db_text(const char *text); /* NULL becomes DB_NULL */
struct db_value db_blob(const void *bytes, size_t len);
/** An id that is not 0, which becomes DB_NULL. */
struct db_value db_id_or_null(int64_t id);
/** The value of an INT; 0 of any other type. */
int64_t db_integer_or_0(const struct db_value *value);
/** The value of an INT or REAL as double. */
double db_number(const struct db_value *value);

/** Called per row; values live until it returns. @return 0; else stop */
typedef int(db_row_h)(const struct db_value *row, size_t columns, void *arg);

/** A db_row_h. @param arg  int64_t, becomes the first column */
int db_integer_row(const struct db_value *row, size_t columns, void *arg);

/** A db_row_h. @param arg  char[UUID_TEXT_BYTES], becomes the first column
 * @return 0; -EIO: it is longer */
int db_uuid_row(const struct db_value *row, size_t columns, void *arg);

/** Run one statement. @return rows delivered or changed, >= 0; -EEXIST unique
 * constraint violated; -ENOTEMPTY foreign key violated (the row is in use, or
 * refers to a row that does not exist); -EBUSY; -ENOTCONN the connection was lost,
 * and with it the transaction; -ENOSPC the disk of the database is full;
 * -EIO (reason of both by db_error()); or the handler's value */
int db_query(struct db *db, const char *sql, const struct db_value *params,
	     size_t count, db_row_h *row_h, void *arg);

/** Run several statements without parameters, in SQLite's words for types and
 * triggers; PostgreSQL gets its own (postgresql_text.h). @return 0; -EIO */
int db_script(struct db *db, const char *sql);

/* ---- many rows of one table, within a transaction ---- */

struct db_load {
	const char *table;
	const char *const *columns;
	size_t count; /* of columns */
	/* Types of the columns, for the rows of a request: each statement has its
	 * time. NULL: any number of rows, without a limit of time. */
	const enum db_type *types;
	/* Columns of a unique key, "a, b": rows of a request with a key that is there
	 * already are left out. NULL: none may be there, -EEXIST. Only with types. */
	const char *key;
};

/** Begin to insert rows, the fastest way the database has. Until db_load_end()
 * the connection is used for nothing else. @param load  borrowed until then
 * @return 0; -ENOMEM; db_query()'s codes; then roll back */
int db_load_begin(struct db *db, const struct db_load *load);
/** Insert one row. It may be refused later: by another row, or the end.
 * @param row  load->count values, borrowed @return as db_load_begin(); -EMSGSIZE
 * the row is too long */
int db_load_row(struct db *db, const struct db_value *row);
/** End; all rows were accepted. @return as db_load_begin() */
int db_load_end(struct db *db);

int db_begin(struct db *db); /* write transaction at once, no upgrade */
int db_commit(struct db *db);
void db_rollback(struct db *db);

/* ---- writers of several processes. With PostgreSQL the writing connections of several
 * processes may share a database, or one has it alone; SQLite allows one writer. ---- */

/** Whether no other process has a writer. */
bool db_is_alone(const struct db *db);
/** Wait until no other process has a writer, and let none in.
 * @return 0; -EBUSY another one stays; -ENOTCONN; -EIO; the log has the reason */
int db_lock_alone(struct db *db);
/** Let the writers of other processes in. @return 0; -ENOTCONN; -EIO */
int db_lock_shared(struct db *db);

/** How often the connection was made: once, and once more after each loss. */
uint64_t db_connections(const struct db *db);

/** The last error's text of this connection, for the log; never NULL. */
const char *db_error(const struct db *db);

/** Close; accepts NULL. @return NULL */
struct db *db_close(struct db *db);

#endif
