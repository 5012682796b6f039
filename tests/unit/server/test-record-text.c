#include "control/server/store/record_text.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CEILING 4096

static const struct column columns[] = {
	{"id", "id", NULL, COLUMN_INT},
	{"text", "text", NULL, COLUMN_TEXT},
	{"hidden", NULL, "hidden", COLUMN_HASHED},
	{"real", "real", NULL, COLUMN_REAL},
	{"at", "at", NULL, COLUMN_TIME},
	{"doc", "doc", NULL, COLUMN_JSON},
};

static const struct table table = {
	.name = "t",
	.from = "t",
	.id = "id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

/* Parse the row with jansson; the caller owns the result. */
static json_t *row_of(int64_t id, const char *text, size_t len)
{
	const struct db_value row[] = {
		DB_I(id),
		{.type = DB_TEXT, .bytes = text, .len = len},
		{.type = DB_REAL, .real = 2},
		DB_I(1700000000999),
		db_text("[1]"),
	};
	struct buf b;
	json_t *object;

	buf_init(&b, CEILING);
	assert_int_equal(record_text_row(&b, &table, row, 5), 0);
	assert_int_equal(b.used, strlen(b.data));
	object = json_loadb(b.data, b.used, JSON_REJECT_DUPLICATES, NULL);
	if (!object)
		print_error("%s\n", b.data);
	assert_non_null(object);
	buf_release(&b);
	return object;
}

static void test_members(void **state)
{
	static const int64_t ids[] = {0, -1, 10, INT64_MAX, INT64_MIN};

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		json_t *row = row_of(ids[i], "", 0);

		assert_int_equal(json_object_size(row), 5);
		assert_true(json_integer_value(json_object_get(row, "id")) ==
			    ids[i]);
		assert_true(json_is_real(json_object_get(row, "real")));
		assert_string_equal(
			json_string_value(json_object_get(row, "at")),
			"2023-11-14 22:13:20");
		assert_int_equal(json_array_size(json_object_get(row, "doc")),
				 1);
		json_decref(row);
	}
}

/* Every character at every position of a text of a few machine words. */
static void test_every_character_at_every_place(void **state)
{
	(void)state;
	for (unsigned c = 1; c < 0x80; c++) {
		for (size_t at = 0; at < 20; at++) {
			char text[21] = "\xc3\xa4"
					"abcdefgh!#~\x7f"
					"012345";
			const char *got;
			json_t *row;

			text[at] = (char)c;
			if (at < 2) /* not within the first character */
				text[1 - at] = '-';
			row = row_of(1, text, strlen(text));
			got = json_string_value(json_object_get(row, "text"));
			assert_string_equal(got, text);
			json_decref(row);
		}
	}
}

/* Real numbers have the decimals that jansson prints. */
static void test_reals_read_as_decimals(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{3.6, "3.6"},
		{2, "2.0"},
		{0.1 + 0.2, "0.3"},
		{1e15, "1e15"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct db_value row[] = {
			DB_I(1),
			db_text(""),
			{.type = DB_REAL, .real = cases[i].value},
		};
		char wanted[80];
		struct buf b;

		snprintf(wanted, sizeof(wanted), "\"real\":%s}", cases[i].text);
		buf_init(&b, CEILING);
		assert_int_equal(record_text_row(&b, &table, row, 3), 0);
		assert_non_null(strstr(b.data, wanted));
		buf_release(&b);
	}
}

static void test_ceiling(void **state)
{
	const struct db_value row[] = {DB_I(1), db_text("0123456789\n")};
	struct buf b;
	size_t ceiling = 0;
	int err;

	(void)state;
	do {
		buf_init(&b, ceiling++);
		err = record_text_row(&b, &table, row, 2);
		assert_true(err == 0 || err == -EMSGSIZE);
		assert_true(b.used <= b.ceiling);
		if (err == 0)
			assert_string_equal(
				b.data,
				"{\"id\":1,\"text\":\"0123456789\\n\"}");
		buf_release(&b);
	} while (err);
	assert_int_equal(ceiling - 1,
			 strlen("{\"id\":1,\"text\":\"0123456789\\n\"}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_every_character_at_every_place),
		cmocka_unit_test(test_reals_read_as_decimals),
		cmocka_unit_test(test_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
