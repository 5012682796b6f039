#include "control/server/store/store_copy.h"

#include "base/log.h"
#include "base/str.h"
#include "control/server/store/db_sqlite.h"
#include "control/server/store/migrate.h"
#include "control/server/store/point_block.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

_Static_assert(DATABASE_PRINT_BYTES == MIGRATION_PRINT_BYTES,
	       "store_copy.h does not show migrate.h");

#define LINE_BYTES 512

int database_lock(int *ret_fd, const char *path)
{
	char name[PATH_MAX];
	int fd, err;

	if (str_print(name, sizeof(name), "%s.lock", path) < 0)
		return -ENAMETOOLONG;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		close(fd);
		return err;
	}
	*ret_fd = fd;
	return 0;
}

int database_copy(const char *path, bool live, const char *copy,
		  database_stop_h *stop_h, void *arg)
{
	struct db *db;
	int err;

	if (access(path, R_OK)) {
		err = -errno; /* a writing connection would make the file */
		log_error("database %s: %s", path, strerror(errno));
		return err;
	}
	db_sqlite_setup();
	err = db_sqlite_open(&db, path, live);
	if (err)
		return err;
	err = db_copy(db, copy, stop_h, arg);
	if (err && err != -ECANCELED)
		log_error("database %s: the copy %s failed: %s", path, copy,
			  err == -EIO ? db_error(db) : strerror(-err));
	db_close(db);
	return err;
}

/* ---- a database that no other process has open ---- */

/* Its -wal, if there is one, can be read by a writing connection only. */
static int open_alone(struct db **ret, const char *path)
{
	db_sqlite_setup();
	return db_sqlite_open_as_is(ret, path);
}

/* Open it, run one query, and log what fails. @return as db_query() */
static int query_alone(const char *path, const char *sql, db_row_h *row_h,
		       void *arg)
{
	struct db *db;
	int err = open_alone(&db, path);

	if (err)
		return err;
	err = db_query(db, sql, NULL, 0, row_h, arg);
	if (err < 0)
		log_error("database %s: %s", path, db_error(db));
	db_close(db);
	return err;
}

static int setting_row(const struct db_value *row, size_t columns, void *arg)
{
	struct database_schema *s = arg;
	uint64_t number;

	(void)columns;
	if (row[0].type != DB_TEXT || row[1].type != DB_TEXT)
		return 0;
	if (strcmp(row[0].bytes, "schema_print") == 0)
		str_copy(s->print, sizeof(s->print), row[1].bytes);
	else if (str_to_u64(row[1].bytes, INT_MAX, &number) == 0)
		s->number = (int)number;
	return 0;
}

static void judge_schema(struct database_schema *s)
{
	const int first = migrations[0].number;
	const int last = migrations[migration_count - 1].number;
	char print[MIGRATION_PRINT_BYTES] = "";

	s->refused = NULL;
	if (s->number > last) {
		s->refused = "made by a later version of this program";
		return;
	}
	if (s->number < first) {
		s->refused = "too old for this program";
		return;
	}
	migration_print(migrations, (size_t)(s->number - first) + 1, print);
	if (strcmp(print, s->print) != 0)
		s->refused = "made by an unreleased build";
}

int database_schema(const char *path, struct database_schema *ret)
{
	int err;

	memset(ret, 0, sizeof(*ret));
	err = query_alone(path,
			  "SELECT name, value FROM setting WHERE name IN "
			  "('schema_version', 'schema_print')",
			  setting_row, ret);
	if (err < 0)
		return err;
	judge_schema(ret);
	return 0;
}

struct findings {
	database_finding_h *finding_h;
	void *arg;
};

static int integrity_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct findings *f = arg;

	(void)columns;
	if (row[0].type != DB_TEXT || strcmp(row[0].bytes, "ok") == 0)
		return 0;
	return f->finding_h(row[0].bytes, f->arg);
}

static int reference_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct findings *f = arg;
	char line[LINE_BYTES];

	(void)columns;
	str_print(line, sizeof(line),
		  "table %s: a row refers to one of %s that is not there",
		  (const char *)row[0].bytes, (const char *)row[2].bytes);
	return f->finding_h(line, f->arg);
}

static int block_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct findings *f = arg;
	char line[LINE_BYTES];

	(void)columns;
	if (row[4].type == DB_BLOB &&
	    point_block_check(row[4].bytes, row[4].len, row[1].integer) >= 0)
		return 0;
	str_print(line, sizeof(line),
		  "table point_block: the block of run %" PRId64
		  ", series %" PRId64 ", lease %.40s, upload %" PRId64
		  " is damaged",
		  row[0].integer, row[1].integer, (const char *)row[2].bytes,
		  row[3].integer);
	return f->finding_h(line, f->arg);
}

/* Files of an earlier schema have no blocks. */
static int check_points(struct db *db, const struct findings *f)
{
	struct findings args = *f;
	int64_t tables = 0;
	int err = db_query(db,
			   "SELECT count(*) FROM sqlite_master WHERE type = "
			   "'table' AND name = 'point_block'",
			   NULL, 0, db_integer_row, &tables);

	if (err >= 0 && tables)
		err = db_query(db,
			       "SELECT run_id, series_id, lease_id, seq, block "
			       "FROM point_block",
			       NULL, 0, block_row, &args);
	return err < 0 ? err : 0;
}

int database_check(const char *path, database_finding_h *finding_h, void *arg)
{
	struct findings f = {finding_h, arg};
	struct db *db;
	int err = open_alone(&db, path);

	if (err)
		return err;
	err = db_query(db, "PRAGMA integrity_check", NULL, 0, integrity_row,
		       &f);
	if (err >= 0)
		err = db_query(db, "PRAGMA foreign_key_check", NULL, 0,
			       reference_row, &f);
	if (err < 0)
		log_error("database %s: %s", path, db_error(db));
	if (err >= 0)
		err = check_points(db, &f);
	db_close(db);
	return err < 0 ? err : 0;
}

struct files {
	database_file_h *file_h;
	void *arg;
};

static int file_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct files *f = arg;

	(void)columns;
	return f->file_h(row[0].bytes, row[1].integer, row[2].bytes, f->arg);
}

int database_files(const char *path, database_file_h *file_h, void *arg)
{
	struct files f = {file_h, arg};
	int err = query_alone(
		path,
		"SELECT 'artifacts/' || r.session_id || '/' || a.file, "
		"a.size, a.sha256 FROM artifact a "
		"JOIN run r ON r.id = a.run_id UNION ALL "
		"SELECT 'appimages/' || id, size, sha256 FROM appimage "
		"ORDER BY 1",
		file_row, &f);

	return err < 0 ? err : 0;
}
