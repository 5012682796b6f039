#include "control/server/store/postgresql_rows.h"

#include "base/str.h"
#include "control/server/store/postgresql_text.h"

#include <errno.h>
#include <stdlib.h>

#define COLUMNS_MAX 64

static int read_row(const PGresult *result, int at, int columns,
		    unsigned char *bytes, struct db_value *row)
{
	int err = 0;

	for (int i = 0; i < columns && err == 0; i++) {
		const size_t len = (size_t)PQgetlength(result, at, i);

		if (PQgetisnull(result, at, i)) {
			row[i] = (struct db_value){.type = DB_NULL};
			continue;
		}
		err = postgresql_value(PQftype(result, i),
				       PQgetvalue(result, at, i), len, bytes,
				       &row[i]);
		if (row[i].type == DB_BLOB)
			bytes += row[i].len;
	}
	return err;
}

/* Bytes of the longest row as text: its columns of bytes need at most half. */
static size_t longest_row(const PGresult *result, int rows, int columns)
{
	size_t longest = 0;

	for (int at = 0; at < rows; at++) {
		size_t len = 0;

		for (int i = 0; i < columns; i++)
			if (PQftype(result, i) == POSTGRESQL_BYTEA)
				len += (size_t)PQgetlength(result, at, i);
		if (len > longest)
			longest = len;
	}
	return longest;
}

int postgresql_rows(const PGresult *result, postgresql_row_h *row_h, void *arg,
		    char error[static POSTGRESQL_ERROR_BYTES])
{
	const int rows = PQntuples(result), columns = PQnfields(result);
	struct db_value row[COLUMNS_MAX];
	unsigned char *bytes;
	int err = 0;

	if (columns > COLUMNS_MAX)
		return -EIO;
	if (!row_h)
		return rows;
	bytes = malloc(longest_row(result, rows, columns) / 2 + 1);
	if (!bytes)
		return -ENOMEM;
	for (int at = 0; at < rows && err == 0; at++) {
		if (read_row(result, at, columns, bytes, row)) {
			str_copy(error, POSTGRESQL_ERROR_BYTES,
				 "a column that cannot be read");
			err = -EIO;
		} else {
			err = row_h(row, (size_t)columns, arg);
		}
	}
	free(bytes);
	return err ? err : rows;
}
