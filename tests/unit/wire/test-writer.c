#include "control/wire/writer.h"

#include "base/str.h"
#include "control/wire/json.h"
#include "control/wire/text.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS     20000
#define TEXT_BYTES 64

static struct buf text;
static struct writer w;

static void begin(void)
{
	text.used = 0;
	writer_init(&w, &text);
}

/* Compare with jansson's output of the same value. */
static void is_dumped(json_t *value)
{
	char *dumped =
		json_dumps(value, JSON_COMPACT | JSON_EXACT | JSON_ENCODE_ANY);

	assert_int_equal(w.err, 0);
	assert_non_null(dumped);
	assert_string_equal(text.data, dumped);
	free(dumped);
	json_decref(value);
}

static void is_text(const char *expected)
{
	assert_int_equal(w.err, 0);
	assert_string_equal(text.data, expected);
}

static void test_members_and_items(void **state)
{
	json_t *tree = json_pack("{s:[i], s:n}", "a", 1, "b");

	(void)state;
	begin();
	writer_open(&w, NULL, '{');
	writer_text(&w, "none", NULL);
	writer_text(&w, "t", "x");
	writer_bool(&w, "yes", true);
	writer_bool(&w, "no", false);
	writer_open(&w, "list", '[');
	writer_integer(&w, NULL, 1);
	writer_open(&w, NULL, '{');
	writer_close(&w, '}');
	writer_open(&w, NULL, '[');
	writer_close(&w, ']');
	writer_real(&w, NULL, 2);
	writer_raw(&w, "3,4", 3);
	writer_raw(&w, NULL, 0);
	writer_close(&w, ']');
	writer_json(&w, "tree", tree);
	writer_close(&w, '}');
	json_decref(tree);
	is_text("{\"t\":\"x\",\"yes\":true,\"no\":false,"
		"\"list\":[1,{},[],2.0,3,4],\"tree\":{\"a\":[1],\"b\":null}}");
}

/* Every byte, and every leading byte of characters of two to four bytes. */
static void test_texts_as_jansson_prints_them(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		char value[TEXT_BYTES];
		size_t len = (size_t)i % (TEXT_BYTES - 1);

		for (size_t k = 0; k < len; k++) {
			seed = seed * 6364136223846793005u +
			       1442695040888963407u;
			value[k] = (char)(1 + (seed >> 33) % 255);
			/*
			 * many leading bytes, so that complete characters are
			 * not rare
			 */
			if ((seed >> 20) % 4 == 0)
				value[k] = (char)(0xc0 | (value[k] & 0x3f));
			else if ((seed >> 20) % 4 == 1)
				value[k] = (char)(0x80 | (value[k] & 0x3f));
		}
		value[len] = '\0';
		begin();
		writer_text(&w, NULL, value);
		is_dumped(wire_text(value));
	}
	begin();
	writer_text(&w, NULL, "a\"\\/\b\f\n\r\t\x1f\x7f\xc3\xa4\xed\xa0\x80");
	is_text("\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u001F\x7f\xc3\xa4???\"");
}

static void test_a_text_ends_at_its_length(void **state)
{
	(void)state;
	begin();
	writer_text_n(&w, NULL, "ab\xc3\xa4", 3); /* cut within a character */
	is_text("\"ab?\"");
}

static void test_numbers_as_jansson_prints_them(void **state)
{
	static const int64_t integers[] = {0,     1,         -1,       10,
					   -4711, INT64_MAX, INT64_MIN};
	static const double reals[] = {0,      -0.0,  1,      3.6,
				       1e21,   1e-7,  -12.5,  0.1 + 0.2,
				       5e-324, 1e308, 1.0 / 3};

	(void)state;
	for (size_t i = 0; i < sizeof(integers) / sizeof(*integers); i++) {
		begin();
		writer_integer(&w, NULL, integers[i]);
		is_dumped(json_integer(integers[i]));
	}
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
		begin();
		writer_real(&w, NULL, reals[i]);
		is_dumped(json_real(reals[i]));
	}
}

/* The first error is kept, and nothing is written after it. */
static void test_failures(void **state)
{
	struct buf small;
	size_t used;

	(void)state;
	begin();
	writer_open(&w, NULL, '{');
	used = text.used;
	writer_real(&w, "x", (double)NAN);
	assert_int_equal(w.err, -EINVAL);
	writer_integer(&w, "y", 1);
	writer_json(&w, "z", NULL);
	writer_close(&w, '}');
	assert_int_equal(w.err, -EINVAL);
	assert_int_equal(text.used, used);
	begin();
	writer_json(&w, NULL, NULL);
	assert_int_not_equal(w.err, 0);
	buf_init(&small, 8);
	writer_init(&w, &small);
	writer_text(&w, NULL, "123456");
	assert_int_equal(w.err, 0);
	small.used = 0;
	writer_init(&w, &small);
	writer_text(&w, NULL, "1234567");
	assert_int_equal(w.err, -EMSGSIZE);
	assert_true(small.used <= 8);
	buf_release(&small);
}

/* Bytes are looked at in groups of eight: each place in a group, each byte. */
static void test_each_character_at_each_place(void **state)
{
	char given[17] = "";

	(void)state;
	for (int c = 1; c < 128; c++) {
		for (size_t at = 0; at < sizeof(given) - 1; at++) {
			memset(given, 'a', sizeof(given) - 1);
			given[at] = (char)c;
			begin();
			writer_text(&w, NULL, given);
			is_dumped(json_string(given));
		}
	}
	for (size_t at = 0; at < sizeof(given) - 2; at++) {
		memset(given, 'a', sizeof(given) - 1);
		memcpy(given + at, "\xc3\xa4", 2);
		begin();
		writer_text(&w, NULL, given);
		is_dumped(json_string(given));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_character_at_each_place),
		cmocka_unit_test(test_members_and_items),
		cmocka_unit_test(test_texts_as_jansson_prints_them),
		cmocka_unit_test(test_a_text_ends_at_its_length),
		cmocka_unit_test(test_numbers_as_jansson_prints_them),
		cmocka_unit_test(test_failures),
	};
	int failed;

	buf_init(&text, 1 << 16);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	buf_release(&text);
	return failed;
}
