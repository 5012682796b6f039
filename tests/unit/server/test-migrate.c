/*
 * Migrations of the test over a small schema, and over a database of schema 10.
 */
#include "control/server/store/migrate.h"

#include "control/server/store/db_sqlite.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char base_sql[] =
	"CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT);"
	"CREATE TABLE child (id INTEGER PRIMARY KEY, parent_id INTEGER NOT NULL "
	"REFERENCES parent(id) ON DELETE CASCADE);";

/*
 * Rebuild a table that another table references, as SQLite's manual describes.
 */
static const char rebuild_sql[] =
	"CREATE TABLE new_parent (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
	"INSERT INTO new_parent SELECT id, coalesce(name, '') FROM parent;"
	"DROP TABLE parent;"
	"ALTER TABLE new_parent RENAME TO parent;";

static int upper_names(struct db *db)
{
	return db_script(db, "UPDATE parent SET name = upper(name)");
}

static int die(struct db *db)
{
	upper_names(db);
	_exit(7);
}

static int refuse(struct db *db)
{
	upper_names(db);
	return -EINVAL;
}

static const struct migration steps[] = {
	{4, "base", base_sql, NULL},
	{5, "names are never missing", rebuild_sql, NULL},
	{6, "names in capitals", NULL, upper_names},
};

struct fixture {
	struct temp temp;
	char path[TEMP_PATH_BYTES];
	struct db *db;
};

static void open_db(struct fixture *f)
{
	assert_int_equal(db_sqlite_open(&f->db, f->path, false), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_true(sodium_init() >= 0);
	temp_make(&f->temp);
	strcpy(f->path, temp_path(&f->temp, "db"));
	open_db(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	db_close(f->db);
	temp_remove(&f->temp);
	free(f);
	return 0;
}

static int64_t integer(struct db *db, const char *sql)
{
	int64_t n = -1;

	assert_int_equal(db_query(db, sql, NULL, 0, db_integer_row, &n), 1);
	return n;
}

/* Fill a database at step 4 with rows. */
static void fill(struct fixture *f)
{
	assert_int_equal(migrate(f->db, f->path, steps, 1), 0);
	assert_int_equal(db_script(f->db,
				   "INSERT INTO parent VALUES (1, 'a'), "
				   "(2, NULL);"
				   "INSERT INTO child VALUES (1, 1), (2, 2);"),
			 0);
}

static int64_t version(struct db *db)
{
	return integer(db, "SELECT CAST(value AS INTEGER) FROM setting WHERE "
			   "name = 'schema_version'");
}

static void assert_as_filled(struct db *db)
{
	assert_int_equal(version(db), 4);
	assert_int_equal(integer(db, "SELECT count(*) FROM parent WHERE name = "
				     "'a' OR name IS NULL"),
			 2);
	assert_int_equal(integer(db, "SELECT count(*) FROM child"), 2);
}

/*
 * Count the files in the folder whose name matches; `first` receives one of
 * them.
 */
static size_t files(struct fixture *f, const char *pattern,
		    char first[TEMP_PATH_BYTES])
{
	glob_t found;
	size_t n = 0;

	if (glob(temp_path(&f->temp, pattern), 0, NULL, &found) == 0) {
		n = found.gl_pathc;
		if (first)
			strcpy(first, found.gl_pathv[0]);
		globfree(&found);
	}
	return n;
}

static void test_empty_file_gets_all_steps(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(migrate(f->db, f->path, steps, 3), 0);
	assert_int_equal(version(f->db), 6);
	assert_int_equal(integer(f->db,
				 "SELECT \"notnull\" FROM pragma_table_info"
				 "('parent') WHERE name = 'name'"),
			 1);
	assert_int_equal(files(f, "db.v*", NULL), 0);
	/* again: nothing to do */
	assert_int_equal(migrate(f->db, f->path, steps, 3), 0);
	assert_int_equal(files(f, "db.v*", NULL), 0);
}

static void test_earlier_file_is_copied_and_changed(void **state)
{
	struct fixture *f = *state;
	char copy[TEMP_PATH_BYTES];
	struct stat st;
	struct db *db;

	fill(f);
	assert_int_equal(migrate(f->db, f->path, steps, 3), 0);
	assert_int_equal(version(f->db), 6);
	assert_int_equal(integer(f->db, "SELECT count(*) FROM parent WHERE "
					"name IN ('A', '')"),
			 2);
	assert_int_equal(integer(f->db, "SELECT count(*) FROM child"), 2);
	/* foreign keys are on again and reference the rebuilt table */
	assert_int_equal(integer(f->db, "PRAGMA foreign_keys"), 1);
	assert_int_equal(db_script(f->db, "DELETE FROM parent WHERE id = 1"),
			 0);
	assert_int_equal(integer(f->db, "SELECT count(*) FROM child"), 1);

	assert_int_equal(files(f, "db.v*", copy), 1);
	assert_int_equal(files(f, "db.v4-*Z", NULL), 1);
	assert_int_equal(files(f, "*partial*", NULL), 0);
	assert_int_equal(stat(copy, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(db_sqlite_open(&db, copy, false), 0);
	assert_as_filled(db);
	/* the copy can replace the file */
	assert_int_equal(migrate(db, copy, steps, 1), 0);
	db_close(db);
}

static void test_failure_leaves_the_file(void **state)
{
	static const struct migration bad[][3] = {
		{{4, "base", base_sql, NULL},
		 {5, "x", rebuild_sql, NULL},
		 {6, "no SQL", "CREATE TABLE more (x); NO SQL;", NULL}},
		{{4, "base", base_sql, NULL},
		 {5, "x", rebuild_sql, NULL},
		 {6, "refuses", NULL, refuse}},
		{{4, "base", base_sql, NULL},
		 {5, "x", rebuild_sql, NULL},
		 {6, "orphan", "INSERT INTO child VALUES (3, 9)", NULL}},
	};
	struct fixture *f = *state;

	fill(f);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(migrate(f->db, f->path, bad[i], 3), -EIO);
		assert_as_filled(f->db);
		assert_int_equal(integer(f->db, "PRAGMA foreign_keys"), 1);
		assert_int_equal(files(f, "db.v*", NULL), 0);
		assert_int_equal(files(f, "*partial*", NULL), 0);
	}
	/* the error can be repaired afterwards */
	assert_int_equal(migrate(f->db, f->path, steps, 3), 0);
	assert_int_equal(version(f->db), 6);
}

/*
 * Migrate in a child process; the fixture's connection is closed meanwhile.
 * @return its exit status
 */
static int in_child(struct fixture *f, const struct migration *list,
		    rlim_t file_bytes)
{
	int status;
	pid_t pid;

	f->db = db_close(f->db);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit limit = {file_bytes, file_bytes};

		signal(SIGXFSZ, SIG_IGN); /* as on a full disk: writes fail */
		if (file_bytes != RLIM_INFINITY)
			setrlimit(RLIMIT_FSIZE, &limit);
		if (db_sqlite_open(&f->db, f->path, false))
			_exit(3);
		status = migrate(f->db, f->path, list, 3);
		_exit(status == 0 ? 0 : status == -EIO ? 1 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	open_db(f);
	return WEXITSTATUS(status);
}

static void test_crash_leaves_the_file(void **state)
{
	static const struct migration crash[] = {
		{4, "base", base_sql, NULL},
		{5, "x", rebuild_sql, NULL},
		{6, "dies", NULL, die},
	};
	struct fixture *f = *state;

	fill(f);
	assert_int_equal(in_child(f, crash, RLIM_INFINITY), 7);
	assert_as_filled(f->db);
	assert_int_equal(migrate(f->db, f->path, steps, 3), 0);
	assert_int_equal(version(f->db), 6);
}

static void test_full_disk_leaves_the_file(void **state)
{
	static const struct migration large[] = {
		{4, "base", base_sql, NULL},
		{5, "x", rebuild_sql, NULL},
		{6, "large",
		 "CREATE TABLE more (x); INSERT INTO more VALUES "
		 "(zeroblob(4000000))",
		 NULL},
	};
	struct fixture *f = *state;

	fill(f);
	assert_int_equal(db_script(f->db, "CREATE TABLE bulk (x);"
					  "INSERT INTO bulk VALUES "
					  "(zeroblob(400000))"),
			 0);
	/* the copy does not fit */
	assert_int_equal(in_child(f, steps, 256 << 10), 1);
	assert_as_filled(f->db);
	/* the copy fits, the change does not */
	assert_int_equal(in_child(f, large, 1 << 20), 1);
	assert_as_filled(f->db);
	assert_int_equal(files(f, "db.v*", NULL), 0);
	assert_int_equal(files(f, "*partial*", NULL), 0);
	assert_int_equal(in_child(f, large, RLIM_INFINITY), 0);
	assert_int_equal(version(f->db), 6);
}

static void test_copy_that_cannot_be_made_stops_it(void **state)
{
	struct fixture *f = *state;

	fill(f);
	assert_int_equal(mkdir(temp_path(&f->temp, "db.partial-copy"), 0700),
			 0);
	assert_int_equal(migrate(f->db, f->path, steps, 3), -EIO);
	assert_as_filled(f->db);
	assert_int_equal(rmdir(temp_path(&f->temp, "db.partial-copy")), 0);
	/* an incomplete copy of an earlier attempt does not interfere */
	fclose(fopen(temp_path(&f->temp, "db.partial-copy"), "w"));
	assert_int_equal(migrate(f->db, f->path, steps, 3), 0);
	assert_int_equal(files(f, "*partial*", NULL), 0);
}

static void test_other_files_are_refused(void **state)
{
	static const struct migration edited[] = {
		{4, "base",
		 "CREATE TABLE setting (name TEXT PRIMARY KEY, value);", NULL},
		{5, "x", rebuild_sql, NULL},
	};
	static const struct migration later[] = {
		{5, "base of a later program", rebuild_sql, NULL},
		{6, "y", NULL, upper_names},
	};
	struct fixture *f = *state;

	fill(f);
	assert_int_equal(migrate(f->db, f->path, edited, 2), -EPROTO);
	assert_int_equal(migrate(f->db, f->path, later, 2), -EPROTO);
	assert_as_filled(f->db);
	assert_int_equal(migrate(f->db, f->path, steps, 3), 0);
	assert_int_equal(migrate(f->db, f->path, steps, 2), -EPROTO);
	assert_int_equal(version(f->db), 6);
	assert_int_equal(db_script(f->db, "DROP TABLE setting"), 0);
	assert_int_equal(migrate(f->db, f->path, steps, 3), -EIO);
}

static void test_hash_is_of_the_sql_alone(void **state)
{
	static const struct migration same[] = {
		{4, "another name", "CREATE  TABLE t (a,\n -- why\n b);", NULL},
		{5, "none", NULL, upper_names},
	};
	static const struct migration plain = {4, "", "CREATE TABLE t(a,b);",
					       NULL};
	char a[MIGRATION_PRINT_BYTES], b[MIGRATION_PRINT_BYTES];

	(void)state;
	migration_print(same, 2, a);
	migration_print(&plain, 1, b);
	assert_string_equal(a, b);
	migration_print(steps, 2, b);
	assert_string_not_equal(a, b);
}

static void test_list_has_no_gaps(void **state)
{
	(void)state;
	for (size_t i = 1; i < migration_count; i++)
		assert_int_equal(migrations[i].number,
				 migrations[i - 1].number + 1);
}

/* Step 10 as released: its schema is identified by this hash. */
static void test_base_is_as_released(void **state)
{
	char print[MIGRATION_PRINT_BYTES];

	(void)state;
	assert_int_equal(migrations[0].number, 10);
	migration_print(migrations, 1, print);
	assert_string_equal(print, "7928ce927d74258b");
}

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	struct stat st;
	char *text;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_int_equal(fread(text, 1, (size_t)st.st_size, file), st.st_size);
	fclose(file);
	return text;
}

/*
 * The table with most references is rebuilt, with all rows of a real database.
 */
static void test_rebuild_keeps_a_real_state(void **state)
{
	struct fixture *f = *state;
	char *sql = read_text(getenv("OFFHOOK_STATE_SQL"));
	const struct migration list[] = {
		migrations[0],
		{11, "rebuild of run",
		 "CREATE TABLE new_run AS SELECT * FROM run;"
		 "DROP TABLE run;"
		 "ALTER TABLE new_run RENAME TO run;"
		 "CREATE UNIQUE INDEX run_id ON run (id);"
		 "ALTER TABLE run ADD COLUMN more TEXT NOT NULL DEFAULT 'x';",
		 NULL},
	};
	int64_t events, runs;

	/* the dump is in the order of the tables, not of the references */
	assert_int_equal(db_script(f->db, "PRAGMA foreign_keys = OFF"), 0);
	if (db_script(f->db, sql))
		fail_msg("%s", db_error(f->db));
	assert_int_equal(db_script(f->db, "PRAGMA foreign_keys = ON"), 0);
	free(sql);
	runs = integer(f->db, "SELECT count(*) FROM run");
	events = integer(f->db, "SELECT count(*) FROM event");
	assert_true(runs > 1 && events > 1);
	assert_int_equal(migrate(f->db, f->path, list, 2), 0);
	assert_int_equal(integer(f->db, "SELECT count(*) FROM run WHERE more = "
					"'x'"),
			 runs);
	assert_int_equal(integer(f->db,
				 "SELECT count(*) FROM event JOIN run ON "
				 "run.id = run_id"),
			 events);
	assert_int_equal(files(f, "db.v10-*Z", NULL), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty_file_gets_all_steps),
		TEST(test_earlier_file_is_copied_and_changed),
		TEST(test_failure_leaves_the_file),
		TEST(test_crash_leaves_the_file),
		TEST(test_full_disk_leaves_the_file),
		TEST(test_copy_that_cannot_be_made_stops_it),
		TEST(test_other_files_are_refused),
		cmocka_unit_test(test_hash_is_of_the_sql_alone),
		cmocka_unit_test(test_list_has_no_gaps),
		cmocka_unit_test(test_base_is_as_released),
		TEST(test_rebuild_keeps_a_real_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
