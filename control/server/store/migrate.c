#include "control/server/store/migrate.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "control/server/store/db_sqlite.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VERSION_BYTES 32
#define COPY_BYTES    (PATH_MAX + 48)

/* The build that made the file; "" if the file does not name it. */
struct made_by {
	bool has_tables;
	char version[VERSION_BYTES];
	char print[MIGRATION_PRINT_BYTES];
};

static int tables_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)columns;
	((struct made_by *)arg)->has_tables = row[0].integer > 0;
	return 0;
}

static int setting_row(const struct db_value *row, size_t columns, void *arg)
{
	struct made_by *m = arg;

	(void)columns;
	if (strcmp(row[0].bytes, "schema_version") == 0)
		snprintf(m->version, sizeof(m->version), "%s",
			 (const char *)row[1].bytes);
	else
		snprintf(m->print, sizeof(m->print), "%s",
			 (const char *)row[1].bytes);
	return 0;
}

static int read_made_by(struct db *db, struct made_by *m)
{
	int err =
		db_query(db,
			 db_choose(db,
				   "SELECT count(*) FROM sqlite_master "
				   "WHERE type = 'table'",
				   "SELECT count(*) FROM pg_catalog.pg_tables "
				   "WHERE schemaname = current_schema()"),
			 NULL, 0, tables_row, m);

	if (err < 0 || !m->has_tables)
		return err < 0 ? err : 0;
	/* a file without this table was made by another program */
	err = db_query(db,
		       "SELECT name, value FROM setting WHERE name IN "
		       "('schema_version', 'schema_print')",
		       NULL, 0, setting_row, m);
	return err < 0 ? err : 0;
}

void migration_print(const struct migration *steps, size_t count,
		     char print[static MIGRATION_PRINT_BYTES])
{
	uint8_t hash[crypto_generichash_BYTES_MIN];
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, crypto_generichash_BYTES_MIN);
	for (size_t i = 0; i < count; i++) {
		for (const char *c = steps[i].sql; c && *c; c++) {
			if (c[0] == '-' && c[1] == '-')
				c += strcspn(c, "\n");
			if (!*c)
				break;
			if (!isspace((unsigned char)*c))
				crypto_generichash_update(
					&state, (const unsigned char *)c, 1);
		}
	}
	crypto_generichash_final(&state, hash, sizeof(hash));
	sodium_bin2hex(print, MIGRATION_PRINT_BYTES, hash,
		       (MIGRATION_PRINT_BYTES - 1) / 2);
}

/* Copy by this connection: nothing else may open the live file. VACUUM INTO
 * accepts an existing empty file, so the copy has mode 0600 from the start. */
static int copy_to(struct db *db, const char *partial, const char *copy)
{
	const struct db_value param = db_text(partial);
	int fd, err;

	unlink(partial); /* left by an interrupted attempt */
	fd = open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = -errno;
		log_error("%s: %s", partial, strerror(errno));
		return err;
	}
	err = db_query(db, "VACUUM INTO $1", &param, 1, NULL, NULL);
	if (err < 0)
		log_error("%s: %s", partial, db_error(db));
	/* VACUUM INTO does not wait for the disk */
	else if (fsync(fd) || rename(partial, copy))
		err = -errno;
	else
		err = file_sync_folder_of(copy);
	close(fd);
	if (err < 0)
		unlink(partial);
	return err < 0 ? err : 0;
}

static int make_copy(struct db *db, const char *path, int version,
		     char copy[static COPY_BYTES])
{
	const time_t now = (time_t)(clock_wall_ns() / NS_PER_S);
	char partial[COPY_BYTES], when[32];
	struct tm tm;
	int err;

	gmtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
	err = str_print(copy, COPY_BYTES, "%s.v%d-%s", path, version, when);
	if (err >= 0)
		err = str_print(partial, COPY_BYTES, "%s.partial-copy", path);
	if (err >= 0)
		err = copy_to(db, partial, copy);
	if (err < 0)
		log_error(
			"database %s: no copy of it could be made (%s), so it "
			"was not brought to another schema; the file is "
			"unchanged. Make room for a second file of its size "
			"beside it and start again",
			path, strerror(-err));
	return err < 0 ? -EIO : 0;
}

static int violation_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)columns;
	(void)arg;
	log_error("table %s: a row refers to one of %s that is not there",
		  (const char *)row[0].bytes, (const char *)row[2].bytes);
	return -EIO;
}

static int apply_one(struct db *db, const struct migration *step)
{
	int err = step->sql ? db_script(db, step->sql) : 0;

	if (err < 0)
		log_error("schema %d (%s): %s", step->number, step->name,
			  db_error(db));
	if (err == 0 && step->change) {
		err = step->change(db);
		if (err < 0)
			log_error("schema %d (%s): %s", step->number,
				  step->name, strerror(-err));
	}
	return err < 0 ? err : 0;
}

/* Apply the steps [from, count) and record the schema in the file. */
static int apply_steps(struct db *db, const struct migration *steps,
		       size_t from, size_t count)
{
	char version[VERSION_BYTES], print[MIGRATION_PRINT_BYTES];
	int err = 0;

	for (size_t i = from; i < count && err == 0; i++)
		err = apply_one(db, &steps[i]);
	if (err == 0 && db_dialect(db) == DB_SQLITE)
		err = db_query(db, "PRAGMA foreign_key_check", NULL, 0,
			       violation_row, NULL);
	if (err < 0)
		return err;
	snprintf(version, sizeof(version), "%d", steps[count - 1].number);
	migration_print(steps, count, print);
	return db_query(db,
			"INSERT INTO setting (name, value) VALUES "
			"('schema_version', $1), ('schema_print', $2) "
			"ON CONFLICT (name) DO UPDATE SET value = "
			"excluded.value",
			(struct db_value[]){db_text(version), db_text(print)},
			2, NULL, NULL);
}

/* SQLite: a table that others refer to can be rebuilt only while foreign keys are
 * off, and they can be switched only outside a transaction. */
static int check_foreign_keys(struct db *db, bool on)
{
	if (db_dialect(db) != DB_SQLITE)
		return 0;
	return db_script(db, on ? "PRAGMA foreign_keys = ON"
				: "PRAGMA foreign_keys = OFF");
}

/* Apply all steps or none. */
static int apply(struct db *db, const struct migration *steps, size_t from,
		 size_t count)
{
	int err = check_foreign_keys(db, false);

	if (err == 0)
		err = db_begin(db);
	/* a step over many rows may take longer than any other statement */
	if (err == 0 && db_dialect(db) == DB_POSTGRESQL)
		err = db_script(db, "SET LOCAL statement_timeout = 0");
	if (err == 0) {
		err = apply_steps(db, steps, from, count);
		if (err >= 0) {
			err = db_commit(db);
			if (err < 0)
				log_error("commit: %s", db_error(db));
		}
		if (err < 0)
			db_rollback(db);
	}
	if (check_foreign_keys(db, true))
		err = -EIO;
	return err < 0 ? -EIO : 0;
}

static int apply_told(struct db *db, const char *path,
		      const struct migration *steps, size_t from, size_t count)
{
	int err = apply(db, steps, from, count);

	for (size_t i = from; i < count && err == 0; i++)
		log_info("database %s: schema %d (%s) applied", path,
			 steps[i].number, steps[i].name);
	return err;
}

static int bring_forward(struct db *db, const char *path,
			 const struct migration *steps, size_t from,
			 size_t count)
{
	const int old = steps[from - 1].number;
	char copy[COPY_BYTES];
	int err;

	/* PostgreSQL's schema changes are part of the transaction. Controllers of
	 * the earlier version that are running do not know what it will be. */
	if (db_dialect(db) == DB_POSTGRESQL) {
		err = db_lock_alone(db);
		return err ? err : apply_told(db, path, steps, from, count);
	}
	err = make_copy(db, path, old, copy);
	if (err)
		return err;
	log_info("database %s: schema %d is brought to %d; the file as it was "
		 "is kept as %s",
		 path, old, steps[count - 1].number, copy);
	err = apply_told(db, path, steps, from, count);
	if (err) {
		/* the copy equals the file: each restart would leave another
		 * one */
		unlink(copy);
		log_error("database %s: it could not be brought from schema %d "
			  "to %d; the file is unchanged (its copy %s was "
			  "removed). Remove the cause told above and start "
			  "again, or start the program that ran before",
			  path, old, steps[count - 1].number, copy);
	}
	return err;
}

/* What to do with a database that cannot be used. */
struct remedy {
	const char *made_by; /* what the other program made */
	char empty[3 * PATH_MAX + 128];
	char earlier[4 * PATH_MAX + 128];
};

static void find_remedy(const struct db *db, const char *path,
			struct remedy *ret)
{
	if (db_dialect(db) == DB_POSTGRESQL) {
		*ret = (struct remedy){
			.made_by = "tables",
			.empty = "choose an empty database (database = ...)",
			.earlier = "choose a database with what pg_dump saved "
				   "before"};
		return;
	}
	ret->made_by = "file";
	str_print(ret->empty, sizeof(ret->empty),
		  "stop and move %s, %s-wal and %s-shm away to start with an "
		  "empty one",
		  path, path, path);
	str_print(ret->earlier, sizeof(ret->earlier),
		  "stop and put the copy that it made before "
		  "(%s.vNUMBER-TIME) in the place of the file: move %s, "
		  "%s-wal and %s-shm away first",
		  path, path, path, path);
}

/* Find the last step that was applied. A database that cannot be used is refused
 * with a log line. */
static int find_step(const struct db *db, const struct made_by *made,
		     const char *path, const struct migration *steps,
		     size_t count, size_t *ret)
{
	const int first = steps[0].number, last = steps[count - 1].number;
	char print[MIGRATION_PRINT_BYTES];
	struct remedy remedy;
	uint64_t number;

	find_remedy(db, path, &remedy);
	if (str_to_u64(made->version, INT_MAX, &number) ||
	    number < (uint64_t)first) {
		log_error("database %s has schema version %s, this program "
			  "knows versions %d to %d: run the program that made "
			  "the %s, or %s",
			  path, made->version[0] ? made->version : "unknown",
			  first, last, remedy.made_by, remedy.empty);
		return -EPROTO;
	}
	if (number > (uint64_t)last) {
		log_error("database %s has schema version %s, made by a later "
			  "program: this one knows versions %d to %d. Install "
			  "that program again, or %s",
			  path, made->version, first, last, remedy.earlier);
		return -EPROTO;
	}
	*ret = (size_t)(number - (uint64_t)first);
	migration_print(steps, *ret + 1, print);
	if (strcmp(made->print, print) == 0)
		return 0;
	log_error("database %s has schema version %s of another build (%s, "
		  "this program's is %s): run the program that made the %s, "
		  "or %s",
		  path, made->version,
		  made->print[0] ? made->print : "unmarked", print,
		  remedy.made_by, remedy.empty);
	return -EPROTO;
}

int migrate(struct db *db, const char *path, const struct migration *steps,
	    size_t count)
{
	struct made_by made = {.has_tables = false};
	size_t at;
	int err = read_made_by(db, &made);

	if (err == 0 && !made.has_tables)
		err = apply(db, steps, 0, count);
	if (err < 0) {
		log_error("database %s: %s%s", path, db_error(db),
			  made.has_tables
				  ? db_choose(db,
					      ": the file is not one of "
					      "offhook-controller; choose "
					      "another (database = ...)",
					      ": the tables are not those of "
					      "offhook-controller; choose "
					      "another (database = ...)")
				  : "");
		return -EIO;
	}
	if (!made.has_tables)
		return 0;
	err = find_step(db, &made, path, steps, count, &at);
	if (err || at + 1 == count)
		return err;
	return bring_forward(db, path, steps, at + 1, count);
}

int migrate_check(struct db *db, const char *path,
		  const struct migration *steps, size_t count)
{
	struct made_by made = {.has_tables = false};
	char number[VERSION_BYTES], print[MIGRATION_PRINT_BYTES];
	int err = read_made_by(db, &made);

	if (err < 0 || !made.has_tables) {
		log_error("database %s: %s; it is not one of "
			  "offhook-controller",
			  path, err < 0 ? db_error(db) : "it has no tables");
		return -EIO;
	}
	snprintf(number, sizeof(number), "%d", steps[count - 1].number);
	migration_print(steps, count, print);
	if (strcmp(made.version, number) == 0 && strcmp(made.print, print) == 0)
		return 0;
	log_error("database %s has schema version %s%s, this program copies "
		  "version %s only: start this version's controller with it "
		  "once, which updates an earlier one, stop it and copy then",
		  path, made.version[0] ? made.version : "unknown",
		  strcmp(made.version, number) == 0 ? " of another build" : "",
		  number);
	return -EPROTO;
}

int migrate_fill(struct db *db, const char *path, const struct migration *steps,
		 size_t count)
{
	struct made_by made = {.has_tables = false};
	int err = read_made_by(db, &made);

	if (made.has_tables) {
		log_error("database %s is not empty, and nothing in it is "
			  "replaced: choose an empty one",
			  path);
		return -EEXIST;
	}
	/* a step over no rows may yet wait for the disk */
	if (err == 0 && db_dialect(db) == DB_POSTGRESQL)
		err = db_script(db, "SET LOCAL statement_timeout = 0");
	if (err == 0)
		err = apply_steps(db, steps, 0, count);
	if (err < 0)
		log_error("database %s: %s", path, db_error(db));
	return err < 0 ? -EIO : 0;
}
