/* Intervals of quantiles: they cover the quantile, narrow with the values, and are unknown as long as
 * there are too few. */
#include "control/server/sequence/mean_test.h"
#include "control/server/sequence/quantile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HISTORIES 1000
#define LEVEL     0.05

static uint64_t state = 88172645463325252u;

static double chance(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)(state * 2685821657736338717u >> 11) * 0x1p-53;
}

/* A share of ones is a sequence like any other. */
static void test_share_is_the_test(void **unused)
{
	const struct {
		size_t ones, count;
		double limit;
	} cases[] = {{0, 0, 0.5},
		     {0, 80, 0.05},
		     {80, 80, 0.95},
		     {7, 300, 0.05},
		     {30, 300, 0.05}};

	(void)unused;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct mean_test t;

		mean_test_begin(&t, cases[c].limit);
		for (size_t i = 0; i < cases[c].count; i++)
			mean_test_add(&t, i < cases[c].ones);
		assert_true(fabs(mean_test_evidence(&t) -
				 mean_test_share_evidence(
					 cases[c].ones, cases[c].count,
					 cases[c].limit)) < 1e-9);
	}
	assert_true(isinf(mean_test_share_evidence(6, 5, 0.5)));
}

/* At the last of 400 values the quantile is outside in at most 5 % of the histories, on either side in
 * half of that; 63 of 1000 have a chance of 3.5 % at 5 %, and 35 of 2.8 % at 2.5 %. */
static void test_quantile_is_covered(void **unused)
{
	static double values[400];
	const double shares[] = {0.05, 0.5, 0.95};

	(void)unused;
	for (size_t s = 0; s < 3; s++) {
		int above = 0, below = 0;

		for (int i = 0; i < HISTORIES; i++) {
			double low, high;

			for (size_t k = 0; k < 400; k++)
				values[k] = chance();
			quantile_interval(values, 400, shares[s], LEVEL, &low,
					  &high);
			assert_true(low <= high);
			above += high < shares[s];
			below += low > shares[s];
		}
		assert_in_range(above, 0, 34);
		assert_in_range(below, 0, 34);
		assert_in_range(above + below, 0, 62);
	}
}

static void test_quantile_of_whole_numbers(void **unused)
{
	double values[1000], low, high;

	(void)unused;
	for (size_t i = 0; i < 1000; i++)
		values[i] = (double)((i * 37) % 1000 + 1);
	quantile_interval(values, 1000, 0.95, LEVEL, &low, &high);
	assert_true(low > 900 && low < 950);
	assert_true(high > 950 && high < 1000);
	assert_true(values[0] == 1 && values[999] == 1000); /* sorted */
}

static void test_quantile_of_equal_values(void **unused)
{
	double values[200], low, high;

	(void)unused;
	for (size_t i = 0; i < 200; i++)
		values[i] = 4.4;
	quantile_interval(values, 200, 0.05, LEVEL, &low, &high);
	assert_true(low == 4.4 && high == 4.4);
}

/* 60 values cannot tell how high 95 of 100 lie, but how low. None tell nothing. */
static void test_quantile_of_few_values(void **unused)
{
	double values[60], low, high;

	(void)unused;
	for (size_t i = 0; i < 60; i++)
		values[i] = (double)i;
	quantile_interval(values, 60, 0.95, LEVEL, &low, &high);
	assert_true(isinf(high) && high > 0);
	assert_true(low > 30 && low < 57);
	quantile_interval(values, 0, 0.95, LEVEL, &low, &high);
	assert_true(isinf(high) && high > 0);
	assert_true(isinf(low) && low < 0);
}

/* A call without a delay is as slow as can be. */
static void test_quantile_of_infinite_values(void **unused)
{
	double values[400], low, high;

	(void)unused;
	for (size_t i = 0; i < 400; i++)
		values[i] = i % 10 == 0 ? INFINITY : 100;
	quantile_interval(values, 400, 0.95, LEVEL, &low, &high);
	assert_true(isinf(high) && isinf(low) && low > 0);
	quantile_interval(values, 400, 0.5, LEVEL, &low, &high);
	assert_true(low == 100 && high == 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share_is_the_test),
		cmocka_unit_test(test_quantile_is_covered),
		cmocka_unit_test(test_quantile_of_whole_numbers),
		cmocka_unit_test(test_quantile_of_equal_values),
		cmocka_unit_test(test_quantile_of_few_values),
		cmocka_unit_test(test_quantile_of_infinite_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
