/**
 * Copy all tables of a database of this schema into an empty database, and prove
 * that both have the same. Either may be an SQLite file or a PostgreSQL database.
 * The destination has all or nothing: its tables are made, filled, read again and
 * compared in one transaction.
 * Thread: one; the process has no other connection to the two.
 */
#ifndef OFFHOOK_SERVER_STORE_TABLE_COPY_H
#define OFFHOOK_SERVER_STORE_TABLE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than the schema has. */
#define TABLE_COPY_TABLES     64
#define TABLE_COPY_NAME_BYTES 64
#define TABLE_COPY_SUMS       4

/** All rows of a table, in any order. */
struct table_rows {
	int64_t count;
	/* The sum of the rows' BLAKE2b-256 hashes, as numbers of 64 bits that
	 * wrap. A row: type, length and bytes of each column, so that SQLite and
	 * PostgreSQL give the same. */
	uint64_t sums[TABLE_COPY_SUMS];
};

struct table_copied {
	char name[TABLE_COPY_NAME_BYTES];
	struct table_rows source, destination;
};

struct table_copies {
	size_t count;
	struct table_copied tables[TABLE_COPY_TABLES]; /* by name */
};

struct table_copy_params {
	const char *source;      /* path of an SQLite file, or a URI */
	const char *destination; /* likewise */
	/** Asked now and then, true: give up. */
	bool (*stop_h)(void *arg);
	/** Told now and then; NULL: never. @param verb  what is done with the
	 * table @param done, total  rows of all tables, written or read again */
	void (*progress_h)(const char *verb, const char *table, int64_t done,
			   int64_t total, void *arg);
	void *arg;
};

/** Write a database's name for people: the path, or the URI without its user and
 * passwords. @return 0; -ENAMETOOLONG */
int table_copy_name(char *name, size_t size, const char *place);

/**
 * Copy.
 * @param ret  what was copied, or on -EBADMSG what differs
 * @return 0; -EBUSY a controller uses one of them; -EPROTO the source has another
 *         schema; -EEXIST the destination is not empty; -EBADMSG both differ;
 *         -ECANCELED; -ENOTCONN; -ENOMEM; -EIO; logged but -ECANCELED. The
 *         destination is empty then, unless the connection was lost while the
 *         server committed
 */
int table_copy_all(const struct table_copy_params *p, struct table_copies *ret);

/** Whether two tables have the same rows. */
bool table_rows_equal(const struct table_rows *a, const struct table_rows *b);

#endif
