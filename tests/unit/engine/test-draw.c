#include "agent/engine/call/duration_draw.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define DRAWS 20000

/* Mean and variance of many draws, in seconds. */
static void moments(const struct wire_duration *duration, double *mean,
		    double *variance)
{
	struct duration_draw d = {.state = 42};
	double sum = 0;
	double squares = 0;

	for (int i = 0; i < DRAWS; i++) {
		double s = (double)duration_draw_ns(&d, duration) /
			   (double)NS_PER_S;

		sum += s;
		squares += s * s;
	}
	*mean = sum / DRAWS;
	*variance = squares / DRAWS - *mean * *mean;
}

static void near(double value, double expected, double tolerance)
{
	if (value < expected - tolerance || value > expected + tolerance)
		fail_msg("%g is not within %g of %g", value, tolerance,
			 expected);
}

static void test_fixed(void **state)
{
	const struct wire_duration d = {.kind = WIRE_DURATION_FIXED,
					.a_s = 1.5};
	struct duration_draw draw = {.state = 1};

	(void)state;
	assert_int_equal(duration_draw_ns(&draw, &d), 1500000000);
	assert_int_equal(draw.state, 1); /* no random number was drawn */
}

/* splitmix64's first outputs for seed 1234567 (the reference's own test). */
static void test_generator(void **state)
{
	struct duration_draw draw = {.state = 1234567};

	(void)state;
	assert_true(duration_draw_unit(&draw) ==
		    ((double)(UINT64_C(6457827717110365317) >> 11) + 0.5) /
			    9007199254740992.0);
	assert_true(duration_draw_unit(&draw) ==
		    ((double)(UINT64_C(3203168211198807973) >> 11) + 0.5) /
			    9007199254740992.0);
}

static void test_same_seed_same_durations(void **state)
{
	const struct wire_duration d = {.kind = WIRE_DURATION_EXPONENTIAL,
					.a_s = 30};
	struct duration_draw a = {.state = 7};
	struct duration_draw b = {.state = 7};

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_int_equal(duration_draw_ns(&a, &d),
				 duration_draw_ns(&b, &d));
}

static void test_uniform(void **state)
{
	const struct wire_duration d = {
		.kind = WIRE_DURATION_UNIFORM, .a_s = 2, .b_s = 8};
	double mean;
	double variance;

	(void)state;
	moments(&d, &mean, &variance);
	near(mean, 5, 0.1);
	near(variance, 3, 0.1); /* (b-a)^2/12 */
}

static void test_exponential(void **state)
{
	const struct wire_duration d = {.kind = WIRE_DURATION_EXPONENTIAL,
					.a_s = 10};
	double mean;
	double variance;

	(void)state;
	moments(&d, &mean, &variance);
	near(mean, 10, 0.4);
	near(variance, 100, 10);
}

static void test_normal(void **state)
{
	const struct wire_duration d = {
		.kind = WIRE_DURATION_NORMAL, .a_s = 60, .b_s = 5};
	double mean;
	double variance;

	(void)state;
	moments(&d, &mean, &variance);
	near(mean, 60, 0.2);
	near(variance, 25, 1.5);
}

static void test_normal_never_negative(void **state)
{
	const struct wire_duration d = {
		.kind = WIRE_DURATION_NORMAL, .a_s = 0, .b_s = 5};
	struct duration_draw draw = {.state = 3};
	int zeros = 0;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t ns = duration_draw_ns(&draw, &d);

		assert_true(ns >= 0);
		zeros += ns == 0;
	}
	assert_in_range(zeros, 400, 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_generator),
		cmocka_unit_test(test_same_seed_same_durations),
		cmocka_unit_test(test_uniform),
		cmocka_unit_test(test_exponential),
		cmocka_unit_test(test_normal),
		cmocka_unit_test(test_normal_never_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
