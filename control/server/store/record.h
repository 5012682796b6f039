/**
 * Read and write the rows of the API's plain resources as JSON objects, from a
 * description of each table.
 * Thread: the owner of the store.
 */
#ifndef OFFHOOK_SERVER_STORE_RECORD_H
#define OFFHOOK_SERVER_STORE_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store;

enum column_kind {
	COLUMN_INT,
	COLUMN_REAL,
	COLUMN_TEXT,
	COLUMN_JSON,   /* JSON document in a text column */
	COLUMN_TIME,   /* ms since 1970; read as `YYYY-MM-DD HH:MM:SS` */
	COLUMN_HASHED, /* written as the keyed hash of a token */
};

struct column {
	const char *name; /* of the member */
	const char *sql;  /* expression to read; NULL: never read */
	const char *own;  /* column of the table to write; NULL: read only */
	enum column_kind kind;
};

struct table {
	const char *name;
	const char *from; /* the table and its joins */
	const char *id;   /* expression of the key: "t.id" */
	const struct column *columns;
	size_t column_count;
};

/** One page of a listing. */
struct page {
	int64_t start;
	int64_t count;
};

/**
 * Read a page of rows in the order of their ids.
 * @param ret    new array
 * @param total  rows without the page
 * @return 0; -EIO; -ENOMEM
 */
int record_list(struct store *s, const struct table *t, const struct page *page,
		json_t **ret, int64_t *total);

/**
 * Read rows with this number in a column, in the order of their ids.
 * @param column  SQL expression, never from a client
 * @param page    NULL: all rows
 * @param total   rows without the page; may be NULL
 * @return 0; -EIO; -ENOMEM
 */
int record_list_of(struct store *s, const struct table *t, const char *column,
		   int64_t value, const struct page *page, json_t **ret,
		   int64_t *total);

/** Read one row. @return 0; -ENOENT; -EIO; -ENOMEM */
int record_get(struct store *s, const struct table *t, int64_t id,
	       json_t **ret);

/**
 * Read the number in a column of one row.
 * @param column  of the table itself, never from a client
 * @return 0; -ENOENT; -EIO
 */
int record_number(struct store *s, const struct table *t, const char *column,
		  int64_t id, int64_t *ret);

/**
 * Change the rows that belong to a record, within its transaction.
 * @return >= 0; negative errno rolls everything back
 */
struct db;
typedef int(record_children_h)(struct store *s, struct db *db, int64_t id,
			       json_t *values);

/**
 * Insert a row of those members of `values` that the table has.
 * @param children  run after it in the same transaction, or NULL
 * @return 0 and the id; -EEXIST; -ENOTEMPTY a reference to a row that does not
 *         exist; -EIO
 */
int record_insert(struct store *s, const struct table *t, json_t *values,
		  record_children_h *children, int64_t *ret_id);

/** Change a row, otherwise as record_insert(). @return 0; -ENOENT; as
 * record_insert() */
int record_update(struct store *s, const struct table *t, int64_t id,
		  json_t *values, record_children_h *children);

/** Delete a row. @return 0; -ENOENT; -ENOTEMPTY it is in use; -EIO */
int record_delete(struct store *s, const struct table *t, int64_t id);

#endif
