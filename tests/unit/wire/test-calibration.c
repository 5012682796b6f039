/* A calibration on the wire: what comes back, what is refused. */
#include "control/wire/calibration.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct wire_calibration complete = {
	.time = "2026-01-02 03:04:05",
	.version = "0.1.0",
	.kernel = "6.1.0",
	.scheduling = "realtime",
	.limited_by = "lateness",
	.processors = 2,
	.duration_s = 60.5,
	.calls = 500,
	.lateness_p99_ms = 1.5,
	.bounds_calls = 250,
	.packets = 750000,
	.lost = 3,
	.jitter_median_ms = 0.01,
	.jitter_max_ms = 0.5,
	.rtt_median_ms = 0.02,
	.rtt_max_ms = 0.25,
	.clock_resolution_ns = 20,
	.clock_step_ms = 0.001,
	.clock_drift_ppm = 12.5,
	.has_jitter_bound = true,
	.jitter_bound_ms = 0.05,
	.has_rtt_bound = true,
	.rtt_bound_ms = 0.04,
	.has_loss_bound = true,
	.loss_bound_pct = 0.0004,
};

/* The complete one with a member replaced; NULL: removed. */
static int decode_with(const char *name, json_t *value,
		       struct wire_calibration *ret, const char **ret_member)
{
	json_t *object = wire_calibration_encode(&complete);
	int err;

	assert_non_null(object);
	assert_non_null(json_object_get(object, name));
	if (value)
		json_object_set_new(object, name, value);
	else
		json_object_del(object, name);
	err = wire_calibration_decode(ret, object, ret_member);
	json_decref(object);
	return err;
}

static void test_calibration_comes_back(void **state)
{
	json_t *object = wire_calibration_encode(&complete), *again;
	struct wire_calibration c;

	(void)state;
	assert_non_null(object);
	assert_int_equal(wire_calibration_decode(&c, object, NULL), 0);
	again = wire_calibration_encode(&c);
	assert_true(json_equal(object, again));
	assert_int_equal(json_object_size(object), 22);
	assert_int_equal(c.lost, 3);
	assert_true(c.jitter_bound_ms > 0.0499 && c.jitter_bound_ms < 0.0501);
	json_decref(again);
	json_decref(object);
}

static void test_calibration_unknown_bound(void **state)
{
	struct wire_calibration c;

	(void)state;
	assert_int_equal(decode_with("jitter_bound_ms", NULL, &c, NULL), 0);
	assert_false(c.has_jitter_bound);
	assert_true(c.has_rtt_bound);
	assert_int_equal(decode_with("rtt_bound_ms", json_null(), &c, NULL), 0);
	assert_false(c.has_rtt_bound);
}

static void refuse(const char *name, json_t *value)
{
	struct wire_calibration c = {.calls = 77};
	const char *member = NULL;

	assert_int_equal(decode_with(name, value, &c, &member), -EINVAL);
	assert_string_equal(member, name);
	assert_int_equal(c.calls, 77);
}

static void test_calibration_refused(void **state)
{
	static const char *const required[] = {"time", "kernel", "calls",
					       "duration_s", "clock_step_ms"};
	char longer[WIRE_CALIBRATION_TEXT_BYTES + 1];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		refuse(required[i], NULL);
	refuse("kernel", json_string(longer));
	refuse("kernel", json_string("a\nb"));
	refuse("kernel", json_string("a\x7f"));
	refuse("kernel", json_stringn("a\0b", 3));
	refuse("version", json_integer(1));
	refuse("calls", json_integer(-1));
	refuse("calls", json_integer(WIRE_CALIBRATION_CALLS_MAX + 1));
	refuse("calls", json_real(5.0));
	refuse("packets", json_integer(-1));
	refuse("jitter_bound_ms", json_real(-0.1));
	refuse("jitter_bound_ms", json_string("0.1"));
	refuse("loss_bound_pct", json_real(100.1));
	refuse("bounds_calls", json_integer(501)); /* more than calls */
}

static void test_calibration_no_object(void **state)
{
	struct wire_calibration c;
	const char *member = "?";
	json_t *array = json_array();

	(void)state;
	assert_int_equal(wire_calibration_decode(&c, NULL, &member), -EINVAL);
	assert_string_equal(member, "");
	assert_int_equal(wire_calibration_decode(&c, array, NULL), -EINVAL);
	json_decref(array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calibration_comes_back),
		cmocka_unit_test(test_calibration_unknown_bound),
		cmocka_unit_test(test_calibration_refused),
		cmocka_unit_test(test_calibration_no_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
