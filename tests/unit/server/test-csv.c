#include "control/server/api/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* "LINE name=value name=value|" of every row */
static int note_row(unsigned line, json_t *row, void *arg)
{
	char *text = arg, part[64];
	const char *name;
	json_t *value;

	(void)snprintf(part, sizeof(part), "%u", line);
	strcat(text, part);
	json_object_foreach(row, name, value)
	{
		(void)snprintf(part, sizeof(part), " %s=%s", name,
			       json_string_value(value));
		strcat(text, part);
	}
	strcat(text, "|");
	return 0;
}

static void assert_rows(const char *text, const char *expected)
{
	char rows[512] = "", reason[CSV_REASON_BYTES] = "";

	assert_int_equal(csv_read(text, note_row, rows, reason), 0);
	assert_string_equal(rows, expected);
}

static void assert_refused(const char *text, const char *expected)
{
	char rows[512] = "", reason[CSV_REASON_BYTES] = "";

	assert_int_equal(csv_read(text, note_row, rows, reason), -EBADMSG);
	assert_string_equal(reason, expected);
}

static void test_rows_by_name(void **state)
{
	(void)state;
	assert_rows("username,password\n1001,a\n1002,b",
		    "2 username=1001 password=a|3 username=1002 password=b|");
	assert_rows("username,password\r\n1001,a\r\n\r\n1002,\r\n",
		    "2 username=1001 password=a|4 username=1002|");
	assert_rows("username", "");
	assert_rows("username\n1001\n", "2 username=1001|");
}

static void test_names_as_spreadsheets_write_them(void **state)
{
	(void)state;
	assert_rows("\xef\xbb\xbfUserName ; Password\n1;a,b\n",
		    "2 username=1 password=a,b|");
	assert_rows("username\tpassword\n1\t2\n", "2 username=1 password=2|");
}

static void test_quotes_hold_separators_lines_and_quotes(void **state)
{
	(void)state;
	assert_rows("\"a\",b\n\"1,2\",\"say \"\"hi\"\"\"\n\"x\ny\",z\n3,4\n",
		    "2 a=1,2 b=say \"hi\"|3 a=x\ny b=z|5 a=3 b=4|");
	assert_rows("a,b\n5\" pipe,\"\"\n", "2 a=5\" pipe|");
}

static void test_broken_tables_name_the_line(void **state)
{
	(void)state;
	assert_refused("", "line 1: a column has no name");
	assert_refused("a,,b\n", "line 1: a column has no name");
	assert_refused("a,A\n", "line 1: a name is there twice");
	assert_refused("a,b\n1\n", "line 2: has not as many cells as the first "
				   "line has names");
	assert_refused("a\n1\n1,2\n",
		       "line 3: has not as many cells as the first line has "
		       "names");
	assert_refused("a\n\"1\n2\n", "line 2: a quote is not closed");
	assert_refused("a\n\"1\"2\n",
		       "line 2: something stands behind a closing quote");
	assert_refused(",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\n",
		       "line 1: too many cells");
}

static int stop(unsigned line, json_t *row, void *arg)
{
	(void)row;
	*(unsigned *)arg = line;
	return 7;
}

static void test_a_row_may_end_the_reading(void **state)
{
	char reason[CSV_REASON_BYTES];
	unsigned line = 0;

	(void)state;
	assert_int_equal(csv_read("a\n1\n2\n", stop, &line, reason), 7);
	assert_int_equal(line, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_by_name),
		cmocka_unit_test(test_names_as_spreadsheets_write_them),
		cmocka_unit_test(test_quotes_hold_separators_lines_and_quotes),
		cmocka_unit_test(test_broken_tables_name_the_line),
		cmocka_unit_test(test_a_row_may_end_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
