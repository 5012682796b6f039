#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void check(int64_t seconds, int64_t ns)
{
	const time_t t = (time_t)seconds;
	char text[CLOCK_TEXT_BYTES], expected[CLOCK_TEXT_BYTES];
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(expected, sizeof(expected), "%Y-%m-%d %H:%M:%S", &tm);
	clock_format(text, seconds * NS_PER_S + ns);
	assert_string_equal(text, expected);
}

/* The whole range of int64 nanoseconds: the years 1678 to 2262. */
static void test_format_every_day(void **state)
{
	const int64_t days = 106000;

	(void)state;
	for (int64_t day = -days; day <= days; day++) {
		check(day * 86400, 0);
		check(day * 86400 + 86399, NS_PER_S - 1);
	}
}

static void test_format_every_second_of_a_day(void **state)
{
	(void)state;
	for (int64_t second = 0; second < 86400; second++)
		check(1709164800 + second, 1); /* 2024-02-29 */
}

static void test_format_before_1970(void **state)
{
	char text[CLOCK_TEXT_BYTES];

	(void)state;
	clock_format(text, -1);
	assert_string_equal(text, "1969-12-31 23:59:59");
}

/* years beyond 2262, where int64 nanoseconds end */
static void test_format_years_of_four_digits(void **state)
{
	char text[CLOCK_TEXT_BYTES];

	(void)state;
	clock_format_ms(text, INT64_C(32503679999000));
	assert_string_equal(text, "2999-12-31 23:59:59");
	clock_format_ms(text, INT64_C(253402300799999));
	assert_string_equal(text, "9999-12-31 23:59:59");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_format_every_day),
		cmocka_unit_test(test_format_every_second_of_a_day),
		cmocka_unit_test(test_format_before_1970),
		cmocka_unit_test(test_format_years_of_four_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
