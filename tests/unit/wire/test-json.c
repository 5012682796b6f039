#include "control/wire/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROUNDS 20000

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 11;
}

static void dump(char text[static 64], json_t *value, size_t flags)
{
	char *dumped = json_dumps(value, JSON_ENCODE_ANY | flags);

	assert_non_null(dumped);
	assert_true(strlen(dumped) < 64);
	memcpy(text, dumped, strlen(dumped) + 1);
	free(dumped);
	json_decref(value);
}

static double read_back(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
	double number = json_number_value(value);

	assert_true(json_is_real(value));
	json_decref(value);
	return number;
}

static void test_decimals_print_as_such(void **state)
{
	uint64_t seed = 1;
	char text[64], wanted[64];

	(void)state;
	dump(text, json_real(3.6), JSON_DECIMAL);
	assert_string_equal(text, "3.6");
	dump(text, json_real(0.1 + 0.2), JSON_DECIMAL);
	assert_string_equal(text, "0.3");
	dump(text, json_real(9.2), JSON_DECIMAL);
	assert_string_equal(text, "9.2");
	for (int i = 0; i < ROUNDS; i++) {
		/* at most 15 digits, not all of them after the point */
		int places = 1 + i % 9;
		uint64_t ahead = next_random(&seed) % 999999;
		uint64_t behind = next_random(&seed);

		for (uint64_t ten = 1, k = 0; k <= 9; k++, ten *= 10)
			if ((int)k == places)
				behind %= ten;
		behind += behind % 10 == 0; /* no trailing zero, which would
					     * be omitted */
		snprintf(wanted, sizeof(wanted), "%u.%0*u", (unsigned)ahead,
			 places, (unsigned)behind);
		dump(text, json_real(strtod(wanted, NULL)), JSON_DECIMAL);
		assert_string_equal(text, wanted);
	}
}

static void test_no_figure_loses_more_than_its_last_unit(void **state)
{
	uint64_t seed = 2;
	char text[64];

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		double value = (double)next_random(&seed) *
			       pow(10, (double)(i % 60) - 40);
		double unit = pow(10, floor(log10(value)) - 14);

		dump(text, json_real(value), JSON_DECIMAL);
		assert_true(fabs(read_back(text) - value) <= unit);
		dump(text, json_real(value), JSON_EXACT);
		assert_true(read_back(text) == value);
	}
}

static void test_counters_are_printed_in_full(void **state)
{
	char text[64];

	(void)state;
	dump(text, json_integer((INT64_C(1) << 53) + 1), JSON_DECIMAL);
	assert_string_equal(text, "9007199254740993");
	dump(text, json_integer(INT64_MIN), JSON_DECIMAL);
	assert_string_equal(text, "-9223372036854775808");
	dump(text, json_real(2), JSON_DECIMAL);
	assert_string_equal(text, "2.0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decimals_print_as_such),
		cmocka_unit_test(test_no_figure_loses_more_than_its_last_unit),
		cmocka_unit_test(test_counters_are_printed_in_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
