/* A search that is stored: what follows from its parameters and its trials. */
#include "control/capacity/stored_search.h"

#include <errno.h>
#include <math.h>
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

static json_t *params(void)
{
	return parse("{\"unit\":\"concurrent_calls\",\"min\":4,\"max\":64,"
		     "\"width_percent\":10,\"repeats\":2,\"max_trials\":60,"
		     "\"trial_s\":10,\"warm_up_s\":3,\"cool_down_s\":5,"
		     "\"action\":\"1.0\"}");
}

static void add(json_t *trials, double load, const char *outcome)
{
	const char *condition = strcmp(outcome, "failed") == 0 ? "ASR" : "";

	json_array_append_new(
		trials, json_pack("{s:f, s:s, s:s, s:s, s:s}", "load", load,
				  "outcome", outcome, "condition", condition,
				  "sentence", condition, "session_id", "s"));
}

static void test_parameters_are_read(void **unused)
{
	json_t *given = params();
	struct stored_search s;

	(void)unused;
	assert_int_equal(stored_search_load(&s, given, NULL), 0);
	assert_false(s.plan.is_rate);
	assert_int_equal(s.plan.trial_s, 10);
	assert_int_equal(s.plan.warm_up_s, 3);
	assert_int_equal(s.cool_down_s, 5);
	assert_string_equal(s.plan.action, "step.1.0.");
	assert_true(fabs(s.params.width - 0.1) < 1e-9);
	assert_true(fabs(s.params.step - 1) < 1e-9);
	stored_search_release(&s);
	json_decref(given);
}

static void test_parameters_out_of_range_are_refused(void **unused)
{
	static const char *const wrong[] = {
		"{}",
		"{\"min\":4,\"max\":3}",
		"{\"min\":-1,\"max\":3,\"width_percent\":10}",
		("{\"min\":1,\"max\":3,\"width_percent\":10,\"repeats\":-1,"
		 "\"max_trials\":1e300}"),
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		json_t *given = parse(wrong[i]);
		struct stored_search s;

		assert_int_equal(stored_search_load(&s, given, NULL), -EINVAL);
		stored_search_release(&s);
		json_decref(given);
	}
}

/* Whatever a controller died after, the next load is the one that a search which was never
 * interrupted tries. */
static void test_a_search_goes_on_where_it_was(void **unused)
{
	json_t *given = params(), *trials = json_array();
	struct stored_search whole, again;
	struct search_next next, same;
	size_t made = 0;

	(void)unused;
	assert_int_equal(stored_search_load(&whole, given, NULL), 0);
	while (search_next(whole.log.search, &next)) {
		struct trial_verdict v = {.condition = "ASR", .sentence = "x"};
		const bool held = next.load <= 23;

		v.outcome = held ? SEARCH_HELD : SEARCH_FAILED;
		assert_int_equal(stored_search_load(&again, given, trials), 0);
		assert_true(search_next(again.log.search, &same));
		assert_true(fabs(same.load - next.load) < 1e-9);
		assert_int_equal(same.pause, next.pause);
		stored_search_release(&again);
		assert_int_equal(
			trial_log_add(&whole.log, next.load, &v, "s", NULL), 0);
		add(trials, next.load, held ? "held" : "failed");
		made++;
	}
	assert_true(made > 5);
	assert_int_equal(stored_search_load(&again, given, trials), 0);
	assert_false(search_next(again.log.search, &same));
	stored_search_release(&again);
	stored_search_release(&whole);
	json_decref(trials);
	json_decref(given);
}

static void test_what_says_nothing_is_not_learned(void **unused)
{
	json_t *given = params(), *trials = json_array();
	struct stored_search s;
	size_t learned;

	(void)unused;
	add(trials, 4, "void");
	add(trials, 4, "held");
	add(trials, 20, "void");
	add(trials, 20, "void");
	json_array_append_new(trials,
			      json_pack("{s:f, s:n}", "load", 20.0, "outcome"));
	assert_int_equal(stored_search_load(&s, given, trials), 0);
	(void)search_trials(s.log.search, &learned);
	assert_int_equal(learned, 1);
	assert_int_equal(s.voids, 2);
	stored_search_release(&s);
	json_decref(trials);
	json_decref(given);
}

/* The tester was saturated once, and not when the load was tried again. */
static void test_discarded_trials_are_marked(void **unused)
{
	static const bool discarded[] = {false, false, true, false};
	json_t *given = params(), *trials = json_array();
	struct stored_search s;

	(void)unused;
	add(trials, 4, "held");
	add(trials, 16, "void");
	add(trials, 16, "saturated");
	add(trials, 16, "held");
	assert_int_equal(stored_search_load(&s, given, trials), 0);
	assert_int_equal(stored_search_mark(&s, trials), 0);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			json_is_true(json_object_get(json_array_get(trials, i),
						     "discarded")),
			discarded[i]);
	stored_search_release(&s);
	json_decref(trials);
	json_decref(given);
}

static void test_result_and_curve(void **unused)
{
	json_t *given = params(), *trials = json_array(), *result, *curve;
	double last = 1;
	struct stored_search s;

	(void)unused;
	for (int i = 0; i < 4; i++) {
		add(trials, 20, "held");
		add(trials, 21, "failed");
	}
	assert_int_equal(stored_search_load(&s, given, trials), 0);
	result = stored_search_result(&s);
	assert_string_equal(json_string_value(json_object_get(result, "limit")),
			    "target");
	assert_string_equal(
		json_string_value(json_object_get(result, "condition")), "ASR");
	curve = stored_search_curve(&s);
	assert_int_equal(json_array_size(curve), STORED_SEARCH_POINTS + 1);
	for (size_t i = 0; i <= STORED_SEARCH_POINTS; i++) {
		double share = json_number_value(
			json_object_get(json_array_get(curve, i), "share"));

		assert_true(share >= 0 && share <= last + 1e-9);
		last = share;
	}
	json_decref(curve);
	json_decref(result);
	stored_search_release(&s);
	json_decref(trials);
	json_decref(given);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameters_are_read),
		cmocka_unit_test(test_parameters_out_of_range_are_refused),
		cmocka_unit_test(test_a_search_goes_on_where_it_was),
		cmocka_unit_test(test_what_says_nothing_is_not_learned),
		cmocka_unit_test(test_discarded_trials_are_marked),
		cmocka_unit_test(test_result_and_curve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
