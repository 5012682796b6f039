/* YAML 1.2.2 (10.3.2, core schema) as yaml_read() takes it, and what it refuses. */
#include "control/yaml/yaml_read.h"

#include "base/str.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NUL_TEXT "a: \"b\\0c\""

static json_t *read_one(const char *text)
{
	struct yaml_error error;
	struct yaml_file file;
	json_t *value;

	if (yaml_read(text, strlen(text), &file, &error))
		fail_msg("%s: %s", text, error.reason);
	assert_int_equal(json_array_size(file.documents), 1);
	value = json_incref(json_array_get(file.documents, 0));
	yaml_file_release(&file);
	return value;
}

/* @param json  with JSON_DECODE_ANY */
static void assert_reads(const char *text, const char *json)
{
	json_t *value = read_one(text);
	json_t *expected = json_loads(json, JSON_DECODE_ANY, NULL);

	assert_non_null(expected);
	if (!json_equal(value, expected)) {
		char *is = json_dumps(value, JSON_ENCODE_ANY);

		fail_msg("%s is %s, not %s", text, is, json);
	}
	json_decref(value);
	json_decref(expected);
}

static void assert_refused(const char *text, size_t line, size_t column,
			   const char *reason)
{
	struct yaml_error error;
	struct yaml_file file;
	int err = yaml_read(text, strlen(text), &file, &error);

	if (err != -EINVAL)
		fail_msg("%.80s is taken: %d", text, err);
	if (error.place.line != line || error.place.column != column ||
	    !strstr(error.reason, reason))
		fail_msg("%.80s: %zu:%zu: %s", text, error.place.line,
			 error.place.column, error.reason);
}

/* ---- scalars ---- */

static void test_scalar_of_the_core_schema(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{"true", "true"},
		{"FALSE", "false"},
		{"~", "null"},
		{"a:", "{\"a\": null}"},
		{"0", "0"},
		{"-12", "-12"},
		{"9223372036854775807", "9223372036854775807"},
		{"1.50", "1.5"},
		{"1e3", "1000.0"},
		{"2.", "2.0"},
		/* texts */
		{"no", "\"no\""},
		{"Yes", "\"Yes\""},
		{"on", "\"on\""},
		{"12:30", "\"12:30\""},
		{"2024-01-31", "\"2024-01-31\""},
		{"tRue", "\"tRue\""},
		{"1.2.3", "\"1.2.3\""},
		{"1e", "\"1e\""},
		{"-", "[null]"},
		{"0xZ", "\"0xZ\""},
		{"30 2 * * mon-fri", "\"30 2 * * mon-fri\""},
		{"1_000", "\"1_000\""},
		/* quoted: never anything else */
		{"\"1001\"", "\"1001\""},
		{"'true'", "\"true\""},
		{"'it''s'", "\"it's\""},
		{"\"\\u00fc\\n\"", "\"\\u00fc\\n\""},
		{"''", "\"\""},
		{"|\n a\n  b\n", "\"a\\n b\\n\""},
		{">-\n a\n b\n", "\"a b\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_reads(cases[i].text, cases[i].json);
}

static void test_scalar_that_readers_disagree_about(void **state)
{
	static const char *const scalars[] = {
		"010",    "-010",  "+49301234",
		"+1.5",   "0x1f",  "0o17",
		"0xABCD", ".5",    "-.5",
		".inf",   "-.INF", ".nan",
		"<<",     "00.5",  "1234567890123456789012345678901234567890",
	};
	char text[100];

	(void)state;
	for (size_t i = 0; i < sizeof(scalars) / sizeof(*scalars); i++) {
		str_print(text, sizeof(text), "a:\n  - x\n  - %s\n",
			  scalars[i]);
		assert_refused(text, 3, 5, "quote it");
		str_print(text, sizeof(text), "\"%s\"", scalars[i]);
		assert_reads(text, text);
	}
}

static void test_number_out_of_range(void **state)
{
	(void)state;
	assert_refused("a: 9223372036854775808", 1, 4, "out of the range");
	assert_refused("a: 1e999", 1, 4, "out of the range");
}

/* ---- mistakes, with their places ---- */

static void test_mistake_has_a_place(void **state)
{
	(void)state;
	assert_refused("a: 1\nb: 2\na: 3\n", 3, 1, "a is given twice");
	assert_refused("x:\n  - {a: 1, a: 2}\n", 2, 12, "a is given twice");
	assert_refused("a: !!str 1\n", 1, 4, "tags are not supported");
	assert_refused("a: !mine {b: 1}\n", 1, 4, "tags are not supported");
	assert_refused("a: !!seq [b]\n", 1, 4, "tags are not supported");
	assert_refused("? [a, b]\n: 1\n", 1, 3, "a key must be a text");
	assert_refused("? !!str a\n: 1\n", 1, 3, "a key must be a text");
	assert_refused("\"\": 1\n", 1, 1, "a key is empty");
	assert_refused(NUL_TEXT, 1, 4, "a text has a NUL");
	assert_refused("a: *b\n", 1, 4, "there is no anchor b before");
	assert_refused("a: &b [*b]\n", 1, 8, "there is no anchor b before");
	/* the parser's own words */
	assert_refused("a: [1, 2\nb: 3\n", 2, 2, "");
	assert_refused("a: 1\n b: 2\n", 2, 3, "");
	assert_refused("a: \"b\n", 2, 1, "");
	assert_refused("\ta: 1\n", 1, 1, "");
}

static void test_text_that_is_no_utf8(void **state)
{
	struct yaml_error error;
	struct yaml_file file;

	(void)state;
	assert_int_equal(yaml_read("a: \xff\n", 5, &file, &error), -EINVAL);
	assert_true(error.reason[0] != '\0');
}

static void test_nothing_is_no_document(void **state)
{
	struct yaml_error error;
	struct yaml_file file;

	(void)state;
	assert_int_equal(yaml_read("", 0, &file, &error), 0);
	assert_int_equal(json_array_size(file.documents), 0);
	yaml_file_release(&file);
	assert_int_equal(yaml_read("# only\n", 7, &file, &error), 0);
	assert_int_equal(json_array_size(file.documents), 0);
	yaml_file_release(&file);
}

/* ---- anchors ---- */

static void test_alias_is_a_copy(void **state)
{
	(void)state;
	assert_reads("a: &x {b: [1]}\nc: *x\n",
		     "{\"a\": {\"b\": [1]}, \"c\": {\"b\": [1]}}");
	/* the last one of a name before the alias counts */
	assert_reads("[&x 1, &x 2, *x]", "[1, 2, 2]");
}

static void test_anchor_ends_with_its_document(void **state)
{
	(void)state;
	assert_refused("a: &x 1\n---\nb: *x\n", 3, 4, "there is no anchor x");
}

/* ---- places ---- */

static void assert_at(json_t *places, const char *pointer, size_t line,
		      size_t column)
{
	struct yaml_place place = yaml_place_of(places, pointer);

	if (place.line != line || place.column != column)
		fail_msg("'%s' is at %zu:%zu, not %zu:%zu", pointer, place.line,
			 place.column, line, column);
}

static void test_place_of_a_value(void **state)
{
	static const char text[] = "tests:\n"
				   "  - name: T\n"
				   "    steps:\n"
				   "      - - {type: call, role: a}\n"
				   "        - &x {type: wait}\n"
				   "  - name: U\n"
				   "    steps: [[*x]]\n";
	struct yaml_error error;
	struct yaml_file file;
	json_t *places;

	(void)state;
	assert_int_equal(yaml_read(text, strlen(text), &file, &error), 0);
	places = json_array_get(file.places, 0);
	assert_at(places, "", 1, 1);
	assert_at(places, "/tests", 1, 1);
	assert_at(places, "/tests/0", 2, 5);
	assert_at(places, "/tests/0/steps", 3, 5);
	assert_at(places, "/tests/0/steps/0/0/role", 4, 24);
	assert_at(places, "/tests/0/steps/0/1", 5, 11);
	/* what is missing is told where it belongs */
	assert_at(places, "/tests/0/steps/0/1/role", 5, 11);
	assert_at(places, "/tests/7", 1, 1);
	assert_at(places, "/tests/1/nothing/0", 6, 5);
	/* an alias stands where it is used, its members where they were written */
	assert_at(places, "/tests/1/steps/0/0", 7, 14);
	assert_at(places, "/tests/1/steps/0/0/type", 5, 15);
	assert_at(yaml_places_in(yaml_places_in(places, "tests", 0), NULL, 1),
		  "/name", 6, 5);
	assert_null(yaml_places_in(places, "none", 0));
	yaml_file_release(&file);
}

static void test_places_of_documents(void **state)
{
	static const char text[] = "a: 1\n---\n\nb: 2\n";
	struct yaml_error error;
	struct yaml_file file;

	(void)state;
	assert_int_equal(yaml_read(text, strlen(text), &file, &error), 0);
	assert_int_equal(json_array_size(file.documents), 2);
	assert_at(json_array_get(file.places, 0), "/a", 1, 1);
	assert_at(json_array_get(file.places, 1), "/b", 4, 1);
	yaml_file_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scalar_of_the_core_schema),
		cmocka_unit_test(test_scalar_that_readers_disagree_about),
		cmocka_unit_test(test_number_out_of_range),
		cmocka_unit_test(test_mistake_has_a_place),
		cmocka_unit_test(test_text_that_is_no_utf8),
		cmocka_unit_test(test_nothing_is_no_document),
		cmocka_unit_test(test_alias_is_a_copy),
		cmocka_unit_test(test_anchor_ends_with_its_document),
		cmocka_unit_test(test_place_of_a_value),
		cmocka_unit_test(test_places_of_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
