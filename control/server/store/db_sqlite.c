#include "control/server/store/db_sqlite.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/store/db_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Timeout for a lock: a writer waits only for a checkpoint of this process,
 * readers while the WAL index is recovered. */
#define BUSY_TIMEOUT_MS 5000

/* Prepared statements kept: more than the store has SQL texts. */
#define STATEMENTS_MAX 128

#define COLUMNS_MAX 64

/* An INSERT of all columns of a table. */
#define LOAD_SQL_BYTES 4096

/* Pages of a step of a copy, between two questions whether to go on. */
#define COPY_PAGES 1024

/* A statement of more virtual-machine instructions is logged: it may scan a
 * whole table because an index is missing. */
#define STEPS_TOLD 20000

struct statement {
	char *sql;
	sqlite3_stmt *stmt;
	bool in_use; /* a row handler may run the same text again */
};

struct sqlite_db {
	struct db base;
	sqlite3 *sq;
	struct statement statements[STATEMENTS_MAX];
	size_t statement_count;
	size_t next_evicted;
	struct {
		sqlite3_stmt *stmt;     /* NULL: no load */
		struct statement *kept; /* its place, or NULL */
		size_t count;           /* of columns */
	} load;
};

static struct sqlite_db *of(struct db *db)
{
	return (struct sqlite_db *)db;
}

static int error_of(int sqlite_code)
{
	switch (sqlite_code) {
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
		return -EEXIST;
	case SQLITE_CONSTRAINT_FOREIGNKEY:
		return -ENOTEMPTY;
	default:
		break;
	}
	switch (sqlite_code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	default:
		return -EIO;
	}
}

/* SQLite's message, and the system's reason where the file was at fault: "unable
 * to open database file: Too many open files". With a full disk, the file on it. */
static const char *error_text(const struct db *db)
{
	static _Thread_local char text[256];
	sqlite3 *sq = ((const struct sqlite_db *)db)->sq;
	int code = sq ? sqlite3_errcode(sq) & 0xff : SQLITE_NOMEM, err;

	if (code == SQLITE_FULL) {
		snprintf(text, sizeof(text), "%s: %s", sqlite3_errmsg(sq),
			 sqlite3_db_filename(sq, "main"));
		return text;
	}
	if (code != SQLITE_CANTOPEN && code != SQLITE_IOERR)
		return sq ? sqlite3_errmsg(sq) : "out of memory";
	err = sqlite3_system_errno(sq);
	snprintf(text, sizeof(text), "%s%s%s", sqlite3_errmsg(sq),
		 err ? ": " : "", err ? strerror(err) : "");
	return text;
}

/* What fails in a transaction is logged at its end. */
static int failed(struct sqlite_db *db, int sqlite_code)
{
	int err = error_of(sqlite_code);

	/* as where the file that readers share (-shm) cannot grow */
	if ((sqlite_code & 0xff) == SQLITE_IOERR &&
	    sqlite3_system_errno(db->sq) == ENOSPC)
		err = -ENOSPC;
	if ((err == -EIO || err == -ENOSPC) && sqlite3_get_autocommit(db->sq))
		log_error("database: %s", error_text(&db->base));
	return err;
}

static int run_script(struct sqlite_db *db, const char *sql)
{
	return sqlite3_exec(db->sq, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
									: -EIO;
}

static void close_file(struct db *base)
{
	struct sqlite_db *db = of(base);

	if (db->load.stmt && !db->load.kept)
		sqlite3_finalize(db->load.stmt);
	for (size_t i = 0; i < db->statement_count; i++) {
		sqlite3_finalize(db->statements[i].stmt);
		free(db->statements[i].sql);
	}
	sqlite3_close(db->sq);
	free(db);
}

/* Find a free place for a prepared statement. @return NULL: all are in use */
static struct statement *statement_slot(struct sqlite_db *db)
{
	if (db->statement_count < STATEMENTS_MAX)
		return &db->statements[db->statement_count++];
	for (size_t i = 0; i < STATEMENTS_MAX; i++) {
		struct statement *s = &db->statements[db->next_evicted];

		db->next_evicted = (db->next_evicted + 1) % STATEMENTS_MAX;
		if (s->in_use)
			continue;
		sqlite3_finalize(s->stmt);
		free(s->sql);
		memset(s, 0, sizeof(*s));
		return s;
	}
	return NULL;
}

/* Get the kept statement of a text. If that is running, prepare another one. */
static int prepare(struct sqlite_db *db, const char *sql, sqlite3_stmt **ret,
		   struct statement **ret_kept)
{
	struct statement *kept = NULL;
	bool running = false;
	int err;

	for (size_t i = 0; i < db->statement_count; i++) {
		struct statement *s = &db->statements[i];

		if (!s->sql || strcmp(s->sql, sql) != 0)
			continue;
		running = s->in_use;
		if (running)
			break;
		s->in_use = true;
		*ret = s->stmt;
		*ret_kept = s;
		return 0;
	}
	err = sqlite3_prepare_v2(db->sq, sql, -1, ret, NULL);
	if (err != SQLITE_OK)
		return failed(db, err);
	if (!running)
		kept = statement_slot(db);
	if (kept) {
		kept->sql = strdup(sql);
		kept->stmt = *ret;
		kept->in_use = true;
	}
	*ret_kept = kept;
	return 0;
}

static void finish(sqlite3_stmt *stmt, struct statement *kept)
{
	if (!kept) {
		sqlite3_finalize(stmt);
		return;
	}
	sqlite3_reset(stmt);
	sqlite3_clear_bindings(stmt); /* borrowed values end here */
	kept->in_use = false;
}

static int bind_value(sqlite3_stmt *stmt, int at, const struct db_value *v)
{
	/* SQLITE_STATIC: the caller's values outlive the statement's run. An
	 * empty blob must not become NULL, hence the literal. */
	const void *bytes = v->bytes ? v->bytes : "";

	switch (v->type) {
	case DB_INT:
		return sqlite3_bind_int64(stmt, at, v->integer);
	case DB_REAL:
		return sqlite3_bind_double(stmt, at, v->real);
	case DB_TEXT:
		return sqlite3_bind_text64(stmt, at, bytes, v->len,
					   SQLITE_STATIC, SQLITE_UTF8);
	case DB_BLOB:
		return sqlite3_bind_blob64(stmt, at, bytes, v->len,
					   SQLITE_STATIC);
	case DB_NULL:
	default:
		return sqlite3_bind_null(stmt, at);
	}
}

static int bind_all(sqlite3_stmt *stmt, const struct db_value *params,
		    size_t count)
{
	int parameters = count ? sqlite3_bind_parameter_count(stmt) : 0;

	for (int at = 1; at <= parameters; at++) {
		/* to SQLite $1 is a name, not a position */
		const char *name = sqlite3_bind_parameter_name(stmt, at);
		uint64_t number;
		int err;

		if (!name || str_to_u64(name + 1, count, &number) ||
		    number == 0)
			continue;
		err = bind_value(stmt, at, &params[number - 1]);
		if (err != SQLITE_OK)
			return error_of(err);
	}
	return 0;
}

static void read_column(sqlite3_stmt *stmt, int at, struct db_value *v)
{
	memset(v, 0, sizeof(*v));
	switch (sqlite3_column_type(stmt, at)) {
	case SQLITE_INTEGER:
		*v = DB_I(sqlite3_column_int64(stmt, at));
		break;
	case SQLITE_FLOAT:
		*v = DB_R(sqlite3_column_double(stmt, at));
		break;
	case SQLITE_TEXT:
		v->type = DB_TEXT;
		v->bytes = sqlite3_column_text(stmt, at);
		v->len = (size_t)sqlite3_column_bytes(stmt, at);
		break;
	case SQLITE_BLOB:
		v->type = DB_BLOB;
		v->bytes = sqlite3_column_blob(stmt, at);
		v->len = (size_t)sqlite3_column_bytes(stmt, at);
		break;
	default:
		break; /* DB_NULL */
	}
}

/* @return rows delivered or changed; negative error; the handler's value */
static int run_rows(struct sqlite_db *db, sqlite3_stmt *stmt, db_row_h *row_h,
		    void *arg)
{
	struct db_value row[COLUMNS_MAX];
	int columns = sqlite3_column_count(stmt);
	int delivered = 0;
	int step;

	if (columns > COLUMNS_MAX)
		return -EIO;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		int stop;

		delivered++;
		if (!row_h)
			continue;
		for (int i = 0; i < columns; i++)
			read_column(stmt, i, &row[i]);
		stop = row_h(row, (size_t)columns, arg);
		if (stop)
			return stop;
	}
	if (step != SQLITE_DONE)
		return failed(db, step);
	if (columns > 0)
		return delivered;
	return sqlite3_changes(db->sq);
}

static void tell_steps(sqlite3_stmt *stmt, const char *sql)
{
	int steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 1);

	if (steps > STEPS_TOLD)
		log_debug("database: %d steps: %s", steps, sql);
}

static int query(struct db *base, const char *sql,
		 const struct db_value *params, size_t count, db_row_h *row_h,
		 void *arg)
{
	struct sqlite_db *db = of(base);
	struct statement *kept = NULL;
	sqlite3_stmt *stmt;
	int err;

	err = prepare(db, sql, &stmt, &kept);
	if (err)
		return err;
	err = bind_all(stmt, params, count);
	if (err == 0)
		err = run_rows(db, stmt, row_h, arg);
	tell_steps(stmt, sql);
	finish(stmt, kept);
	return err;
}

static int script(struct db *db, const char *sql)
{
	return run_script(of(db), sql);
}

/* Statements are prepared once, and there is no server to wait for: row by row is
 * the fastest way. */
static int load_prepare(struct sqlite_db *db, const struct db_load *load,
			const char *values)
{
	struct buf sql;
	int err;

	buf_init(&sql, LOAD_SQL_BYTES);
	err = db_load_text(&sql, "INSERT INTO", load, values);
	if (err == 0)
		err = prepare(db, sql.data, &db->load.stmt, &db->load.kept);
	buf_release(&sql);
	return err;
}

static void load_release(struct sqlite_db *db)
{
	if (db->load.stmt)
		finish(db->load.stmt, db->load.kept);
	db->load.stmt = NULL;
}

static int load_begin(struct db *base, const struct db_load *load)
{
	struct sqlite_db *db = of(base);
	char values[8 * COLUMNS_MAX + 64] = "VALUES (";
	size_t used = strlen(values);

	if (load->count > COLUMNS_MAX)
		return -EIO;
	load_release(db);
	for (size_t i = 0; i < load->count; i++)
		used += (size_t)snprintf(values + used, sizeof(values) - used,
					 "%s$%zu", i ? ", " : "", i + 1);
	used += (size_t)snprintf(values + used, sizeof(values) - used, ")");
	if (load->key &&
	    str_print(values + used, sizeof(values) - used,
		      " ON CONFLICT (%s) DO NOTHING", load->key) < 0)
		return -EIO;
	db->load.count = load->count;
	return load_prepare(db, load, values);
}

static int load_row(struct db *base, const struct db_value *row)
{
	struct sqlite_db *db = of(base);
	int err = SQLITE_OK, step;

	/* the parameters' numbers are their places */
	for (size_t i = 0; i < db->load.count && err == SQLITE_OK; i++)
		err = bind_value(db->load.stmt, (int)i + 1, &row[i]);
	if (err != SQLITE_OK)
		return error_of(err);
	step = sqlite3_step(db->load.stmt);
	err = step == SQLITE_DONE ? 0 : failed(db, step);
	sqlite3_reset(db->load.stmt);
	return err;
}

static int load_end(struct db *db)
{
	load_release(of(db));
	return 0;
}

static int begin(struct db *db)
{
	int err = query(db, "BEGIN IMMEDIATE", NULL, 0, NULL, NULL);

	return err < 0 ? err : 0;
}

static int commit(struct db *db)
{
	int err = query(db, "COMMIT", NULL, 0, NULL, NULL);

	return err < 0 ? err : 0;
}

static void rollback(struct db *db)
{
	load_release(of(db)); /* given up */
	/* SQLite may have rolled back by itself (full disk): no error then */
	if (sqlite3_get_autocommit(of(db)->sq) == 0)
		query(db, "ROLLBACK", NULL, 0, NULL, NULL);
}

/* Other processes are locked out by the lock of the file. */
static bool is_alone(const struct db *db)
{
	(void)db;
	return true;
}

static int keep_lock(struct db *db)
{
	(void)db;
	return 0;
}

static uint64_t connections(const struct db *db)
{
	(void)db;
	return 1;
}

static const struct db_driver driver = {
	.dialect = DB_SQLITE,
	.query = query,
	.script = script,
	.load_begin = load_begin,
	.load_row = load_row,
	.load_end = load_end,
	.begin = begin,
	.commit = commit,
	.rollback = rollback,
	.is_alone = is_alone,
	.lock_alone = keep_lock,
	.lock_shared = keep_lock,
	.connections = connections,
	.error = error_text,
	.close = close_file,
};

/* ---- opening ---- */

static int configure(struct sqlite_db *db, bool keeps_journal)
{
	int err;

	sqlite3_extended_result_codes(db->sq, 1);
	sqlite3_busy_timeout(db->sq, BUSY_TIMEOUT_MS);
	err = run_script(db, "PRAGMA mmap_size = 0;"
			     "PRAGMA foreign_keys = ON;"
			     "PRAGMA trusted_schema = OFF;");
	if (err || keeps_journal)
		return err;
	return run_script(db, "PRAGMA journal_mode = WAL;"
			      "PRAGMA synchronous = FULL;");
}

void db_sqlite_setup(void)
{
	/* memory statistics take a global lock at every allocation */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int open_file(struct db **ret, const char *path, int flags,
		     bool keeps_journal)
{
	struct sqlite_db *db;
	mode_t old_mask;
	int err;

	db = calloc(1, sizeof(*db));
	if (!db)
		return -ENOMEM;
	db->base.driver = &driver;
	old_mask = umask(0077); /* the WAL gets the mode of the file */
	err = sqlite3_open_v2(path, &db->sq, flags | SQLITE_OPEN_NOMUTEX, NULL);
	umask(old_mask);
	if (err == SQLITE_OK)
		err = configure(db, keeps_journal);
	if (err) {
		log_error("database %s: %s", path, error_text(&db->base));
		close_file(&db->base);
		return -EIO;
	}
	*ret = &db->base;
	return 0;
}

int db_sqlite_open(struct db **ret, const char *path, bool read_only)
{
	return open_file(ret, path,
			 read_only ? SQLITE_OPEN_READONLY
				   : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
			 read_only);
}

int db_sqlite_open_as_is(struct db **ret, const char *path)
{
	return open_file(ret, path, SQLITE_OPEN_READWRITE, true);
}

void db_sqlite_triggers(struct db *db, bool on)
{
	sqlite3_db_config(of(db)->sq, SQLITE_DBCONFIG_ENABLE_TRIGGER,
			  on ? 1 : 0, NULL);
}

/* ---- copying ---- */

/* The read transaction keeps the source as it is: without one each change by
 * another connection would begin the copy anew. */
static int copy_pages(struct sqlite_db *db, sqlite3 *dest,
		      bool (*stop_h)(void *arg), void *arg)
{
	sqlite3_backup *backup;
	int step = SQLITE_OK;

	if (run_script(db, "BEGIN; SELECT count(*) FROM sqlite_master"))
		return -EIO;
	backup = sqlite3_backup_init(dest, "main", db->sq, "main");
	while (backup && step == SQLITE_OK && !(stop_h && stop_h(arg)))
		step = sqlite3_backup_step(backup, COPY_PAGES);
	sqlite3_backup_finish(backup);
	run_script(db, "COMMIT");
	if (backup && step == SQLITE_OK)
		return -ECANCELED;
	return step == SQLITE_DONE ? 0 : -EIO;
}

int db_copy(struct db *db, const char *copy, bool (*stop_h)(void *arg),
	    void *arg)
{
	sqlite3 *dest = NULL;
	int fd, err;

	fd = open(copy, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	err = sqlite3_open_v2(
		copy, &dest, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (err == SQLITE_OK)
		err = sqlite3_exec(dest,
				   "PRAGMA mmap_size = 0;"
				   "PRAGMA synchronous = OFF",
				   NULL, NULL, NULL);
	err = err == SQLITE_OK ? copy_pages(of(db), dest, stop_h, arg) : -EIO;
	/* the copied header says that there is a write-ahead log */
	if (err == 0 && sqlite3_exec(dest, "PRAGMA journal_mode = DELETE", NULL,
				     NULL, NULL) != SQLITE_OK)
		err = -EIO;
	if (err == -EIO)
		log_error("%s: %s", copy, sqlite3_errmsg(dest));
	sqlite3_close(dest);
	if (err)
		unlink(copy);
	return err;
}
