#include "control/wire/point.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_point_there_and_back(void **state)
{
	const struct wire_point point = {
		.role = "callee",
		.outgoing = true,
		.measure = MEASURE_rtp_jitter,
		.t_s = 1700000010,
		.d = {.n = 3,
		      .min = -1.5,
		      .max = 1.0 / 3,
		      .avg = 0.1,
		      .median = 0.2,
		      .p75 = 0.25,
		      .p90 = 0.3,
		      .p95 = 0.31,
		      .stddev = 0.7},
	};
	char reason[WIRE_REASON_BYTES];
	struct wire_point got;
	json_t *object = wire_point_encode(&point);

	(void)state;
	assert_non_null(object);
	assert_int_equal(wire_point_decode(&got, object, reason), 0);
	assert_string_equal(got.role, "callee");
	assert_true(got.outgoing);
	assert_int_equal(got.measure, MEASURE_rtp_jitter);
	assert_int_equal(got.t_s, 1700000010);
	assert_int_equal(got.d.n, 3);
	assert_true(got.d.min == -1.5 && got.d.max == 1.0 / 3);
	assert_true(got.d.p90 == 0.3 && got.d.stddev == 0.7);
	assert_null(got.sketch);
	json_decref(object);
}

static void test_point_refusals(void **state)
{
	static const char *const good =
		"{\"role\":\"a\",\"dir\":\"in\",\"measure\":\"rtp_mos\",\"t\":10,"
		"\"n\":1,\"min\":1,\"max\":1,\"avg\":1,\"median\":1,\"p75\":1,"
		"\"p90\":1,\"p95\":1,\"stddev\":0}";
	static const struct {
		const char *name;
		const char *value; /* NULL: the member is removed */
	} cases[] = {
		{"role", NULL},       {"role", "1"},   {"dir", "\"up\""},
		{"measure", "\"x\""}, {"t", "-10"},    {"t", "1.5"},
		{"n", "0"},           {"n", NULL},     {"p95", NULL},
		{"avg", "\"1\""},     {"sketch", "3"},
	};
	char reason[WIRE_REASON_BYTES];
	struct wire_point got;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *object = json_loads(good, 0, NULL);

		assert_int_equal(wire_point_decode(&got, object, reason), 0);
		if (cases[i].value)
			json_object_set_new(object, cases[i].name,
					    json_loads(cases[i].value,
						       JSON_DECODE_ANY, NULL));
		else
			json_object_del(object, cases[i].name);
		assert_int_equal(wire_point_decode(&got, object, reason),
				 -EINVAL);
		json_decref(object);
	}
}

static void test_measure_names(void **state)
{
	enum measure m;

	(void)state;
	for (int i = 0; i < MEASURE_COUNT; i++) {
		assert_true(measure_parse(measure_name((enum measure)i), &m));
		assert_int_equal(m, i);
	}
	assert_string_equal(measure_unit(MEASURE_rtp_rtt), "ms");
	assert_false(measure_parse("rtp", &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_point_there_and_back),
		cmocka_unit_test(test_point_refusals),
		cmocka_unit_test(test_measure_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
