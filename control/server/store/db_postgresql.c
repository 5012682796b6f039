#include "control/server/store/db_postgresql.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/store/db_driver.h"
#include "control/server/store/postgresql_arrays.h"
#include "control/server/store/postgresql_lock.h"
#include "control/server/store/postgresql_rows.h"
#include "control/server/store/postgresql_text.h"
#include "control/server/store/postgresql_uri.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prepared statements kept, as many as for SQLite. */
#define STATEMENTS_MAX 128
#define PARAMS_MAX     64
#define ERROR_BYTES    POSTGRESQL_ERROR_BYTES
#define SCRIPT_BYTES   (1024 * 1024)
#define TAG_BYTES      128

/* Rows are sent when there are so many bytes. One of them has at most what a
 * message of the protocol may have. */
#define LOAD_SEND_BYTES (64 * 1024)
#define LOAD_ROW_BYTES  (1024 * 1024 * 1024)

/* Rows of a COPY: the server checks their references when it ends, and has a list
 * of them in memory until then. */
#define LOAD_ROWS 50000

/* A server that says nothing for longer is taken as lost. It cancels a statement
 * by itself before (statement_timeout below). */
#define ANSWER_TIMEOUT_NS (35 * NS_PER_S)
#define NO_TIMEOUT        INT64_MAX

/* Pause after a failed attempt to connect. */
#define CONNECT_PAUSE_NS NS_PER_S

/* What the program relies on, whatever the server's configuration says: what was
 * answered is on the disk (synchronous_commit may be stronger than on). The
 * server drops a lock whose client is cut off by its own keepalives. */
#define SESSION_SETTINGS                                                  \
	"SET bytea_output = 'hex'; SET extra_float_digits = 1; "          \
	"SET standard_conforming_strings = on; SET lock_timeout = '5s'; " \
	"SET statement_timeout = '30s'; SET tcp_keepalives_idle = 10; "   \
	"SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; " \
	"SET default_transaction_isolation = 'read committed'; "          \
	"SET default_transaction_deferrable = off; "                      \
	"SELECT set_config('synchronous_commit', 'on', false) "           \
	"WHERE current_setting('synchronous_commit') = 'off'; "

struct statement {
	char *sql; /* NULL: free */
	unsigned number;
	int count;
	Oid types[PARAMS_MAX];
};

struct postgresql_db {
	struct db base;
	char *uri;                        /* constant; has secrets */
	char name[POSTGRESQL_NAME_BYTES]; /* constant */
	bool read_only;                   /* constant */
	PGconn *conn;                     /* NULL: not connected */
	bool in_transaction;
	bool transaction_lost; /* with its connection */
	uint64_t connections;
	bool told;           /* the log says that there is no connection */
	int64_t retry_at_ns; /* no attempt to connect before */
	struct postgresql_lock lock; /* of the writer */
	struct statement statements[STATEMENTS_MAX];
	size_t next_evicted;
	unsigned statement_number; /* the last one given */
	struct {
		struct buf command; /* COPY ... FROM STDIN */
		struct buf rows;    /* not sent yet */
		size_t columns;
		int count; /* of rows in this COPY */
	} load;
	struct postgresql_arrays arrays; /* a load by statements, if begun */
	char error[ERROR_BYTES];
};

static struct postgresql_db *of(struct db *db)
{
	return (struct postgresql_db *)db;
}

/* ---- the connection ---- */

/* libpq ends its texts with a line feed. */
static void set_error(struct postgresql_db *db, const char *state,
		      const char *text)
{
	snprintf(db->error, sizeof(db->error), "%s%s%s", state ? state : "",
		 state ? ": " : "", text ? text : "no answer");
	for (char *c = db->error; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
}

static void disconnect(struct postgresql_db *db)
{
	PQfinish(db->conn);
	db->conn = NULL;
	for (size_t i = 0; i < STATEMENTS_MAX; i++) {
		free(db->statements[i].sql);
		db->statements[i].sql = NULL;
	}
	if (db->in_transaction)
		db->transaction_lost = true;
}

/* @return -ENOTCONN */
static int lose(struct postgresql_db *db, const char *text)
{
	set_error(db, NULL, text);
	if (!db->told)
		log_warning("database %s: the connection was lost: %s",
			    db->name, db->error);
	db->told = true;
	disconnect(db);
	return -ENOTCONN;
}

/* Wait until PQgetResult() need not. @return 0; -ENOTCONN db lost */
static int wait_for_input(struct postgresql_db *db, int64_t until)
{
	struct pollfd fd = {.fd = PQsocket(db->conn), .events = POLLIN};

	while (PQisBusy(db->conn)) {
		if (clock_mono_ns() >= until)
			return lose(db, "the server does not answer");
		if (poll(&fd, 1, 1000) > 0 && !PQconsumeInput(db->conn))
			break; /* PQgetResult() has the error */
	}
	return 0;
}

static int64_t end_of(int64_t timeout_ns)
{
	return timeout_ns == NO_TIMEOUT ? INT64_MAX
					: clock_mono_ns() + timeout_ns;
}

/* Wait for the end of a command. @return its last result; NULL: db lost */
static PGresult *wait_for_result(struct postgresql_db *db, int64_t timeout_ns)
{
	const int64_t until = end_of(timeout_ns);
	PGresult *last = NULL, *result;

	for (;;) {
		if (wait_for_input(db, until)) {
			PQclear(last);
			return NULL;
		}
		result = PQgetResult(db->conn);
		if (!result)
			return last;
		PQclear(last);
		last = result;
	}
}

/* Judge the result of a command. @return 0; else released: db_query()'s codes */
static int check(struct postgresql_db *db, PGresult *result)
{
	const ExecStatusType status = PQresultStatus(result);
	const char *state, *text;
	int err;

	if (result && (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK))
		return 0;
	if (!db->conn)
		return -ENOTCONN;
	state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	if (!text)
		text = PQerrorMessage(db->conn);
	err = PQstatus(db->conn) == CONNECTION_BAD ? -ENOTCONN
						   : postgresql_error(state);
	if (err == -ENOTCONN)
		lose(db, text);
	else
		set_error(db, state, text);
	PQclear(result);
	return err;
}

/* Run text without parameters, in the simple protocol. */
static int run_text(struct postgresql_db *db, const char *sql,
		    int64_t timeout_ns, char tag[static TAG_BYTES])
{
	PGresult *result = NULL;
	int err;

	if (PQsendQuery(db->conn, sql))
		result = wait_for_result(db, timeout_ns);
	err = check(db, result);
	if (err)
		return err;
	str_copy(tag, TAG_BYTES, PQcmdStatus(result));
	PQclear(result);
	return 0;
}

/* Ask for one row of two texts: a postgresql_ask_h. */
static int ask(struct db *base, const char *sql, const char *const params[2],
	       char (*ret)[POSTGRESQL_ANSWER_BYTES])
{
	struct postgresql_db *db = of(base);
	PGresult *result = NULL;
	int err;

	if (PQsendQueryParams(db->conn, sql, params ? 2 : 0, NULL, params, NULL,
			      NULL, 0))
		result = wait_for_result(db, ANSWER_TIMEOUT_NS);
	err = check(db, result);
	if (err)
		return err;
	for (int i = 0; i < 2; i++)
		str_copy(ret[i], POSTGRESQL_ANSWER_BYTES,
			 PQntuples(result) > 0 ? PQgetvalue(result, 0, i) : "");
	PQclear(result);
	return 0;
}

/* A lock that another process has is told with what to do. */
static int lock_result(struct postgresql_db *db, int err, bool alone)
{
	if (err == -EBUSY)
		set_error(db, NULL, postgresql_lock_refused(alone));
	return err;
}

static int set_up(struct postgresql_db *db)
{
	char tag[TAG_BYTES];
	const char *refused;
	int err;

	if (PQstatus(db->conn) != CONNECTION_OK) {
		set_error(db, NULL, PQerrorMessage(db->conn));
		return -ENOTCONN;
	}
	refused = postgresql_refused(db->conn);
	if (refused) {
		set_error(db, NULL, refused);
		return -EIO;
	}
	err = run_text(db,
		       db->read_only ? SESSION_SETTINGS
			       "SET default_transaction_read_only = on"
				     : SESSION_SETTINGS
			       "SET default_transaction_read_only = off",
		       ANSWER_TIMEOUT_NS, tag);
	if (err == 0 && !db->read_only)
		err = lock_result(
			db, postgresql_lock_enter(&db->lock, ask, &db->base),
			db->lock.alone);
	return err;
}

/* Connect if there is no connection. @return 0; -ENOTCONN; -EBUSY; -EIO */
static int connect_again(struct postgresql_db *db)
{
	const bool told = db->told;
	int err;

	if (db->conn)
		return 0;
	if (clock_mono_ns() < db->retry_at_ns)
		return -ENOTCONN;
	db->conn = postgresql_connect(db->uri);
	if (!db->conn)
		return -EIO;
	db->told = true; /* set_up() need not say that it was lost */
	err = set_up(db);
	db->told = told;
	if (err) {
		disconnect(db);
		db->retry_at_ns = clock_mono_ns() + CONNECT_PAUSE_NS;
		return err;
	}
	if (told)
		log_info("database %s: connected again", db->name);
	db->told = false;
	db->connections++;
	return 0;
}

/* As connect_again(), for a database that has been in use. */
static int reconnect(struct postgresql_db *db)
{
	const bool attempt = clock_mono_ns() >= db->retry_at_ns;
	int err = connect_again(db);

	if (err && attempt)
		log_warning("database %s: %s", db->name, db->error);
	return err ? -ENOTCONN : 0;
}

/* ---- statements ---- */

static struct statement *statement_slot(struct postgresql_db *db)
{
	struct statement *s = &db->statements[db->next_evicted];
	char sql[48], tag[TAG_BYTES];

	db->next_evicted = (db->next_evicted + 1) % STATEMENTS_MAX;
	if (!s->sql)
		return s;
	free(s->sql);
	s->sql = NULL;
	snprintf(sql, sizeof(sql), "DEALLOCATE s%u", s->number);
	return run_text(db, sql, ANSWER_TIMEOUT_NS, tag) ? NULL : s;
}

static int prepare_named(struct postgresql_db *db, const char *name,
			 const char *sql, int count, const Oid *types)
{
	PGresult *result = NULL;
	int err;

	if (PQsendPrepare(db->conn, name, sql, count, types))
		result = wait_for_result(db, ANSWER_TIMEOUT_NS);
	err = check(db, result);
	if (err == 0)
		PQclear(result);
	return err;
}

/* Let the server tell the types of the parameters. An integer that it takes as
 * one of 4 bytes, as in "$1 + 1", is one of 8 to the store. */
static int find_types(struct postgresql_db *db, const char *sql,
		      struct statement *s)
{
	PGresult *result = NULL;
	int err = prepare_named(db, "", sql, 0, NULL);

	if (err)
		return err;
	if (PQsendDescribePrepared(db->conn, ""))
		result = wait_for_result(db, ANSWER_TIMEOUT_NS);
	err = check(db, result);
	if (err)
		return err;
	s->count = PQnparams(result);
	for (int i = 0; i < s->count && i < PARAMS_MAX; i++) {
		s->types[i] = PQparamtype(result, i);
		if (s->types[i] == POSTGRESQL_INT4)
			s->types[i] = POSTGRESQL_INT8;
	}
	PQclear(result);
	if (s->count <= PARAMS_MAX)
		return 0;
	set_error(db, NULL, "too many parameters");
	return -EIO;
}

/* Find the kept statement of a text, or prepare it. */
static int prepare(struct postgresql_db *db, const char *sql,
		   const struct statement **ret)
{
	struct statement *s;
	char name[16];
	int err;

	for (size_t i = 0; i < STATEMENTS_MAX; i++) {
		s = &db->statements[i];
		if (s->sql && strcmp(s->sql, sql) == 0) {
			*ret = s;
			return 0;
		}
	}
	s = statement_slot(db);
	if (!s)
		return db->conn ? -EIO : -ENOTCONN;
	err = find_types(db, sql, s);
	if (err)
		return err;
	s->number = ++db->statement_number;
	snprintf(name, sizeof(name), "s%u", s->number);
	err = prepare_named(db, name, sql, s->count, s->types);
	if (err)
		return err;
	s->sql = strdup(sql);
	if (!s->sql)
		return -ENOMEM;
	*ret = s;
	return 0;
}

static int send_statement(struct postgresql_db *db, const struct statement *s,
			  const struct db_value *params, size_t count)
{
	char numbers[PARAMS_MAX][POSTGRESQL_NUMBER_BYTES], name[16];
	const char *values[PARAMS_MAX];
	int lengths[PARAMS_MAX], formats[PARAMS_MAX];

	if ((size_t)s->count > count) {
		set_error(db, NULL, "parameters are missing");
		return -EIO;
	}
	for (int i = 0; i < s->count; i++) {
		struct postgresql_param p;

		if (postgresql_param(&params[i], s->types[i], numbers[i], &p)) {
			set_error(db, NULL, "a parameter of another type");
			return -EIO;
		}
		values[i] = p.bytes;
		lengths[i] = p.len;
		formats[i] = p.format;
	}
	snprintf(name, sizeof(name), "s%u", s->number);
	/* not sent: wait_for_result() finds the connection broken */
	PQsendQueryPrepared(db->conn, name, s->count, values, lengths, formats,
			    0);
	return 0;
}

/* @return 0 and the result; db_query()'s codes */
static int execute(struct postgresql_db *db, const char *sql,
		   const struct db_value *params, size_t count, PGresult **ret)
{
	const struct statement *s;
	PGresult *result;
	int err = prepare(db, sql, &s);

	if (err == 0)
		err = send_statement(db, s, params, count);
	if (err)
		return err;
	result = wait_for_result(db, ANSWER_TIMEOUT_NS);
	err = check(db, result);
	if (err == 0)
		*ret = result;
	return err;
}

/* ---- queries ---- */

static int query(struct db *base, const char *sql,
		 const struct db_value *params, size_t count, db_row_h *row_h,
		 void *arg)
{
	struct postgresql_db *db = of(base);
	PGresult *result;
	int err = -ENOTCONN;

	/* outside a transaction a statement may run on its own, on another
	 * connection; once more only if it changes nothing */
	if (!db->in_transaction)
		err = reconnect(db);
	else if (!db->transaction_lost)
		err = 0;
	if (err == 0)
		err = execute(db, sql, params, count, &result);
	if (err == -ENOTCONN && db->read_only && reconnect(db) == 0)
		err = execute(db, sql, params, count, &result);
	/* what fails in a transaction is logged at its end */
	if ((err == -EIO || err == -ENOSPC) && !db->in_transaction)
		log_error("database: %s", db->error);
	if (err)
		return err;
	if (PQresultStatus(result) == PGRES_TUPLES_OK)
		err = postgresql_rows(result, row_h, arg, db->error);
	else
		err = (int)strtol(PQcmdTuples(result), NULL, 10);
	PQclear(result);
	return err;
}

static int script(struct db *base, const char *sql)
{
	struct postgresql_db *db = of(base);
	char tag[TAG_BYTES];
	struct buf text;
	int err;

	if (db->in_transaction ? db->transaction_lost : reconnect(db) != 0)
		return -EIO;
	buf_init(&text, SCRIPT_BYTES);
	err = postgresql_schema(&text, sql);
	if (err)
		set_error(db, NULL, "a trigger that cannot be translated");
	else
		err = run_text(db, text.data, NO_TIMEOUT, tag);
	buf_release(&text);
	return err ? -EIO : 0;
}

/* ---- loading ---- */

static void load_release(struct postgresql_db *db)
{
	buf_release(&db->load.command);
	buf_release(&db->load.rows);
	postgresql_arrays_release(&db->arrays);
}

static int arrays_send(struct postgresql_db *db)
{
	struct db_value params[POSTGRESQL_ARRAYS_COLUMNS];
	int err;

	if (!db->arrays.count)
		return 0;
	postgresql_arrays_params(&db->arrays, params);
	err = query(&db->base, db->arrays.sql.data, params, db->arrays.columns,
		    NULL, NULL);
	postgresql_arrays_clear(&db->arrays);
	return err < 0 ? err : 0;
}

/* Begin a COPY. */
static int copy_begin(struct postgresql_db *db)
{
	PGresult *result = NULL;
	int err;

	db->load.count = 0;
	if (PQsendQuery(db->conn, db->load.command.data) &&
	    wait_for_input(db, end_of(ANSWER_TIMEOUT_NS)) == 0)
		result = PQgetResult(db->conn);
	if (result && PQresultStatus(result) == PGRES_COPY_IN) {
		PQclear(result);
		return 0;
	}
	err = check(db, result);
	/* the end of the refused command */
	if (db->conn)
		PQclear(wait_for_result(db, ANSWER_TIMEOUT_NS));
	return err ? err : -EIO;
}

static int copy_send(struct postgresql_db *db)
{
	struct buf *rows = &db->load.rows;

	if (rows->used > 0 &&
	    PQputCopyData(db->conn, rows->data, (int)rows->used) != 1)
		return lose(db, PQerrorMessage(db->conn));
	buf_consume(rows, rows->used);
	return 0;
}

/* End a COPY: the server checks the rows. */
static int copy_end(struct postgresql_db *db)
{
	PGresult *result;
	int err = copy_send(db);

	if (err)
		return err;
	if (PQputCopyEnd(db->conn, NULL) != 1)
		return lose(db, PQerrorMessage(db->conn));
	result = wait_for_result(db, NO_TIMEOUT);
	err = check(db, result);
	if (err == 0)
		PQclear(result);
	return err;
}

static int load_begin(struct db *base, const struct db_load *load)
{
	struct postgresql_db *db = of(base);
	int err;

	if (!db->in_transaction || db->transaction_lost)
		return -ENOTCONN;
	load_release(db);
	if (load->types)
		return postgresql_arrays_begin(&db->arrays, load);
	buf_init(&db->load.command, SCRIPT_BYTES);
	buf_init(&db->load.rows, LOAD_ROW_BYTES);
	db->load.columns = load->count;
	err = db_load_text(&db->load.command, "COPY", load, "FROM STDIN");
	return err ? err : copy_begin(db);
}

static int load_row(struct db *base, const struct db_value *row)
{
	struct postgresql_db *db = of(base);
	int err;

	if (db->transaction_lost)
		return -ENOTCONN;
	if (db->arrays.columns > 0) {
		err = postgresql_arrays_add(&db->arrays, row);
		return !err && postgresql_arrays_full(&db->arrays)
			       ? arrays_send(db)
			       : err;
	}
	err = postgresql_copy_row(&db->load.rows, row, db->load.columns);
	if (err == 0 && db->load.rows.used >= LOAD_SEND_BYTES)
		err = copy_send(db);
	if (err || ++db->load.count < LOAD_ROWS)
		return err;
	err = copy_end(db);
	return err ? err : copy_begin(db);
}

static int load_end(struct db *base)
{
	struct postgresql_db *db = of(base);
	int err = -ENOTCONN;

	if (!db->transaction_lost)
		err = db->arrays.columns ? arrays_send(db) : copy_end(db);
	load_release(db);
	return err;
}

/* ---- transactions ---- */

static int commit(struct db *base)
{
	struct postgresql_db *db = of(base);
	char tag[TAG_BYTES];
	int err;

	if (db->transaction_lost)
		return -ENOTCONN;
	err = run_text(db, "COMMIT", ANSWER_TIMEOUT_NS, tag);
	if (err)
		return err;
	db->in_transaction = false;
	/* after an error the server rolls back instead, and says so */
	if (strcmp(tag, "COMMIT") == 0)
		return 0;
	set_error(db, NULL, "the transaction had an error before COMMIT");
	return -EIO;
}

static void rollback(struct db *base)
{
	struct postgresql_db *db = of(base);
	char error[ERROR_BYTES], tag[TAG_BYTES];

	if (db->in_transaction && db->conn) {
		memcpy(error, db->error, sizeof(error));
		/* given up within a COPY */
		if (PQtransactionStatus(db->conn) == PQTRANS_ACTIVE &&
		    PQputCopyEnd(db->conn, "given up") == 1)
			PQclear(wait_for_result(db, ANSWER_TIMEOUT_NS));
		run_text(db, "ROLLBACK", ANSWER_TIMEOUT_NS, tag);
		memcpy(db->error, error, sizeof(error));
	}
	load_release(db);
	db->in_transaction = false;
	db->transaction_lost = false;
}

/* Transactions of several controllers are serial, as those of one are: what reads
 * before it writes reads what the one before wrote. */
static int send_begin(struct postgresql_db *db)
{
	char tag[TAG_BYTES];
	int err = run_text(db,
			   db->lock.alone ? "BEGIN"
					  : "BEGIN; " POSTGRESQL_LOCK_WRITING,
			   ANSWER_TIMEOUT_NS, tag);

	if (err && err != -ENOTCONN) {
		db->in_transaction = true;
		rollback(&db->base);
	}
	return err;
}

static int begin(struct db *base)
{
	struct postgresql_db *db = of(base);
	int err = reconnect(db);

	if (err == 0)
		err = send_begin(db);
	/* an idle connection was lost: nothing is done yet */
	if (err == -ENOTCONN && reconnect(db) == 0)
		err = send_begin(db);
	if (err == 0)
		db->in_transaction = true;
	return err;
}

/* ---- other processes ---- */

static bool is_alone(const struct db *db)
{
	return ((const struct postgresql_db *)db)->lock.alone;
}

static int change_lock(struct db *base, bool alone)
{
	struct postgresql_db *db = of(base);
	int err = reconnect(db);

	if (err == 0)
		err = lock_result(
			db, postgresql_lock_change(&db->lock, alone, ask, base),
			alone);
	if (err)
		log_error("database %s: %s", db->name, db->error);
	return err;
}

static int lock_alone(struct db *db)
{
	return is_alone(db) ? 0 : change_lock(db, true);
}

static int lock_shared(struct db *db)
{
	return is_alone(db) ? change_lock(db, false) : 0;
}

static const char *error_text(const struct db *db)
{
	return ((const struct postgresql_db *)db)->error;
}

static void close_connection(struct db *base)
{
	struct postgresql_db *db = of(base);

	disconnect(db);
	load_release(db);
	free(db->uri);
	free(db);
}

static uint64_t connections(const struct db *db)
{
	return ((const struct postgresql_db *)db)->connections;
}

static const struct db_driver driver = {
	.dialect = DB_POSTGRESQL,
	.query = query,
	.script = script,
	.load_begin = load_begin,
	.load_row = load_row,
	.load_end = load_end,
	.begin = begin,
	.commit = commit,
	.rollback = rollback,
	.is_alone = is_alone,
	.lock_alone = lock_alone,
	.lock_shared = lock_shared,
	.connections = connections,
	.error = error_text,
	.close = close_connection,
};

int db_postgresql_open(struct db **ret, const char *uri, bool read_only)
{
	struct postgresql_db *db = calloc(1, sizeof(*db));
	int err;

	if (!db)
		return -ENOMEM;
	db->base.driver = &driver;
	db->read_only = read_only;
	db->uri = strdup(uri);
	if (!db->uri) {
		close_connection(&db->base);
		return -ENOMEM;
	}
	postgresql_uri_name(uri, db->name);
	err = connect_again(db);
	if (err) {
		log_error("database %s: %s", db->name, db->error);
		close_connection(&db->base);
		return err;
	}
	*ret = &db->base;
	return 0;
}
