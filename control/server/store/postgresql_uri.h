/**
 * The URI of a PostgreSQL database (postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE),
 * as libpq reads it, and what it leads to. It may have a password: nothing here logs it.
 * Thread: any
 */
#ifndef OFFHOOK_SERVER_STORE_POSTGRESQL_URI_H
#define OFFHOOK_SERVER_STORE_POSTGRESQL_URI_H

#include <libpq-fe.h>
#include <stdbool.h>

/* Bytes of a database's name in the log, terminated. */
#define POSTGRESQL_NAME_BYTES 256

/** Whether a configured database is a URI of libpq. */
bool postgresql_uri_is(const char *database);

/** Write host, port and database of a URI, without user and passwords. */
void postgresql_uri_name(const char *uri,
			 char name[static POSTGRESQL_NAME_BYTES]);

/** Connect with the options that the program relies on; waits for the server.
 * @return a connection, of which PQstatus() says whether it is one; NULL out of
 *         memory, or the URI is none, logged */
PGconn *postgresql_connect(const char *uri);

/** Why the program cannot use a connected server or database.
 * @return constant text; NULL it can */
const char *postgresql_refused(const PGconn *conn);

#endif
