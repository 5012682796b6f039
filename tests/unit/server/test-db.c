/*
 * What db.h promises, of both kinds of database: SQLite, or PostgreSQL if
 * OFFHOOK_TEST_DATABASE has the URI of an empty one.
 */
#include "control/server/store/db_postgresql.h"
#include "control/server/store/db_sqlite.h"

#include "tests/unit/temp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct fixture {
	struct temp temp;
	struct db *writer;
	struct db *reader;
};

static const char *uri; /* NULL: SQLite */

static int open_db(struct fixture *f, struct db **ret, bool read_only)
{
	return uri ? db_postgresql_open(ret, uri, read_only)
		   : db_sqlite_open(ret, temp_path(&f->temp, "db"), read_only);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_make(&f->temp);
	*state = f;
	assert_int_equal(open_db(f, &f->writer, false), 0);
	assert_int_equal(db_script(f->writer, "DROP TABLE IF EXISTS t;"
					      "DROP TABLE IF EXISTS p;"),
			 0);
	assert_int_equal(db_script(f->writer,
				   "CREATE TABLE p (id INTEGER PRIMARY KEY);"
				   "CREATE TABLE t (id INTEGER PRIMARY KEY, "
				   "name TEXT UNIQUE, v REAL, b BLOB, "
				   "p INTEGER REFERENCES p(id));"),
			 0);
	return open_db(f, &f->reader, true);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	db_close(f->reader);
	db_close(f->writer);
	temp_remove(&f->temp);
	free(f);
	return 0;
}

static int insert(struct db *db, const char *name)
{
	const struct db_value param = db_text(name);

	return db_query(db, "INSERT INTO t (name) VALUES ($1)", &param, 1, NULL,
			NULL);
}

static int count_rows(const struct db_value *row, size_t columns, void *arg)
{
	assert_int_equal(columns, 1);
	*(int64_t *)arg = row[0].integer;
	return 0;
}

static int64_t count(struct db *db)
{
	int64_t n = -1;

	assert_int_equal(
		db_query(db, "SELECT count(*) FROM t", NULL, 0, count_rows, &n),
		1);
	return n;
}

static int check_types(const struct db_value *row, size_t columns, void *arg)
{
	(void)arg;
	assert_int_equal(columns, 5);
	assert_int_equal(row[0].type, DB_INT);
	assert_int_equal(row[0].integer, INT64_MIN);
	assert_int_equal(row[1].type, DB_TEXT);
	assert_int_equal(row[1].len, 2);
	assert_string_equal(row[1].bytes, "\xc3\xa9");
	assert_int_equal(row[2].type, DB_REAL);
	assert_true(row[2].real == 0.1);
	assert_int_equal(row[3].type, DB_BLOB);
	assert_int_equal(row[3].len, 3);
	assert_memory_equal(row[3].bytes, "a\0b", 3);
	assert_int_equal(row[4].type, DB_NULL);
	return 0;
}

static void test_values_come_back(void **state)
{
	struct fixture *f = *state;
	const struct db_value params[] = {DB_I(INT64_MIN), db_text("\xc3\xa9"),
					  DB_R(0.1), db_blob("a\0b", 3),
					  db_text(NULL)};

	/* parameters are bound by number, not by their order in the text */
	assert_int_equal(db_query(f->writer,
				  "INSERT INTO t (p, b, v, name, id) "
				  "VALUES ($5, $4, $3, $2, $1)",
				  params, 5, NULL, NULL),
			 1);
	assert_int_equal(db_query(f->reader, "SELECT id, name, v, b, p FROM t",
				  NULL, 0, check_types, NULL),
			 1);
}

static void test_loaded_values_come_back(void **state)
{
	static const char *const columns[] = {"p", "id", "name", "b", "v"};
	const struct db_load load = {"t", columns, 5, NULL, NULL};
	struct fixture *f = *state;

	assert_int_equal(db_begin(f->writer), 0);
	assert_int_equal(db_load_begin(f->writer, &load), 0);
	assert_int_equal(
		db_load_row(f->writer,
			    (struct db_value[]){db_text(NULL), DB_I(INT64_MIN),
						db_text("\xc3\xa9"),
						db_blob("a\0b", 3), DB_R(0.1)}),
		0);
	assert_int_equal(
		db_load_row(f->writer,
			    (struct db_value[]){db_text(NULL), DB_I(2),
						db_text("\\N\t\r\n\\"),
						db_blob("", 0), db_text(NULL)}),
		0);
	assert_int_equal(db_load_end(f->writer), 0);
	assert_int_equal(db_commit(f->writer), 0);
	assert_int_equal(db_query(f->reader,
				  "SELECT id, name, v, b, p FROM t "
				  "WHERE id < 0",
				  NULL, 0, check_types, NULL),
			 1);
	assert_int_equal(db_query(f->reader,
				  "SELECT id FROM t WHERE b IS NOT NULL AND "
				  "v IS NULL AND name = $1",
				  (struct db_value[]){db_text("\\N\t\r\n\\")},
				  1, NULL, NULL),
			 1);
}

/* At the row or at the end, and then nothing is there. A load that was given up
 * leaves the connection usable. */
static void test_a_refused_load(void **state)
{
	static const char *const columns[] = {"id", "name"};
	const struct db_load load = {"t", columns, 2, NULL, NULL};
	struct fixture *f = *state;
	int err;

	assert_int_equal(insert(f->writer, "a"), 1);
	assert_int_equal(db_begin(f->writer), 0);
	assert_int_equal(db_load_begin(f->writer, &load), 0);
	err = db_load_row(f->writer,
			  (struct db_value[]){DB_I(7), db_text("a")});
	if (err == 0)
		err = db_load_end(f->writer);
	assert_int_equal(err, -EEXIST);
	db_rollback(f->writer);
	assert_int_equal(db_begin(f->writer), 0);
	assert_int_equal(db_load_begin(f->writer, &load), 0);
	assert_int_equal(
		db_load_row(f->writer,
			    (struct db_value[]){DB_I(8), db_text("b")}),
		0);
	db_rollback(f->writer);
	assert_int_equal(count(f->writer), 1);
	assert_int_equal(insert(f->writer, "b"), 1);
}

/* Rows of a request: a row whose key is there is left out, the others are in the
 * order in which they came. */
static void test_a_load_leaves_out_what_is_there(void **state)
{
	static const char *const columns[] = {"name", "v", "b", "p"};
	static const enum db_type types[] = {DB_TEXT, DB_REAL, DB_BLOB, DB_INT};
	const struct db_load load = {"t", columns, 4, types, "name"};
	struct fixture *f = *state;
	int64_t n = 0;

	assert_int_equal(insert(f->writer, "17"), 1);
	assert_int_equal(db_begin(f->writer), 0);
	for (int turn = 0; turn < 2; turn++) {
		assert_int_equal(db_load_begin(f->writer, &load), 0);
		for (int i = 0; i < 4500; i++) {
			char name[16];

			snprintf(name, sizeof(name), "%d", i);
			assert_int_equal(
				db_load_row(f->writer,
					    (struct db_value[]){
						    db_text(name),
						    i % 2 ? DB_R(0.1) : DB_I(i),
						    i % 3 ? db_blob("a\0b", 3)
							  : db_text(NULL),
						    db_text(NULL)}),
				0);
		}
		assert_int_equal(db_load_end(f->writer), 0);
	}
	assert_int_equal(db_commit(f->writer), 0);
	assert_int_equal(count(f->reader), 4500);
	assert_int_equal(db_query(f->reader,
				  "SELECT count(*) FROM t WHERE b IS NOT NULL "
				  "AND v = 0.1 AND p IS NULL",
				  NULL, 0, count_rows, &n),
			 1);
	assert_int_equal(n, 1500 - 1); /* 17 is as it was */
	assert_int_equal(db_query(f->reader,
				  "SELECT count(*) FROM t a JOIN t b ON "
				  "b.id = a.id + 1 WHERE b.id > 2 AND "
				  "CAST(b.name AS INTEGER) <= "
				  "CAST(a.name AS INTEGER)",
				  NULL, 0, count_rows, &n),
			 1);
	assert_int_equal(n, 0);
}

/* Only the key that is named: a row with another key that is there, as an id that was given
 * twice, fails, and so does any row if no key is named. */
static void test_a_load_loses_no_row_in_silence(void **state)
{
	static const char *const columns[] = {"id", "name"};
	static const enum db_type types[] = {DB_INT, DB_TEXT};
	static const char *const keys[] = {"name", NULL};
	static const char *const names[] = {"b", "a"};
	struct fixture *f = *state;

	assert_int_equal(insert(f->writer, "a"), 1);
	for (size_t i = 0; i < 2; i++) {
		const struct db_load load = {"t", columns, 2, types, keys[i]};
		int err;

		assert_int_equal(db_begin(f->writer), 0);
		assert_int_equal(db_load_begin(f->writer, &load), 0);
		err = db_load_row(f->writer,
				  (struct db_value[]){DB_I(i ? 7 : 1),
						      db_text(names[i])});
		if (err == 0)
			err = db_load_end(f->writer);
		assert_int_equal(err, -EEXIST);
		db_rollback(f->writer);
	}
	assert_int_equal(count(f->writer), 1);
}

/* References are checked all the same, and the transaction fails as a whole. */
static void test_a_load_is_refused_by_a_reference(void **state)
{
	static const char *const columns[] = {"name", "p"};
	static const enum db_type types[] = {DB_TEXT, DB_INT};
	const struct db_load load = {"t", columns, 2, types, NULL};
	struct fixture *f = *state;
	int err;

	assert_int_equal(db_begin(f->writer), 0);
	assert_int_equal(db_load_begin(f->writer, &load), 0);
	assert_int_equal(
		db_load_row(f->writer,
			    (struct db_value[]){db_text("a"), db_text(NULL)}),
		0);
	err = db_load_row(f->writer,
			  (struct db_value[]){db_text("b"), DB_I(7)});
	if (err == 0)
		err = db_load_end(f->writer);
	assert_int_equal(err, -ENOTEMPTY);
	db_rollback(f->writer);
	assert_int_equal(count(f->writer), 0);
	assert_int_equal(insert(f->writer, "b"), 1);
}

static void test_empty_blob_is_not_null(void **state)
{
	struct fixture *f = *state;
	const struct db_value empty = db_blob(NULL, 0);
	int64_t n = -1;

	db_query(f->writer, "INSERT INTO t (b) VALUES ($1)", &empty, 1, NULL,
		 NULL);
	db_query(f->reader, "SELECT count(*) FROM t WHERE b IS NOT NULL", NULL,
		 0, count_rows, &n);
	assert_int_equal(n, 1);
}

static void test_errors_are_told_apart(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(insert(f->writer, "a"), 1);
	assert_int_equal(insert(f->writer, "a"), -EEXIST);
	assert_int_equal(db_query(f->writer, "INSERT INTO t (p) VALUES (7)",
				  NULL, 0, NULL, NULL),
			 -ENOTEMPTY);
	assert_int_equal(
		db_query(f->writer, "SELECT nonsense", NULL, 0, NULL, NULL),
		-EIO);
	assert_non_null(strstr(db_error(f->writer), "nonsense"));
	assert_int_equal(insert(f->reader, "b"), -EIO);
	assert_int_equal(count(f->reader), 1);
}

static void test_changes_are_counted(void **state)
{
	struct fixture *f = *state;
	int64_t id = 0;

	insert(f->writer, "a");
	insert(f->writer, "b");
	assert_int_equal(
		db_query(f->writer, "UPDATE t SET v = 1", NULL, 0, NULL, NULL),
		2);
	assert_int_equal(db_query(f->writer,
				  "INSERT INTO t (name) VALUES ('c') "
				  "RETURNING id",
				  NULL, 0, count_rows, &id),
			 1);
	assert_int_equal(id, 3);
	assert_int_equal(db_query(f->writer, "DELETE FROM t WHERE id = 9", NULL,
				  0, NULL, NULL),
			 0);
}

static void test_rollback_leaves_nothing(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(db_begin(f->writer), 0);
	insert(f->writer, "a");
	assert_int_equal(count(f->writer), 1);
	assert_int_equal(count(f->reader), 0);
	db_rollback(f->writer);
	assert_int_equal(count(f->writer), 0);
	db_rollback(f->writer); /* without a transaction it does nothing */
	assert_int_equal(db_begin(f->writer), 0);
	insert(f->writer, "a");
	assert_int_equal(db_commit(f->writer), 0);
	assert_int_equal(count(f->reader), 1);
}

static void test_an_error_fails_the_transaction(void **state)
{
	struct fixture *f = *state;
	int err;

	assert_int_equal(db_begin(f->writer), 0);
	insert(f->writer, "a");
	assert_int_equal(insert(f->writer, "a"), -EEXIST);
	/* PostgreSQL takes nothing more than ROLLBACK, and COMMIT is not it */
	err = db_commit(f->writer);
	assert_int_equal(err, db_dialect(f->writer) == DB_SQLITE ? 0 : -EIO);
	db_rollback(f->writer);
	assert_int_equal(count(f->reader), err ? 0 : 1);
	assert_int_equal(insert(f->writer, "b"), 1);
}

static int check_numbers(const struct db_value *row, size_t columns, void *arg)
{
	(void)arg;
	assert_int_equal(columns, 4);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(row[i].type, DB_INT);
	assert_int_equal(row[0].integer, INT64_C(6000000000));
	assert_int_equal(row[1].integer, 1);
	assert_true(db_number(&row[2]) == 1.5);
	assert_int_equal(row[3].integer, INT64_C(5000000001));
	return 0;
}

static void test_numbers_are_of_eight_bytes(void **state)
{
	struct fixture *f = *state;
	const struct db_value params[] = {DB_I(INT64_C(5000000000))};

	insert(f->writer, "a");
	assert_int_equal(db_query(f->writer, "UPDATE t SET v = 1.5", NULL, 0,
				  NULL, NULL),
			 1);
	db_query(f->writer,
		 "INSERT INTO p (id) VALUES (1000000000), "
		 "(2000000000), (3000000000)",
		 NULL, 0, NULL, NULL);
	assert_int_equal(
		db_query(f->reader,
			 "SELECT sum(id), (SELECT count(*) FROM t) = 1, "
			 "(SELECT sum(v) FROM t), $1 + 1 FROM p",
			 params, 1, check_numbers, NULL),
		1);
}

static void test_texts_are_in_the_order_of_bytes(void **state)
{
	struct fixture *f = *state;
	int64_t n = -1;

	insert(f->writer, "b");
	insert(f->writer, "B");
	insert(f->writer, "_");
	db_query(f->reader, "SELECT count(*) FROM t WHERE name < 'a'", NULL, 0,
		 count_rows, &n);
	assert_int_equal(n, 2);
}

static int stop_at_once(const struct db_value *row, size_t columns, void *arg)
{
	(void)row;
	(void)columns;
	return *(int *)arg;
}

struct nested {
	struct db *db;
	int depth;
};

/*
 * Run the same text while it is already running: it needs a second statement.
 */
static int query_again(const struct db_value *row, size_t columns, void *arg)
{
	struct nested *n = arg;
	struct nested inner = {n->db, n->depth - 1};

	(void)row;
	(void)columns;
	if (n->depth == 0)
		return 0;
	assert_int_equal(db_query(n->db, "SELECT id FROM t", NULL, 0,
				  query_again, &inner),
			 2);
	return 0;
}

static void test_row_handlers(void **state)
{
	struct fixture *f = *state;
	struct nested nested = {f->writer, 3};
	int value = -EMSGSIZE;

	insert(f->writer, "a");
	insert(f->writer, "b");
	assert_int_equal(db_query(f->writer, "SELECT id FROM t", NULL, 0,
				  stop_at_once, &value),
			 -EMSGSIZE);
	assert_int_equal(db_query(f->writer, "SELECT id FROM t", NULL, 0,
				  query_again, &nested),
			 2);
}

static void test_many_statements(void **state)
{
	struct fixture *f = *state;
	char sql[64];

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 300; i++) {
			int64_t n = -1;

			snprintf(sql, sizeof(sql), "SELECT %d", i);
			assert_int_equal(db_query(f->reader, sql, NULL, 0,
						  count_rows, &n),
					 1);
			assert_int_equal(n, i);
		}
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_values_come_back),
		CASE(test_loaded_values_come_back),
		CASE(test_a_refused_load),
		CASE(test_a_load_leaves_out_what_is_there),
		CASE(test_a_load_loses_no_row_in_silence),
		CASE(test_a_load_is_refused_by_a_reference),
		CASE(test_empty_blob_is_not_null),
		CASE(test_errors_are_told_apart),
		CASE(test_changes_are_counted),
		CASE(test_rollback_leaves_nothing),
		CASE(test_an_error_fails_the_transaction),
		CASE(test_numbers_are_of_eight_bytes),
		CASE(test_texts_are_in_the_order_of_bytes),
		CASE(test_row_handlers),
		CASE(test_many_statements),
	};

	uri = getenv("OFFHOOK_TEST_DATABASE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
