#include "control/server/store/postgresql_text.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_errors_by_sqlstate(void **state)
{
	(void)state;
	assert_int_equal(postgresql_error("23505"), -EEXIST);
	assert_int_equal(postgresql_error("23503"), -ENOTEMPTY);
	assert_int_equal(postgresql_error("23502"), -EIO); /* NOT NULL */
	assert_int_equal(postgresql_error("40001"), -EBUSY);
	assert_int_equal(postgresql_error("40P01"), -EBUSY);
	assert_int_equal(postgresql_error("40003"), -EIO);
	assert_int_equal(postgresql_error("55P03"), -EBUSY);
	assert_int_equal(postgresql_error("57014"), -EBUSY);
	assert_int_equal(postgresql_error("08006"), -ENOTCONN);
	assert_int_equal(postgresql_error("57P01"), -ENOTCONN);
	assert_int_equal(postgresql_error("57P03"), -ENOTCONN);
	assert_int_equal(postgresql_error("53300"), -ENOTCONN);
	assert_int_equal(postgresql_error("53100"), -ENOSPC);
	assert_int_equal(postgresql_error("53200"), -EIO);
	assert_int_equal(postgresql_error("42601"), -EIO);
	assert_int_equal(postgresql_error(""), -EIO);
	assert_int_equal(postgresql_error(NULL), -ENOTCONN);
}

/* A number, as the parameter of a type, is this text. */
static void check_number(struct db_value v, uint32_t type, const char *text)
{
	char number[POSTGRESQL_NUMBER_BYTES];
	struct postgresql_param p;

	assert_int_equal(postgresql_param(&v, type, number, &p), 0);
	assert_int_equal(p.format, 0);
	assert_string_equal(p.bytes, text);
}

static void test_numbers_become_parameters(void **state)
{
	(void)state;
	check_number(DB_I(INT64_MIN), POSTGRESQL_INT8, "-9223372036854775808");
	check_number(DB_I(INT64_MAX), POSTGRESQL_FLOAT8, "9223372036854775807");
	check_number(DB_I(7), POSTGRESQL_BOOL, "1");
	check_number(DB_I(0), POSTGRESQL_BOOL, "0");
	check_number(DB_R(0.5), POSTGRESQL_BOOL, "1");
	check_number(DB_R(0.1), POSTGRESQL_FLOAT8, "0.10000000000000001");
	check_number(DB_R(-1e-300), POSTGRESQL_FLOAT8, "-1e-300");
}

static void test_texts_become_parameters(void **state)
{
	const struct db_value part = {
		.type = DB_TEXT, .bytes = "abcdef", .len = 3};
	const struct db_value empty = db_blob(NULL, 0);
	const struct db_value null = db_text(NULL);
	const struct db_value huge = db_blob("", (size_t)INT_MAX + 1);
	char number[POSTGRESQL_NUMBER_BYTES];
	struct postgresql_param p;

	(void)state;
	/* a part of a longer text is not terminated: it is sent by its length */
	assert_int_equal(postgresql_param(&part, POSTGRESQL_TEXT, number, &p),
			 0);
	assert_int_equal(p.format, 1);
	assert_int_equal(p.len, 3);
	assert_memory_equal(p.bytes, "abc", 3);
	assert_int_equal(postgresql_param(&empty, POSTGRESQL_BYTEA, number, &p),
			 0);
	assert_non_null(p.bytes);
	assert_int_equal(p.len, 0);
	assert_int_equal(postgresql_param(&null, POSTGRESQL_INT8, number, &p),
			 0);
	assert_null(p.bytes);
	assert_int_equal(postgresql_param(&part, POSTGRESQL_INT8, number, &p),
			 -EINVAL);
	assert_int_equal(postgresql_param(&huge, POSTGRESQL_BYTEA, number, &p),
			 -EOVERFLOW);
}

static struct db_value value_of(uint32_t type, const char *text)
{
	static unsigned char bytes[64];
	struct db_value v;

	assert_int_equal(postgresql_value(type, text, strlen(text), bytes, &v),
			 0);
	return v;
}

static int refused(uint32_t type, const char *text)
{
	unsigned char bytes[64];
	struct db_value v;

	return postgresql_value(type, text, strlen(text), bytes, &v);
}

static void test_columns_become_values(void **state)
{
	struct db_value v;

	(void)state;
	assert_int_equal(value_of(POSTGRESQL_BOOL, "t").integer, 1);
	assert_int_equal(value_of(POSTGRESQL_BOOL, "f").integer, 0);
	assert_int_equal(value_of(POSTGRESQL_BOOL, "f").type, DB_INT);
	assert_int_equal(value_of(POSTGRESQL_INT2, "-32768").integer, -32768);
	v = value_of(POSTGRESQL_INT8, "-9223372036854775808");
	assert_int_equal(v.type, DB_INT);
	assert_int_equal(v.integer, INT64_MIN);
	/* sum() of integers is numeric */
	assert_int_equal(value_of(POSTGRESQL_NUMERIC, "12").type, DB_INT);
	v = value_of(POSTGRESQL_NUMERIC, "12.5000");
	assert_int_equal(v.type, DB_REAL);
	assert_true(v.real == 12.5);
	assert_int_equal(
		value_of(POSTGRESQL_NUMERIC, "9223372036854775808").type,
		DB_REAL);
	assert_true(value_of(POSTGRESQL_FLOAT8, "0.1").real == 0.1);
	assert_true(isnan(value_of(POSTGRESQL_FLOAT8, "NaN").real));
	assert_true(isinf(value_of(POSTGRESQL_FLOAT8, "-Infinity").real));
	v = value_of(POSTGRESQL_BYTEA, "\\x00ff7a");
	assert_int_equal(v.type, DB_BLOB);
	assert_int_equal(v.len, 3);
	assert_memory_equal(v.bytes, "\0\xffz", 3);
	assert_int_equal(value_of(POSTGRESQL_BYTEA, "\\x").len, 0);
	v = value_of(POSTGRESQL_JSON, "[\"a\"]");
	assert_int_equal(v.type, DB_TEXT);
	assert_string_equal(v.bytes, "[\"a\"]");
	assert_int_equal(v.len, 5);
}

static void test_rows_of_copy(void **state)
{
	const struct db_value row[] = {
		DB_I(INT64_MIN),        DB_R(0.1),
		db_text(NULL),          db_text(""),
		db_text("a\tb\\N\r\n"), db_blob("\0\xffz", 3),
		db_blob(NULL, 0),
	};
	struct buf b;

	(void)state;
	buf_init(&b, 1024);
	assert_int_equal(postgresql_copy_row(&b, row, 7), 0);
	assert_int_equal(postgresql_copy_row(&b, row, 1), 0);
	assert_string_equal(b.data, "-9223372036854775808\t"
				    "0.10000000000000001\t\\N\t\t"
				    "a\\tb\\\\N\\r\\n\t"
				    "\\\\x00ff7a\t\\\\x\n"
				    "-9223372036854775808\n");
	buf_release(&b);
	buf_init(&b, 8);
	assert_int_equal(postgresql_copy_row(&b, row, 1), -EMSGSIZE);
	buf_release(&b);
}

static void test_columns_that_cannot_be_read(void **state)
{
	(void)state;
	assert_int_equal(refused(POSTGRESQL_INT8, ""), -EINVAL);
	assert_int_equal(refused(POSTGRESQL_INT8, "1.5"), -EINVAL);
	assert_int_equal(refused(POSTGRESQL_INT8, "9223372036854775808"),
			 -EINVAL);
	assert_int_equal(refused(POSTGRESQL_FLOAT8, "x"), -EINVAL);
	assert_int_equal(refused(POSTGRESQL_BYTEA, "\\x0"), -EINVAL);
	assert_int_equal(refused(POSTGRESQL_BYTEA, "\\x0g"), -EINVAL);
	assert_int_equal(refused(POSTGRESQL_BYTEA, "\\000"), -EINVAL);
	assert_int_equal(refused(POSTGRESQL_BYTEA, ""), -EINVAL);
}

static void check_schema(const char *sql, const char *expected)
{
	struct buf b;

	buf_init(&b, 65536);
	assert_int_equal(postgresql_schema(&b, sql), 0);
	assert_string_equal(b.data, expected);
	buf_release(&b);
}

static void test_schema_words(void **state)
{
	(void)state;
	check_schema("", "");
	check_schema("CREATE TABLE t (\n  id INTEGER PRIMARY KEY, -- INTEGER\n"
		     "  n integer NOT NULL DEFAULT 'INTEGER', b BLOB, r REAL);",
		     "CREATE TABLE t ( id BIGINT GENERATED BY DEFAULT AS "
		     "IDENTITY PRIMARY KEY, n BIGINT NOT NULL DEFAULT "
		     "'INTEGER', b BYTEA, r DOUBLE PRECISION);");
	check_schema("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT);",
		     "CREATE TABLE t (id BIGINT GENERATED BY DEFAULT AS "
		     "IDENTITY PRIMARY KEY);");
	check_schema("CREATE TABLE t (a TEXT, PRIMARY KEY (a)) WITHOUT ROWID;",
		     "CREATE TABLE t (a TEXT COLLATE \"C\", PRIMARY KEY (a));");
	check_schema("UPDATE t SET a = CAST(n AS TEXT) || '--it''s'",
		     "UPDATE t SET a = CAST(n AS TEXT) || '--it''s'");
	/* words that only begin like a type, and quoted names */
	check_schema("ALTER TABLE t ADD COLUMN really \"TEXT\"",
		     "ALTER TABLE t ADD COLUMN really \"TEXT\"");
}

static void test_schema_triggers(void **state)
{
	struct buf b;

	(void)state;
	check_schema(
		"CREATE TRIGGER made AFTER INSERT ON t BEGIN\n"
		"  UPDATE r SET n = CASE WHEN n > 0 THEN n ELSE 1 END;\n"
		"  DELETE FROM s;\nEND;\nDROP TABLE x;",
		"\nCREATE FUNCTION made() RETURNS trigger LANGUAGE plpgsql "
		"AS $trigger$ BEGIN UPDATE r SET n = CASE WHEN n > 0 THEN "
		"n ELSE 1 END; DELETE FROM s; RETURN NULL; END "
		"$trigger$;\nCREATE TRIGGER made AFTER INSERT ON t FOR "
		"EACH ROW EXECUTE FUNCTION made(); DROP TABLE x;");
	buf_init(&b, 65536);
	assert_int_equal(postgresql_schema(&b, "CREATE TRIGGER made AFTER"),
			 -EINVAL);
	buf_release(&b);
	assert_int_equal(postgresql_schema(&b, "CREATE TRIGGER a AFTER INSERT "
					       "ON t BEGIN DELETE FROM s;"),
			 -EINVAL);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_by_sqlstate),
		cmocka_unit_test(test_numbers_become_parameters),
		cmocka_unit_test(test_texts_become_parameters),
		cmocka_unit_test(test_columns_become_values),
		cmocka_unit_test(test_rows_of_copy),
		cmocka_unit_test(test_columns_that_cannot_be_read),
		cmocka_unit_test(test_schema_words),
		cmocka_unit_test(test_schema_triggers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
