#include "control/wire/json_text.h"

#include "base/buf.h"
#include "control/wire/json.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 20000

static struct json_text of(const char *text)
{
	return (struct json_text){text, strlen(text)};
}

static void is(struct json_text value, const char *expected)
{
	assert_int_equal(value.len, strlen(expected));
	assert_memory_equal(value.at, expected, value.len);
}

static void test_members(void **state)
{
	static const char object[] =
		" { \"a\" : 1 ,\"b\":\"}\\\"{\\\\\",\n\"c\":{\"a\":[2,{}]},"
		"\"d\":[\"]\"] ,\"\":null}";
	static const char *const expected[][2] = {
		{"a", "1"},
		{"b", "\"}\\\"{\\\\\""},
		{"c", "{\"a\":[2,{}]}"},
		{"d", "[\"]\"]"},
		{"", "null"},
	};
	struct json_text value = {NULL, 7};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_int_equal(
			json_text_member(of(object), expected[i][0], &value),
			1);
		is(value, expected[i][1]);
	}
	value = (struct json_text){NULL, 7};
	assert_int_equal(json_text_member(of(object), "e", &value), 0);
	assert_int_equal(json_text_member(of("{}"), "a", &value), 0);
	assert_int_equal(value.len, 7);
}

/* {"\u0061":1} has a member `a` that is not visible in its text. */
static void test_names_with_escapes_are_not_compared(void **state)
{
	struct json_text value;

	(void)state;
	assert_int_equal(
		json_text_member(of("{\"\\u0061\":1,\"a\":2}"), "a", &value),
		-EINVAL);
	assert_int_equal(
		json_text_member(of("{\"a\":2,\"\\u0062\":1}"), "a", &value),
		1);
}

static void test_items(void **state)
{
	struct json_text rest = of(" [ {\"a\":[1,2]} , \"],[\",[],-1.5e3 ]");
	struct json_text none = of("[ ]");
	struct json_text item;

	(void)state;
	assert_int_equal(json_text_item(&rest, &item), 1);
	is(item, "{\"a\":[1,2]}");
	assert_int_equal(json_text_item(&rest, &item), 1);
	is(item, "\"],[\"");
	assert_int_equal(json_text_item(&rest, &item), 1);
	is(item, "[]");
	assert_int_equal(json_text_item(&rest, &item), 1);
	is(item, "-1.5e3");
	assert_int_equal(json_text_item(&rest, &item), 0);
	is(item, "-1.5e3");
	assert_int_equal(json_text_item(&none, &item), 0);
}

static void test_pairs(void **state)
{
	struct json_text rest =
		of(" {\"a\" : [1], \"\\\"b\":{\"a\":2} , \"\":null }");
	struct json_text none = of("{ }"), array = of("[1]"), name, value;

	(void)state;
	assert_int_equal(json_text_pair(&rest, &name, &value), 1);
	is(name, "a");
	is(value, "[1]");
	assert_int_equal(json_text_pair(&rest, &name, &value), 1);
	is(name, "\\\"b");
	is(value, "{\"a\":2}");
	assert_int_equal(json_text_pair(&rest, &name, &value), 1);
	assert_true(json_text_is(name, ""));
	assert_false(json_text_is(value, "nul"));
	assert_true(json_text_is(value, "null"));
	for (int i = 0; i < 2; i++)
		assert_int_equal(json_text_pair(&rest, &name, &value), 0);
	assert_int_equal(json_text_pair(&none, &name, &value), 0);
	assert_int_equal(json_text_pair(&array, &name, &value), -EINVAL);
}

/*
 * Text cut anywhere gives pieces within it or none (checked by the sanitizer).
 */
static void test_broken_text(void **state)
{
	static const char whole[] =
		"{\"a\":[1,\"x\\\"\",{\"b\":\"\\\\\"}],\"c\" : -1.25e+10,\"d\":{}}";

	(void)state;
	for (size_t len = 0; len < sizeof(whole); len++) {
		char *text = malloc(len ? len : 1);
		struct json_text value = {text, len}, item;
		struct buf out;

		assert_non_null(text);
		memcpy(text, whole, len);
		buf_init(&out, 4096);
		assert_int_equal(json_text_decimal(&out, value), 0);
		assert_int_equal(out.used, len);
		buf_release(&out);
		if (json_text_member(value, "a", &item) == 1) {
			assert_true(item.at + item.len <= text + len);
			value = item;
			while (json_text_item(&value, &item) == 1)
				assert_true(item.at + item.len <= text + len);
		}
		json_text_member((struct json_text){text, len}, "z", &item);
		free(text);
	}
}

static void decimal(const char *value, const char *expected)
{
	struct buf out;

	buf_init(&out, 4096);
	assert_int_equal(json_text_decimal(&out, of(value)), 0);
	assert_string_equal(out.data, expected);
	buf_release(&out);
}

static void test_reals_of_15_digits(void **state)
{
	(void)state;
	decimal("{\"a\":3.6000000000000001,\"3.6000000000000001\":[1, 2.5]}",
		"{\"a\":3.6,\"3.6000000000000001\":[1, 2.5]}");
	decimal("[9223372036854775807,-0.10000000000000001,1e-7]",
		"[9223372036854775807,-0.1,1e-7]");
	decimal("9.9999999999999995e-08", "1e-7");
	decimal("\"1.00000000000000000001\\\" 1.00000000000000000001\"",
		"\"1.00000000000000000001\\\" 1.00000000000000000001\"");
	decimal("true", "true");
}

/* Exact numbers as on the wire, and decimals as of the API. */
static void as_jansson(double value)
{
	static const size_t flags[] = {JSON_EXACT, JSON_DECIMAL};
	static const int digits[] = {DBL_DECIMAL_DIG, DBL_DIG};
	json_t *real = json_real(value);

	for (size_t k = 0; k < 2; k++) {
		char text[JSON_REAL_BYTES];
		char *dumped = json_dumps(real, flags[k] | JSON_ENCODE_ANY);
		size_t len = json_real_text(text, value, digits[k]);

		assert_string_equal(text, dumped);
		assert_int_equal(len, strlen(text));
		free(dumped);
	}
	json_decref(real);
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed;
}

static void test_reals_as_jansson_prints_them(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t bits = next(&seed);

		as_jansson(
			ldexp((double)(int64_t)bits, -(int)(bits % 128) - 20));
		/* times: ns in ms; shares: in percent */
		as_jansson((double)(next(&seed) >> (20 + i % 40)) / 1e6);
		as_jansson(100.0 * (double)(next(&seed) >> 54) / 1024);
		/* halfway between two numbers of 15 and of 17 digits */
		as_jansson((double)(10000000000000 + (next(&seed) >> 30)) +
			   (double)(next(&seed) >> 60) / 16);
		as_jansson((double)(100000000 + (next(&seed) >> 40)) +
			   (double)(next(&seed) >> 40) / (1 << 24));
	}
}

static void test_reals_beside_powers_of_ten(void **state)
{
	(void)state;
	as_jansson(0.0);
	as_jansson(-0.0);
	for (int exponent = -8; exponent < 20; exponent++) {
		double ten =
			strtod((char[8]){'1', 'e', exponent < 0 ? '-' : '+',
					 (char)('0' + abs(exponent) / 10),
					 (char)('0' + abs(exponent) % 10)},
			       NULL);
		double below = ten;

		as_jansson(ten);
		as_jansson(-ten);
		as_jansson(nextafter(ten, INFINITY));
		for (int i = 0; i < 12; i++) {
			below = nextafter(below, 0);
			as_jansson(below);
		}
		for (int i = 1; i < 200; i++)
			as_jansson(ten * i / 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_names_with_escapes_are_not_compared),
		cmocka_unit_test(test_items),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_broken_text),
		cmocka_unit_test(test_reals_of_15_digits),
		cmocka_unit_test(test_reals_as_jansson_prints_them),
		cmocka_unit_test(test_reals_beside_powers_of_ten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
