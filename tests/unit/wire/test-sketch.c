#include "control/wire/sketch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#define ERROR 0.01

/*
 * Encode a value repeated count times; docs/internals/wire.md defines the
 * index.
 */
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
	assert_int_equal(wire_sketch_add(s, encoded), 0);
	json_decref(encoded);
}

static void near(const struct sketch *s, double fraction, double expected)
{
	double value;

	assert_true(s->n > 0);
	value = sketch_quantile(s, fraction);
	if (fabs(value - expected) > ERROR * fabs(expected) + 1e-12)
		fail_msg("%g: %g, expected %g", fraction, value, expected);
}

static void test_sketch_quantiles_within_the_error(void **state)
{
	static struct sketch all;
	struct sketch *s = &all;

	(void)state;
	for (int i = 1; i <= 1000; i++)
		add(s, i * 0.1, 1);
	near(s, 0, 0.1);
	near(s, 0.5, 50);
	near(s, 0.95, 95);
	near(s, 1, 100);
}

static void test_sketch_signs_and_zeros(void **state)
{
	static struct sketch all;
	struct sketch *s = &all;
	json_t *zeros = json_pack("{s:f, s:i}", "a", ERROR, "z", 2);

	(void)state;
	add(s, -4, 2);
	add(s, -2, 1);
	assert_int_equal(wire_sketch_add(s, zeros), 0);
	add(s, 8, 2);
	near(s, 0, -4);
	near(s, 2.0 / 6, -2);
	near(s, 0.4, -1.2); /* between -2 and 0 */
	near(s, 0.5, 0);
	near(s, 1, 8);
	json_decref(zeros);
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
		"{\"a\":0.02,\"z\":1}", /* another relative error than ours */
		"{\"a\":0.01,\"z\":1.5}",
		"{\"a\":0.01,\"z\":4294967296}",
		"{\"a\":0.01,\"p\":{}}",
		"{\"a\":0.01,\"p\":[[1,1],[1038,1]]}",
		"{\"a\":0.01,\"n\":[[-692,1]]}",
		"{\"a\":0.01,\"n\":[[1,4294967296]]}",
		"{\"a\":0.01,\"n\":[[1,1,1]]}",
		"{\"a\":0.01,\"z\":1,\"p\":[[1,1]],\"n\":[1]}",
		"[]",
	};
	static struct sketch all, before;
	struct sketch *s = &all;

	(void)state;
	add(s, 1, 1);
	before = *s;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *encoded = json_loads(bad[i], 0, NULL);

		assert_non_null(encoded);
		assert_int_equal(wire_sketch_add(s, encoded), -EINVAL);
		json_decref(encoded);
	}
	assert_int_equal(wire_sketch_add(s, NULL), -EINVAL);
	assert_memory_equal(s, &before, sizeof(before));
	near(s, 0.5, 1);
}

static void test_sketch_encoded_and_added_is_the_same(void **state)
{
	static struct sketch from, to;
	json_t *encoded;

	(void)state;
	for (int i = -100; i <= 1000; i++)
		sketch_add(&from, i * 0.25);
	encoded = wire_sketch_encode(&from);
	assert_non_null(encoded);
	assert_int_equal(wire_sketch_add(&to, encoded), 0);
	assert_memory_equal(&to, &from, sizeof(from));
	json_decref(encoded);

	encoded = wire_sketch_encode(&(struct sketch){0});
	assert_non_null(encoded);
	assert_int_equal(wire_sketch_add(&to, encoded), 0);
	assert_memory_equal(&to, &from, sizeof(from));
	json_decref(encoded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sketch_quantiles_within_the_error),
		cmocka_unit_test(test_sketch_signs_and_zeros),
		cmocka_unit_test(test_sketch_refuses),
		cmocka_unit_test(test_sketch_encoded_and_added_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
