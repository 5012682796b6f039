/* What yaml_write() prints, and that yaml_read() reads it as the same value. */
#include "control/yaml/yaml_write.h"

#include "control/yaml/yaml_read.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The caller frees it. */
static char *written(json_t *value)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(yaml_write(out, value), 0);
	fclose(out);
	return text;
}

static void assert_read_back(json_t *value, const char *text)
{
	struct yaml_error error;
	struct yaml_file file;

	if (yaml_read(text, strlen(text), &file, &error))
		fail_msg("%zu:%zu: %s in\n%s", error.place.line,
			 error.place.column, error.reason, text);
	if (!json_equal(json_array_get(file.documents, 0), value))
		fail_msg("another value:\n%s", text);
	yaml_file_release(&file);
}

static void assert_writes(const char *json, const char *expected)
{
	json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
	char *text = written(value);

	assert_non_null(value);
	assert_string_equal(text, expected);
	assert_read_back(value, text);
	free(text);
	json_decref(value);
}

static void test_values_of_all_types(void **state)
{
	(void)state;
	assert_writes("{\"a\": 1, \"b\": true, \"c\": null, \"d\": 0.5}",
		      "{a: 1, b: true, c: null, d: 0.5}\n");
	assert_writes("{\"a\": -9223372036854775807, \"b\": false}",
		      "{a: -9223372036854775807, b: false}\n");
	assert_writes("[1.0, 2.5e30]", "[1.0, 2.5e30]\n");
	assert_writes("{}", "{}\n");
	assert_writes("[]", "[]\n");
}

static void test_text_that_looks_like_another_value_is_quoted(void **state)
{
	static const char *const texts[] = {
		"",     "~",     "null",  "true",  "False",
		"1001", "-5",    "1.5",   "1e3",   "010",
		"+49",  "0x1f",  "0o17",  ".inf",  ".nan",
		"<<",   "yes",   "No",    "on",    "OFF",
		"y",    "12:30", "1-2-3", "1_000", "2024-01-31",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		json_t *value = json_pack("{s:s}", "a", texts[i]);
		char expected[60], *text = written(value);

		snprintf(expected, sizeof(expected), "{a: \"%s\"}\n", texts[i]);
		assert_string_equal(text, expected);
		assert_read_back(value, text);
		free(text);
		json_decref(value);
	}
}

static void test_text_that_needs_no_quotes(void **state)
{
	(void)state;
	assert_writes("[\"lab\", \"sip:1@b\", \"1.2.3.4x\", \"caller-1\"]",
		      "[lab, 'sip:1@b', 1.2.3.4x, caller-1]\n");
	/* a key is a text like any other */
	assert_writes("{\"1\": \"a\", \"no\": \"b\"}",
		      "{\"1\": a, \"no\": b}\n");
}

static void test_lines_are_a_block(void **state)
{
	(void)state;
	assert_writes("{\"body\": \"{\\n  a\\n}\\n\", \"x\": [1]}",
		      "body: |\n  {\n    a\n  }\nx: [1]\n");
}

/* Texts for which a style of YAML has no room. */
static void test_text_of_any_kind_is_read_back(void **state)
{
	static const char *const texts[] = {
		" leading",
		"trailing ",
		"\n",
		"\n\n a\n",
		" a\n b\n",
		"a\n\n\n",
		"a \nb",
		"tab\tin",
		"\ttab\nfirst\n",
		"cr\r\nlf",
		"#no comment",
		"a: b",
		"a #b",
		"- x",
		"? x",
		"&a",
		"*a",
		"!tag",
		"%dir",
		"@at",
		"`tick",
		"{}",
		"[",
		"---",
		"...",
		"--- a\n...\nb\n",
		"it's \"quoted\"",
		"back\\slash",
		"\x01\x1f\x7f",
		"\xc3\xbc \xe2\x82\xac \xf0\x9f\x93\x9e",
		"\xc2\x85 nel \xe2\x80\xa8 line",
		"\xef\xbb\xbf bom",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		json_t *value =
			json_pack("{s:s, s:[s, {s:s}], s:{s:i}}", "a", texts[i],
				  "b", texts[i], "k", texts[i],
				  texts[i][0] ? texts[i] : "e", "x", 1);
		char *text;

		assert_non_null(value);
		text = written(value);
		assert_read_back(value, text);
		free(text);
		json_decref(value);
	}
}

static void test_long_text_is_not_changed(void **state)
{
	char long_text[3000];
	json_t *value;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(long_text) - 1; i++)
		long_text[i] = i % 7 ? 'a' : ' ';
	long_text[sizeof(long_text) - 1] = '\0';
	value = json_pack("{s:s}", "a", long_text);
	text = written(value);
	assert_read_back(value, text);
	free(text);
	json_decref(value);
}

static void test_small_collections_on_one_line(void **state)
{
	(void)state;
	assert_writes(
		"{\"tests\": [{\"name\": \"T\", \"steps\": [[{\"type\": \"wait\","
		" \"role\": \"caller\"}]], \"password\": {\"env\": \"A\"}}]}",
		"tests:\n"
		"- name: T\n"
		"  steps:\n"
		"  - - {type: wait, role: caller}\n"
		"  password: {env: A}\n");
}

static void test_output_that_fails(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	json_t *value = json_pack("{s:s}", "a", "b");

	(void)state;
	if (!full)
		skip();
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(yaml_write(full, value), -EIO);
	fclose(full);
	json_decref(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_of_all_types),
		cmocka_unit_test(
			test_text_that_looks_like_another_value_is_quoted),
		cmocka_unit_test(test_text_that_needs_no_quotes),
		cmocka_unit_test(test_lines_are_a_block),
		cmocka_unit_test(test_text_of_any_kind_is_read_back),
		cmocka_unit_test(test_long_text_is_not_changed),
		cmocka_unit_test(test_small_collections_on_one_line),
		cmocka_unit_test(test_output_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
