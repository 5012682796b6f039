#include "control/server/judge/sketch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#define ERROR 0.01

/* Encodes value repeated count times, as docs/wire.md defines the index. */
static json_t *encode(double value, int count)
{
	double g = (1 + ERROR) / (1 - ERROR);
	int index = (int)ceil(log(fabs(value)) / log(g));

	return json_pack("{s:f, s:i, s:[[i,i]], s:[]}", "a", ERROR, "z", 0,
			 value > 0 ? "p" : "n", index, count,
			 value > 0 ? "n" : "p");
}

static void add(struct sketch *s, double value, int count)
{
	json_t *encoded = encode(value, count);

	assert_non_null(encoded);
	assert_int_equal(sketch_merge(s, encoded), 0);
	json_decref(encoded);
}

static void near(const struct sketch *s, double fraction, double expected)
{
	double value;

	assert_int_equal(sketch_quantile(s, fraction, &value), 0);
	if (fabs(value - expected) > ERROR * fabs(expected) + 1e-12)
		fail_msg("%g: %g, expected %g", fraction, value, expected);
}

static void test_sketch_quantiles_within_the_error(void **state)
{
	struct sketch *s;

	(void)state;
	assert_int_equal(sketch_new(&s), 0);
	for (int i = 1; i <= 1000; i++)
		add(s, i * 0.1, 1);
	near(s, 0, 0.1);
	near(s, 0.5, 50);
	near(s, 0.95, 95);
	near(s, 1, 100);
	sketch_free(s);
}

static void test_sketch_signs_and_zeros(void **state)
{
	struct sketch *s;
	json_t *zeros = json_pack("{s:f, s:i}", "a", ERROR, "z", 2);

	(void)state;
	assert_int_equal(sketch_new(&s), 0);
	add(s, -4, 2);
	add(s, -2, 1);
	assert_int_equal(sketch_merge(s, zeros), 0);
	add(s, 8, 2);
	near(s, 0, -4);
	near(s, 0.4, -2);
	near(s, 0.5, 0);
	near(s, 1, 8);
	json_decref(zeros);
	sketch_free(s);
}

static void test_sketch_refuses(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"a\":0,\"z\":0}",
		"{\"a\":1,\"z\":0}",
		"{\"a\":0.01,\"z\":-1}",
		"{\"a\":0.01,\"p\":[[1]]}",
		"{\"a\":0.01,\"p\":[[1,-1]]}",
		"{\"a\":0.01,\"p\":[[1.5,1]]}",
		"{\"a\":0.02,\"z\":1}", /* another error than the first */
	};
	struct sketch *s;
	double value;

	(void)state;
	assert_int_equal(sketch_new(&s), 0);
	assert_int_equal(sketch_quantile(s, 0.5, &value), -EINVAL);
	add(s, 1, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *encoded = json_loads(bad[i], 0, NULL);

		assert_non_null(encoded);
		assert_int_equal(sketch_merge(s, encoded), -EINVAL);
		json_decref(encoded);
	}
	near(s, 0.5, 1);
	sketch_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sketch_quantiles_within_the_error),
		cmocka_unit_test(test_sketch_signs_and_zeros),
		cmocka_unit_test(test_sketch_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
