#include "control/server/store/postgresql_uri.h"

#include "base/log.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define SERVER_VERSION_MIN 150000 /* as PQserverVersion() writes 15.0 */

/* Options of libpq that a URI need not name. Dead peers are found after 25 s. */
static const char *const defaults[][2] = {
	{"connect_timeout", "5"},
	{"keepalives_idle", "10"},
	{"keepalives_interval", "5"},
	{"keepalives_count", "3"},
	{"tcp_user_timeout", "25000"},
	{"fallback_application_name", "offhook-controller"},
};
#define DEFAULTS (sizeof(defaults) / sizeof(*defaults))

bool postgresql_uri_is(const char *database)
{
	return strncmp(database, "postgresql://", 13) == 0 ||
	       strncmp(database, "postgres://", 11) == 0;
}

static const char *option(const PQconninfoOption *options, const char *keyword)
{
	for (const PQconninfoOption *o = options; o->keyword; o++)
		if (strcmp(o->keyword, keyword) == 0)
			return o->val;
	return NULL;
}

void postgresql_uri_name(const char *uri,
			 char name[static POSTGRESQL_NAME_BYTES])
{
	PQconninfoOption *options = PQconninfoParse(uri, NULL);
	const char *host, *port, *database;

	if (!options) {
		str_print(name, POSTGRESQL_NAME_BYTES, "postgresql");
		return;
	}
	host = option(options, "host");
	port = option(options, "port");
	database = option(options, "dbname");
	snprintf(name, POSTGRESQL_NAME_BYTES, "postgresql://%s%s%s/%s",
		 host ? host : "", port ? ":" : "", port ? port : "",
		 database ? database : "");
	PQconninfoFree(options);
}

/* Warnings of the server are in its own log. */
static void drop_notice(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

PGconn *postgresql_connect(const char *uri)
{
	/* libpq's text about a wrong URI may repeat its password */
	PQconninfoOption *options = PQconninfoParse(uri, NULL);
	const char *keywords[64], *values[64];
	size_t count = 0;
	PGconn *conn;

	if (!options) {
		log_error("database: not a URI of PostgreSQL "
			  "(postgresql://USER@HOST:PORT/DATABASE?OPTION=VALUE, "
			  "special characters as %%XX), or out of memory");
		return NULL;
	}
	for (const PQconninfoOption *o = options; o->keyword && count < 56;
	     o++) {
		if (!o->val || strcmp(o->keyword, "client_encoding") == 0)
			continue;
		keywords[count] = o->keyword;
		values[count++] = o->val;
	}
	for (size_t i = 0; i < DEFAULTS; i++) {
		if (option(options, defaults[i][0]))
			continue;
		keywords[count] = defaults[i][0];
		values[count++] = defaults[i][1];
	}
	keywords[count] = "client_encoding";
	values[count++] = "UTF8";
	keywords[count] = values[count] = NULL;
	conn = PQconnectdbParams(keywords, values, 0);
	PQconninfoFree(options);
	if (conn)
		PQsetNoticeProcessor(conn, drop_notice, NULL);
	return conn;
}

const char *postgresql_refused(const PGconn *conn)
{
	const char *encoding = PQparameterStatus(conn, "server_encoding");

	if (PQserverVersion(conn) < SERVER_VERSION_MIN)
		return "the server is older than PostgreSQL 15";
	if (!encoding || strcmp(encoding, "UTF8") != 0)
		return "the database's encoding is not UTF8: make it by "
		       "createdb --template=template0 --encoding=UTF8";
	return NULL;
}
