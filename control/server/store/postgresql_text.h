/**
 * What PostgreSQL writes differently, as pure functions: codes of errors, values
 * and the words of the schema.
 * Thread: any
 */
#ifndef OFFHOOK_SERVER_STORE_POSTGRESQL_TEXT_H
#define OFFHOOK_SERVER_STORE_POSTGRESQL_TEXT_H

#include "base/buf.h"
#include "control/server/store/db.h"

#include <stdint.h>

/* Numbers of types, constant in all versions: src/include/catalog/pg_type.dat */
enum postgresql_type {
	POSTGRESQL_BOOL = 16,
	POSTGRESQL_BYTEA = 17,
	POSTGRESQL_INT8 = 20,
	POSTGRESQL_INT2 = 21,
	POSTGRESQL_INT4 = 23,
	POSTGRESQL_TEXT = 25,
	POSTGRESQL_JSON = 114,
	POSTGRESQL_FLOAT4 = 700,
	POSTGRESQL_FLOAT8 = 701,
	POSTGRESQL_BYTEA_ARRAY = 1001,
	POSTGRESQL_TEXT_ARRAY = 1009,
	POSTGRESQL_INT8_ARRAY = 1016,
	POSTGRESQL_FLOAT8_ARRAY = 1022,
	POSTGRESQL_NUMERIC = 1700,
};

/**
 * The code of db_query() for an SQLSTATE. Source: PostgreSQL 15, appendix A.
 * @param sqlstate  5 characters; NULL: the server did not answer
 * @return -EEXIST, -ENOTEMPTY, -EBUSY, -ENOTCONN or -EIO
 */
int postgresql_error(const char *sqlstate);

/* Bytes of any number as text, terminated. */
#define POSTGRESQL_NUMBER_BYTES 32

struct postgresql_param {
	const char *bytes; /* NULL: NULL */
	int len;
	int format; /* 0: text, terminated; 1: binary */
};

/**
 * Write a value as a parameter.
 * @param type    of the parameter (enum postgresql_type, or another one)
 * @param number  holds a number; must live as long as the parameter
 * @return 0; -EOVERFLOW longer than the protocol allows; -EINVAL a text for
 *         another type than text, bytes or JSON
 */
int postgresql_param(const struct db_value *value, uint32_t type,
		     char number[static POSTGRESQL_NUMBER_BYTES],
		     struct postgresql_param *ret);

/**
 * Read a column that is not NULL. Booleans become 0 or 1, a number without a
 * fraction DB_INT if its type is an integer or numeric.
 * @param text   as the server sent it, in text format, terminated
 * @param bytes  len / 2 bytes for a column of type bytea; else unused
 * @return 0; -EINVAL not a value of this type
 */
int postgresql_value(uint32_t type, const char *text, size_t len,
		     unsigned char *bytes, struct db_value *ret);

/**
 * Append a row as a line of COPY FROM STDIN in text format. Source: PostgreSQL 15,
 * COPY, "Text Format".
 * @return 0; as buf_add(), then a part of the line may be there
 */
int postgresql_copy_row(struct buf *ret, const struct db_value *row,
			size_t columns);

/**
 * Write a script of the schema in PostgreSQL's words: types, identity columns,
 * byte order of texts, triggers as functions. Comments are left out.
 * @return 0; -ENOMEM; -EINVAL a trigger that is not of the form
 *         CREATE TRIGGER name ... BEGIN statement; ... END
 */
int postgresql_schema(struct buf *ret, const char *sql);

#endif
