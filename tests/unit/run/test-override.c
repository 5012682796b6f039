#include "control/server/run/override.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define STEPS                                                                                  \
	"[[{\"type\":\"register\",\"role\":\"callee\",\"regexpire\":60},{\"type\":\"answer\"," \
	"\"role\":\"callee\"}],[{\"type\":\"call\",\"role\":\"caller\"}]]"
#define CONDITIONS                                                            \
	"[{\"role\":\"caller\",\"condition_type\":\"caller-mos-conditions\"," \
	"\"conditions\":[{\"type\":\"ge\",\"value\":\"4\"}]},"                \
	"{\"role\":\"callee\",\"condition_type\":\"callee-mos-conditions\","  \
	"\"conditions\":[{\"type\":\"ge\",\"value\":\"3\"}]}]"

struct fixture {
	json_t *steps;
	json_t *conditions;
	json_t *errors;
};

static void apply(struct fixture *f, const char *body)
{
	static const char *const known[] = {"report.mode", NULL};
	json_t *object = json_loads(body, 0, NULL);

	assert_non_null(object);
	f->steps = json_loads(STEPS, 0, NULL);
	f->conditions = json_loads(CONDITIONS, 0, NULL);
	f->errors = json_array();
	assert_int_equal(override_apply(object, known, f->steps, f->conditions,
					f->errors),
			 0);
	json_decref(object);
}

static void release(struct fixture *f)
{
	json_decref(f->steps);
	json_decref(f->conditions);
	json_decref(f->errors);
}

static json_t *action(struct fixture *f, size_t s, size_t a)
{
	return json_array_get(json_array_get(f->steps, s), a);
}

static void test_override_texts_become_types(void **state)
{
	struct fixture f;

	(void)state;
	apply(&f,
	      "{\"step.0.0.regexpire\":\"90\",\"step.1.0.max_total_calls\":"
	      "7,\"step.0.1.ring_only\":\"1\",\"step.1.0.calls_per_second\":"
	      "\"2.5\",\"step.1.0.sipclient_actions\":\"[[\\\"hold\\\","
	      "\\\"\\\"]]\",\"report.mode\":\"full\"}");
	assert_int_equal(json_array_size(f.errors), 0);
	assert_int_equal(json_integer_value(json_object_get(action(&f, 0, 0),
							    "regexpire")),
			 90);
	assert_int_equal(json_integer_value(json_object_get(action(&f, 1, 0),
							    "max_total_calls")),
			 7);
	assert_true(
		json_is_true(json_object_get(action(&f, 0, 1), "ring_only")));
	assert_true(json_is_array(
		json_object_get(action(&f, 1, 0), "sipclient_actions")));
	assert_true(json_real_value(json_object_get(
			    action(&f, 1, 0), "calls_per_second")) == 2.5);
	release(&f);
}

/* null means the default, whatever the test has. */
static void test_override_null_is_left_out(void **state)
{
	struct fixture f;

	(void)state;
	apply(&f, "{\"step.0.0.regexpire\":null,\"step.1.0.prompt\":null,"
		  "\"step.1.0.call_duration\":null}");
	assert_int_equal(json_array_size(f.errors), 0);
	assert_null(json_object_get(action(&f, 0, 0), "regexpire"));
	assert_null(json_object_get(action(&f, 1, 0), "prompt"));
	assert_null(json_object_get(action(&f, 1, 0), "call_duration"));
	release(&f);
}

static const struct {
	const char *body;
	const char *pointer;
	const char *detail;
} wrong[] = {
	{"{\"step.0.0.nothing\":1}", "/step.0.0.nothing", "no parameter"},
	{"{\"step.0.0\":1}", "/step.0.0", "STEP.ACTION.PARAMETER"},
	{"{\"step.-1.0.regexpire\":1}", "/step.-1.0.regexpire", "STEP.ACTION"},
	{"{\"step.0x0.0.regexpire\":1}", "/step.0x0.0.regexpire",
	 "STEP.ACTION"},
	{"{\"step.99999999999.0.regexpire\":1}",
	 "/step.99999999999.0.regexpire", "STEP.ACTION"},
	{"{\"step.2.0.regexpire\":1}", "/step.2.0.regexpire", "no step 2"},
	{"{\"step.0.2.regexpire\":1}", "/step.0.2.regexpire", "no action 2"},
	{"{\"step.0.0.regexpire\":-1}", "/step.0.0.regexpire", "whole number"},
	{"{\"step.0.0.regexpire\":1.5}", "/step.0.0.regexpire", "whole number"},
	{"{\"step.0.0.regexpire\":[]}", "/step.0.0.regexpire", "whole number"},
	{"{\"step.1.0.sipclient_actions\":\"hold\"}",
	 "/step.1.0.sipclient_actions", "JSON array"},
	{"{\"step.1.0.dial_destination\":5}", "/step.1.0.dial_destination",
	 "a string"},
	{"{\"condition.caller\":{}}", "/condition.caller",
	 "condition.ROLE.CONDITION_TYPE"},
	{"{\"condition.caller.caller-mos-conditions\":\"{\"}",
	 "/condition.caller.caller-mos-conditions", "JSON object"},
	{"{\"condition.caller.callee-mos-conditions\":{\"conditions\":[]}}",
	 "/condition.caller.callee-mos-conditions", "does not start with"},
	{"{\"a/b~c\":1}", "/a~1b~0c", "unknown key"},
	{"{\"\":1}", "/", "unknown key"},
	/* the text is cut within a character: the pointer is kept */
	{"{\"x\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\":1}",
	 "/x\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4",
	 "unknown key 'x\xc3\xa4"},
};

static void test_override_wrong_keys_and_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		json_t *steps = json_loads(STEPS, 0, NULL), *error;
		struct fixture f;

		apply(&f, wrong[i].body);
		assert_int_equal(json_array_size(f.errors), 1);
		error = json_array_get(f.errors, 0);
		assert_string_equal(
			json_string_value(json_object_get(error, "pointer")),
			wrong[i].pointer);
		if (!strstr(json_string_value(json_object_get(error, "detail")),
			    wrong[i].detail))
			fail_msg("%s: %s", wrong[i].body,
				 json_string_value(
					 json_object_get(error, "detail")));
		assert_true(json_equal(steps, f.steps));
		json_decref(steps);
		release(&f);
	}
}

static void test_override_reports_every_mistake(void **state)
{
	struct fixture f;

	(void)state;
	apply(&f, "{\"x\":1,\"step.9.0.regexpire\":1,\"y\":2}");
	assert_int_equal(json_array_size(f.errors), 3);
	release(&f);
}

static void test_override_replaces_conditions_of_the_type(void **state)
{
	struct fixture f;
	json_t *set;

	(void)state;
	apply(&f, "{\"condition.caller.caller-mos-conditions\":"
		  "\"{\\\"conditions\\\":[]}\","
		  "\"condition.caller.caller-sipclient-state-conditions\":"
		  "{\"conditions\":[{\"type\":\"has\",\"state\":"
		  "\"CALL_ESTABLISHED\"}],\"options\":[\"strict_order\"]}}");
	assert_int_equal(json_array_size(f.errors), 0);
	assert_int_equal(json_array_size(f.conditions), 3);
	set = json_array_get(f.conditions, 0);
	assert_string_equal(json_string_value(json_object_get(set, "role")),
			    "callee");
	set = json_array_get(f.conditions, 1);
	assert_int_equal(json_array_size(json_object_get(set, "conditions")),
			 0);
	set = json_array_get(f.conditions, 2);
	assert_int_equal(json_array_size(json_object_get(set, "options")), 1);
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_override_texts_become_types),
		cmocka_unit_test(test_override_null_is_left_out),
		cmocka_unit_test(test_override_wrong_keys_and_values),
		cmocka_unit_test(test_override_reports_every_mistake),
		cmocka_unit_test(test_override_replaces_conditions_of_the_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
