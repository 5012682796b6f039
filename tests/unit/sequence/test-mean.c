/* The sequential test of a mean: its errors over many simulated histories that are looked at after each
 * value, and how soon it finds a change. */
#include "control/server/sequence/mean_test.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HISTORIES 1000
#define CALLS     3000
#define LEVEL     0.05

/* xorshift64*, so that every run has the same histories */
static uint64_t state = 88172645463325252u;

static double chance(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (double)(state * 2685821657736338717u >> 11) * 0x1p-53;
}

static double coin(double mean)
{
	return chance() < mean;
}

/* Lost packets of a call: nearly none, or a tenth to a third of them. */
static double burst(double mean)
{
	return chance() < mean / 0.2 ? 0.1 + 0.2 * chance() : 0;
}

static double spread(double mean)
{
	return mean * 2 * chance();
}

/* The value after which "above" is said; 0: never */
static size_t said_after(double limit, double mean, double (*value)(double),
			 int mirrored)
{
	struct mean_test t;

	mean_test_begin(&t, mirrored ? 1 - limit : limit);
	for (size_t i = 1; i <= CALLS; i++) {
		double x = value(mean);

		mean_test_add(&t, mirrored ? 1 - x : x);
		if (mean_test_evidence(&t) >= -log(LEVEL))
			return i;
	}
	return 0;
}

static int said(double limit, double mean, double (*value)(double),
		int mirrored)
{
	int count = 0;

	for (int i = 0; i < HISTORIES; i++)
		count += said_after(limit, mean, value, mirrored) > 0;
	return count;
}

/* With the mean at the limit, at most 5 % of the histories may say otherwise at any time. 50 of 1000
 * are expected at most; 63 or more of them have a chance of 3.5 % at exactly 5 %. */
static void test_no_false_alarm(void **unused)
{
	const struct {
		double (*value)(double);
		double limit;
	} kinds[] = {{coin, 0.005},
		     {coin, 0.05},
		     {coin, 0.5},
		     {burst, 0.005},
		     {spread, 0.2}};

	(void)unused;
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (int mirrored = 0; mirrored < 2; mirrored++)
			assert_in_range(said(kinds[k].limit, kinds[k].limit,
					     kinds[k].value, mirrored),
					0, 62);
}

/* A loss of 1.5 % in place of 0.5 %, whichever way it is distributed over the calls */
static void test_change_is_found(void **unused)
{
	(void)unused;
	assert_in_range(said(0.005, 0.015, coin, 0), 950, HISTORIES);
	assert_in_range(said(0.005, 0.015, burst, 0), 950, HISTORIES);
	assert_in_range(said(0.005, 0.015, spread, 0), 950, HISTORIES);
}

/* and a loss of 0.5 % proves that it is below 1.5 %. */
static void test_good_is_proved(void **unused)
{
	(void)unused;
	assert_in_range(said(0.015, 0.005, coin, 1), 950, HISTORIES);
	assert_in_range(said(0.015, 0.005, spread, 1), 950, HISTORIES);
}

/* Without a single bad call: how many prove that at most 5 % are bad. Testing once would take 59. */
static void test_all_good(void **unused)
{
	struct mean_test t;
	int calls = 0;

	(void)unused;
	mean_test_begin(&t, 0.95);
	while (mean_test_evidence(&t) < -log(LEVEL)) {
		mean_test_add(&t, 1);
		calls++;
	}
	assert_in_range(calls, 59, 90);
}

static void test_ends_of_the_range(void **unused)
{
	struct mean_test t;

	(void)unused;
	mean_test_begin(&t, 0); /* nothing may be lost */
	for (int i = 0; i < 1000; i++)
		mean_test_add(&t, 0);
	assert_true(mean_test_evidence(&t) < 0);
	mean_test_add(&t, 0.001);
	assert_true(mean_test_evidence(&t) > -log(LEVEL));
	mean_test_begin(&t, 1); /* nothing can be above */
	for (int i = 0; i < 1000; i++)
		mean_test_add(&t, 1);
	assert_true(fabs(mean_test_evidence(&t)) < 1e-9);
}

/* The interval covers the mean in 95 % of the histories, and narrows with the calls. */
static void test_interval(void **unused)
{
	static double values[CALLS];
	double width[2], low, high;
	int outside = 0;

	(void)unused;
	for (int i = 0; i < HISTORIES; i++) {
		for (size_t k = 0; k < 300; k++)
			values[k] = coin(0.1);
		mean_interval(values, 300, LEVEL, &low, &high);
		outside += low > 0.1 || high < 0.1;
		assert_true(low >= 0 && low <= high && high <= 1);
	}
	assert_in_range(outside, 0, 62);
	for (size_t n = 0; n < 2; n++) {
		size_t count = n ? CALLS : 300;

		for (size_t k = 0; k < count; k++)
			values[k] = k % 10 == 0;
		mean_interval(values, count, LEVEL, &low, &high);
		assert_true(low < 0.1 && high > 0.1);
		width[n] = high - low;
	}
	assert_true(width[1] < 0.5 * width[0]);
}

/* What the interval excludes is what the test refuses, at half of the error. */
static void test_interval_is_the_test(void **unused)
{
	double values[200], low, high;
	struct mean_test t;

	(void)unused;
	for (size_t i = 0; i < 200; i++)
		values[i] = burst(0.08);
	mean_interval(values, 200, LEVEL, &low, &high);
	for (int side = -1; side <= 1; side += 2) {
		mean_test_begin(&t, low + side * 1e-6);
		for (size_t i = 0; i < 200; i++)
			mean_test_add(&t, values[i]);
		assert_int_equal(mean_test_evidence(&t) >= -log(LEVEL / 2),
				 side < 0);
		mean_test_begin(&t, 1 - (high + side * 1e-6));
		for (size_t i = 0; i < 200; i++)
			mean_test_add(&t, 1 - values[i]);
		assert_int_equal(mean_test_evidence(&t) >= -log(LEVEL / 2),
				 side > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_false_alarm),
		cmocka_unit_test(test_change_is_found),
		cmocka_unit_test(test_good_is_proved),
		cmocka_unit_test(test_all_good),
		cmocka_unit_test(test_ends_of_the_range),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_interval_is_the_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
