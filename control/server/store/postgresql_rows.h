/**
 * The rows of a result of PostgreSQL.
 */
#ifndef OFFHOOK_SERVER_STORE_POSTGRESQL_ROWS_H
#define OFFHOOK_SERVER_STORE_POSTGRESQL_ROWS_H

#include <libpq-fe.h>
#include <stddef.h>

struct db_value;

#define POSTGRESQL_ERROR_BYTES 256

/** The db_row_h of db.h. */
typedef int(postgresql_row_h)(const struct db_value *row, size_t columns,
			      void *arg);

/**
 * Give each row to a handler.
 * @param row_h  NULL: count the rows only
 * @param error  receives the reason of an -EIO
 * @return rows, >= 0; -ENOMEM; -EIO; or the handler's value
 */
int postgresql_rows(const PGresult *result, postgresql_row_h *row_h, void *arg,
		    char error[static POSTGRESQL_ERROR_BYTES]);

#endif
