/* A trial of a capacity search: what it overrides, and what its run says. */
#include "control/capacity/trial.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static json_t *parse(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);

	assert_non_null(value);
	return value;
}

static void test_action_is_the_only_call(void **unused)
{
	json_t *steps =
		parse("[[{\"type\":\"register\"},{\"type\":\"answer\"}],"
		      "[{\"type\":\"register\"},{\"type\":\"call\"}]]");
	char path[TRIAL_PATH_BYTES];

	(void)unused;
	assert_int_equal(trial_find_action(steps, NULL, path), 0);
	assert_string_equal(path, "step.1.1.");
	assert_int_equal(trial_find_action(steps, "1.1", path), 0);
	assert_int_equal(trial_find_action(steps, "1.0", path), -EINVAL);
	assert_int_equal(trial_find_action(steps, "2.0", path), -EINVAL);
	json_decref(steps);
}

static void test_action_of_several(void **unused)
{
	json_t *steps = parse("[[{\"type\":\"call\"}],[{\"type\":\"call\"}]]");
	json_t *none = parse("[[{\"type\":\"answer\"}]]");
	char path[TRIAL_PATH_BYTES];

	(void)unused;
	assert_int_equal(trial_find_action(steps, NULL, path), -EEXIST);
	assert_int_equal(trial_find_action(steps, "1.0", path), 0);
	assert_string_equal(path, "step.1.0.");
	assert_int_equal(trial_find_action(none, NULL, path), -ENOENT);
	assert_int_equal(trial_find_action(NULL, NULL, path), -ENOENT);
	json_decref(steps);
	json_decref(none);
}

/* The overrides as a text, and no others. */
static void check_overrides(const struct trial_plan *plan, double load,
			    const char *expected)
{
	json_t *fields = trial_overrides(plan, load), *wanted = parse(expected);

	assert_true(json_equal(fields, wanted));
	json_decref(fields);
	json_decref(wanted);
}

static void test_overrides_of_a_rate(void **unused)
{
	const struct trial_plan plan = {.is_rate = true,
					.trial_s = 10,
					.warm_up_s = 4,
					.action = "step.1.0."};

	(void)unused;
	/* 12.5 a second for 10 s, and half of that in the ramp of 4 s */
	check_overrides(&plan, 12.5,
			"{\"step.1.0.max_total_calls\":\"150\","
			"\"step.1.0.max_concurrent_calls\":\"150\","
			"\"step.1.0.calls_per_second\":\"12.5\","
			"\"step.1.0.ramp_up\":\"4\","
			"\"retries_on_failure\":\"0\","
			"\"callback_on_failure\":\"0\"}");
	assert_true(trial_calls(&plan, 0.001) == 1);
	check_overrides(&plan, 1000,
			"{\"step.1.0.max_total_calls\":\"12000\","
			"\"step.1.0.max_concurrent_calls\":\"10000\","
			"\"step.1.0.calls_per_second\":\"1000\","
			"\"step.1.0.ramp_up\":\"4\","
			"\"retries_on_failure\":\"0\","
			"\"callback_on_failure\":\"0\"}");
}

static void test_overrides_of_calls_at_a_time(void **unused)
{
	struct trial_plan plan = {
		.trial_s = 10, .warm_up_s = 4, .action = "step.0.2."};

	(void)unused;
	check_overrides(&plan, 30,
			"{\"step.0.2.max_total_calls\":\"30\","
			"\"step.0.2.max_concurrent_calls\":\"30\","
			"\"step.0.2.calls_per_second\":\"7.5\","
			"\"step.0.2.ramp_up\":\"0\","
			"\"step.0.2.call_duration\":\"14\","
			"\"retries_on_failure\":\"0\","
			"\"callback_on_failure\":\"0\"}");
	plan.warm_up_s = 0;
	check_overrides(&plan, 30,
			"{\"step.0.2.max_total_calls\":\"30\","
			"\"step.0.2.max_concurrent_calls\":\"30\","
			"\"step.0.2.calls_per_second\":\"1000\","
			"\"step.0.2.ramp_up\":\"0\","
			"\"step.0.2.call_duration\":\"10\","
			"\"retries_on_failure\":\"0\","
			"\"callback_on_failure\":\"0\"}");
}

static void check_verdict(const char *run, int ret, enum search_outcome outcome,
			  const char *condition, const char *sentence)
{
	json_t *value = parse(run);
	struct trial_verdict v;

	assert_int_equal(trial_judge(value, &v), ret);
	if (ret == 0) {
		assert_int_equal(v.outcome, outcome);
		assert_string_equal(v.condition, condition);
		assert_string_equal(v.sentence, sentence);
	}
	json_decref(value);
}

static void test_verdict_of_a_run_that_passed(void **unused)
{
	(void)unused;
	check_verdict("{\"status\":\"passed\",\"verdicts\":[]}", 0, SEARCH_HELD,
		      "", "");
}

static void test_verdict_names_the_condition_of_the_test(void **unused)
{
	(void)unused;
	check_verdict(
		"{\"status\":\"failed\",\"verdicts\":["
		"{\"text\":\"a\",\"passed\":true},"
		"{\"text\":\"b\",\"passed\":false,\"built_in\":true,"
		"\"sentence\":\"not b\"},"
		"{\"text\":\"c\",\"passed\":false,\"undecided\":true,"
		"\"sentence\":\"too few\"},"
		"{\"text\":\"d\",\"passed\":false,\"sentence\":\"not d\"}]}",
		0, SEARCH_FAILED, "d", "not d");
	check_verdict("{\"status\":\"failed\",\"verdicts\":["
		      "{\"text\":\"b\",\"passed\":false,\"built_in\":true,"
		      "\"sentence\":\"not b\"}]}",
		      0, SEARCH_FAILED, "b", "not b");
	check_verdict("{\"status\":\"failed\",\"verdicts\":[],"
		      "\"result_description\":\"it took too long\"}",
		      0, SEARCH_FAILED, "it took too long", "it took too long");
}

static void test_verdict_too_few_calls(void **unused)
{
	(void)unused;
	check_verdict("{\"status\":\"errored\","
		      "\"result_description\":\"too few\",\"verdicts\":["
		      "{\"text\":\"c\",\"passed\":false,\"undecided\":true,"
		      "\"sentence\":\"too few\"}]}",
		      0, SEARCH_FAILED, "c", "too few");
}

static void test_verdict_fault_of_the_tester(void **unused)
{
	(void)unused;
	check_verdict(
		"{\"status\":\"errored\",\"result_description\":"
		"\"caller: generator saturated: late\",\"verdicts\":["
		"{\"text\":\"d\",\"passed\":false,\"sentence\":\"not d\"}]}",
		0, SEARCH_SATURATED, "", "caller: generator saturated: late");
	check_verdict("{\"status\":\"errored\",\"result_description\":"
		      "\"caller: the tester itself was at fault: "
		      "receive_queue_drops 3 (x)\",\"verdicts\":[]}",
		      0, SEARCH_SATURATED, "",
		      "caller: the tester itself was at fault: "
		      "receive_queue_drops 3 (x)");
	check_verdict(
		"{\"status\":\"errored\",\"result_description\":"
		"\"role caller: no port of the RTP range is free: 4 calls "
		"are up\",\"verdicts\":[]}",
		0, SEARCH_SATURATED, "",
		"role caller: no port of the RTP range is free: 4 calls "
		"are up");
}

/* A peer's words must not pass for the tester's. */
static void test_verdict_failed_with_the_words_of_saturation(void **unused)
{
	(void)unused;
	check_verdict("{\"status\":\"failed\",\"result_description\":"
		      "\"generator saturated: \",\"verdicts\":["
		      "{\"text\":\"d\",\"passed\":false,\"sentence\":\"s\"}]}",
		      0, SEARCH_FAILED, "d", "s");
}

static void test_verdict_says_nothing(void **unused)
{
	(void)unused;
	check_verdict("{\"status\":\"errored\",\"result_description\":"
		      "\"the agent was lost\",\"verdicts\":[]}",
		      -EAGAIN, SEARCH_HELD, "", "");
	check_verdict("{\"status\":\"stopped\",\"verdicts\":[]}", -EAGAIN,
		      SEARCH_HELD, "", "");
	check_verdict("{\"status\":\"running\"}", -EAGAIN, SEARCH_HELD, "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_action_is_the_only_call),
		cmocka_unit_test(test_action_of_several),
		cmocka_unit_test(test_overrides_of_a_rate),
		cmocka_unit_test(test_overrides_of_calls_at_a_time),
		cmocka_unit_test(test_verdict_of_a_run_that_passed),
		cmocka_unit_test(test_verdict_names_the_condition_of_the_test),
		cmocka_unit_test(test_verdict_too_few_calls),
		cmocka_unit_test(test_verdict_fault_of_the_tester),
		cmocka_unit_test(
			test_verdict_failed_with_the_words_of_saturation),
		cmocka_unit_test(test_verdict_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
