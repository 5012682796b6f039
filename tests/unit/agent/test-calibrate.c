/* Calibration: the search, the bounds, and a short one on this host. */
#include "agent/calibrate/bounds.h"
#include "agent/calibrate/calibrate.h"
#include "agent/calibrate/clock_check.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_bounds_few_samples(void **state)
{
	double sorted[BOUNDS_SAMPLES_MIN];
	double bound = -1;

	(void)state;
	for (size_t i = 0; i < BOUNDS_SAMPLES_MIN; i++)
		sorted[i] = (double)i;
	assert_false(bounds_upper(sorted, BOUNDS_SAMPLES_MIN - 1, &bound));
	assert_true(bound < 0);
	/* of the fewest samples the largest: Wilks */
	assert_true(bounds_upper(sorted, BOUNDS_SAMPLES_MIN, &bound));
	assert_true(bound > 57.5 && bound < 58.5);
}

/* 10000 samples: rank 9500 + 1.645 * sqrt(475) = 9535.9, so the 9536th. */
static void test_bounds_rank(void **state)
{
	static double sorted[10000];
	double bound = -1;

	(void)state;
	for (size_t i = 0; i < 10000; i++)
		sorted[i] = (double)(i + 1);
	assert_true(bounds_upper(sorted, 10000, &bound));
	assert_true(bound > 9535.5 && bound < 9536.5);
}

static void test_samples_grow(void **state)
{
	struct samples s = {.values = NULL};

	(void)state;
	for (int i = 0; i < 5000; i++)
		assert_int_equal(samples_put(&s, i), 0);
	assert_int_equal(s.count, 5000);
	assert_true(s.values[4999] > 4998.5 && s.values[0] < 0.5);
	samples_clear(&s);
	assert_int_equal(s.count, 0);
}

/* A host that carries so many: what the search finds. */
static uint32_t search(uint32_t capacity, uint32_t most, int *ret_trials)
{
	uint32_t passed = 0, failed = 0, next;

	*ret_trials = 0;
	while ((next = calibrate_next(passed, failed, most)) != 0) {
		assert_int_equal(next % 2, 0);
		assert_true(next <= most);
		assert_true(!failed || (next > passed && next < failed));
		assert_true(++*ret_trials < 40);
		if (next <= capacity)
			passed = next;
		else
			failed = next;
	}
	return passed;
}

static void test_search(void **state)
{
	int trials;

	(void)state;
	assert_int_equal(search(20000, 10000, &trials), 10000);
	assert_in_range(search(1000, 20000, &trials), 900, 1000);
	assert_in_range(trials, 1, 13);
	assert_int_equal(search(0, 20000, &trials), 0);
	assert_int_equal(search(2, 20000, &trials), 2);
	assert_in_range(search(17, 20000, &trials), 14, 16);
	assert_int_equal(search(100, 2, &trials), 2);
}

static void test_clock_check(void **state)
{
	struct clock_figures figures;
	struct clock_check c;

	(void)state;
	clock_check_start(&c);
	c.offset_ns -= 5000000; /* as if the wall clock was stepped by 5 ms */
	clock_check_watch(&c);
	clock_check_end(&c, &figures);
	assert_true(figures.step_ms > 4 && figures.resolution_ns >= 1);
	assert_true(figures.drift_ppm >= 0);
}

static void count_trial(const struct calibrate_trial *trial, void *arg)
{
	unsigned *trials = arg;

	assert_true(trial->calls >= 2);
	++*trials;
}

/* On a machine that is slow or busy no load may pass. */
static void test_calibrate_this_host(void **state)
{
	static unsigned trials;
	const struct calibrate_params params = {
		.seconds = CALIBRATE_SECONDS_MIN,
		.port_min = 40000,
		.port_max = 40031,
		.trial_h = count_trial,
		.arg = &trials,
	};
	struct wire_calibration c, again;
	json_t *object;

	(void)state;
	assert_int_equal(calibrate_run(&c, &params), 0);
	assert_true(trials >= 1);
	assert_true(c.calls <= 30 && c.bounds_calls <= c.calls);
	assert_true(!c.has_jitter_bound || c.bounds_calls);
	assert_true(!c.bounds_calls || c.packets);
	assert_true(c.limited_by[0] && c.kernel[0] && c.processors >= 1);
	object = wire_calibration_encode(&c);
	assert_int_equal(wire_calibration_decode(&again, object, NULL), 0);
	json_decref(object);
}

/* Not a port: nothing can be tried. */
static void test_calibrate_impossible(void **state)
{
	const struct calibrate_params params = {
		.seconds = CALIBRATE_SECONDS_MIN,
		.port_min = 40001,
		.port_max = 40001,
	};
	struct wire_calibration c = {.calls = 7};

	(void)state;
	assert_true(calibrate_run(&c, &params) < 0);
	assert_int_equal(c.calls, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds_few_samples),
		cmocka_unit_test(test_bounds_rank),
		cmocka_unit_test(test_samples_grow),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_clock_check),
		cmocka_unit_test(test_calibrate_this_host),
		cmocka_unit_test(test_calibrate_impossible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
