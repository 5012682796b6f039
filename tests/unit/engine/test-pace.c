/*
 * Start times of calls at a rising rate, compared with the integral of the
 * rate.
 */
#include "agent/engine/job/call_starts.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Number of calls that are due until time t; the first is due at 0. */
static double due_until(double t, double rate, double ramp)
{
	if (t <= ramp)
		return rate * t * t / (2 * ramp);
	return rate * ramp / 2 + rate * (t - ramp);
}

static void test_pace_without_ramp_is_even(void **state)
{
	(void)state;
	assert_int_equal(call_starts_next_ns(0, 4, 0), NS_PER_S / 4);
	assert_int_equal(call_starts_next_ns(NS_PER_S, 0.5, 0), 3 * NS_PER_S);
	assert_int_equal(call_starts_next_ns(0, 1000, 0), NS_PER_S / 1000);
}

static void test_pace_follows_the_rate(void **state)
{
	static const struct {
		double rate;
		uint32_t ramp_s;
	} rows[] = {{10, 5},   {1, 10},  {0.1, 3},  {0.001, 86400},
		    {1000, 1}, {7.5, 2}, {3, 86400}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t at = 0, gap = INT64_MAX - 2;

		for (int n = 1; n <= 3000; n++) {
			int64_t next = call_starts_next_ns(at, rows[i].rate,
							   rows[i].ramp_s);
			double due = due_until((double)next / (double)NS_PER_S,
					       rows[i].rate, rows[i].ramp_s);

			assert_true(next > at);
			/*
			 * never faster than before, and never above the ceiling
			 */
			assert_true(next - at <= gap + 2);
			assert_true((double)(next - at) >=
				    (double)NS_PER_S / rows[i].rate - 2);
			assert_true(due > n - 1e-3 && due < n + 1e-3);
			gap = next - at;
			at = next;
		}
	}
}

/* A generator that was delayed continues from a time between two calls. */
static void test_pace_from_any_moment(void **state)
{
	int64_t next = call_starts_next_ns(3 * NS_PER_S, 2, 10);
	double from = due_until(3, 2, 10);

	(void)state;
	assert_true(due_until((double)next / (double)NS_PER_S, 2, 10) >
		    from + 1 - 1e-6);
	assert_true(due_until((double)next / (double)NS_PER_S, 2, 10) <
		    from + 1 + 1e-6);
	assert_int_equal(call_starts_next_ns(10 * NS_PER_S, 2, 10),
			 10 * NS_PER_S + NS_PER_S / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pace_without_ramp_is_even),
		cmocka_unit_test(test_pace_follows_the_rate),
		cmocka_unit_test(test_pace_from_any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
