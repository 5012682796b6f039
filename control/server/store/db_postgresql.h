/**
 * Connections to a PostgreSQL server of version 15 or later, by libpq (operations:
 * db.h). A connection that was lost is made again at the next query or
 * db_begin(); until that succeeds they return -ENOTCONN. A transaction whose
 * connection was lost has failed as a whole: all its queries and db_commit()
 * return -ENOTCONN. If the connection was lost during db_commit(), whether the
 * changes were made is unknown.
 * Thread: one owner per connection at a time.
 */
#ifndef OFFHOOK_SERVER_STORE_DB_POSTGRESQL_H
#define OFFHOOK_SERVER_STORE_DB_POSTGRESQL_H

#include <stdbool.h>

struct db;

/**
 * Connect. The writer holds an advisory lock of the database as long as it is
 * connected: alone if it is the first one, else shared (db_is_alone()). If it
 * connects again and another process has the database alone, that is -ENOTCONN with
 * a log line. Transactions of writers that share the database are serial.
 * @param uri        may have a password: it is never logged
 * @param read_only  a reader: all its transactions are read-only
 * @return 0; -ENOMEM; -EBUSY another process has the database alone; -ENOTCONN; -EIO
 *         another server or encoding than this program can use; the log has the
 *         reason
 */
int db_postgresql_open(struct db **ret, const char *uri, bool read_only);

#endif
