/* DTMF digits in calls between engine processes. */
#include "pair.h"

#include <stdio.h>
#include <string.h>

/** The dtmf events as text: "in 1 rtpevent 100, out 2 info 80, ...". */
static void digits_of(const struct process *p, char *dst, size_t size)
{
	json_t *e;

	dst[0] = '\0';
	for (int i = 0; (e = event(p, "dtmf", NULL, i)); i++) {
		size_t used = strlen(dst);

		snprintf(dst + used, size - used, "%s %s %s %.0f, ",
			 json_string_value(json_object_get(e, "direction")),
			 json_string_value(json_object_get(e, "digit")),
			 json_string_value(json_object_get(e, "via")),
			 json_number_value(json_object_get(e, "ms")));
	}
}

static void dtmf_both_ways(const char *mode, const char *callee_heard,
			   const char *caller_heard)
{
	struct pair pair;
	char actions[512];
	char text[512];
	json_t *call;

	snprintf(
		actions, sizeof(actions),
		",\"dtmf_mode\":\"%s\",\"sipclient_actions\":[[\"assert_dtmf\","
		"\"1#\"],[\"dtmf\",\"D* 60 40\"]]",
		mode);
	snprintf(text, sizeof(text),
		 ",\"call_duration\":20,\"dtmf_mode\":\"%s\","
		 "\"sipclient_actions\":[[\"dtmf\",\"1# 110\"],"
		 "[\"assert_dtmf\",\"d*\"],[\"wait\",\"500\"],[\"hangup\"]]",
		 mode);
	pair_start(&pair, actions, text);
	pair_end(&pair);
	assert_null(event(&pair.caller, "assert", NULL, 0));
	assert_null(event(&pair.callee, "assert", NULL, 0));
	digits_of(&pair.callee, text, sizeof(text));
	assert_string_equal(text, callee_heard);
	digits_of(&pair.caller, text, sizeof(text));
	assert_string_equal(text, caller_heard);
	assert_true(has_state(&pair.callee, "CALL_DTMF_START"));
	assert_true(has_state(&pair.callee, "CALL_DTMF_1"));
	assert_true(has_state(&pair.callee, "CALL_DTMF_POUND"));
	assert_true(has_state(&pair.callee, "CALL_DTMF_END"));
	assert_true(has_state(&pair.caller, "CALL_DTMF_D"));
	assert_true(has_state(&pair.caller, "CALL_DTMF_ASTERISK"));
	assert_false(has_state(&pair.caller, "CALL_DTMF_1"));
	call = event(&pair.callee, "call", NULL, 0);
	assert_int_equal(number(stream(call, "in"), "lost"), 0);
	assert_int_equal(number(stream(call, "in"), "duplicates"), 0);
	assert_int_equal(
		number(stream(call, "in"), "packets"),
		number(stream(event(&pair.caller, "call", NULL, 0), "out"),
		       "packets"));
	pair_release(&pair);
}

static void test_dtmf_rtpevent(void **state)
{
	(void)state;
	dtmf_both_ways("rtpevent",
		       "in 1 rtpevent 110, in # rtpevent 110, "
		       "out D rtpevent 60, out * rtpevent 60, ",
		       "out 1 rtpevent 110, out # rtpevent 110, "
		       "in D rtpevent 60, in * rtpevent 60, ");
}

static void test_dtmf_info(void **state)
{
	(void)state;
	dtmf_both_ways("info",
		       "in 1 info 110, in # info 110, "
		       "out D info 60, out * info 60, ",
		       "out 1 info 110, out # info 110, "
		       "in D info 60, in * info 60, ");
	dtmf_both_ways("info-dtmf",
		       "in 1 info 0, in # info 0, "
		       "out D info 0, out * info 0, ",
		       "out 1 info 0, out # info 0, "
		       "in D info 0, in * info 0, ");
}

/* One side did not negotiate telephone-events, so none are sent to it. */
static void test_dtmf_not_agreed(void **state)
{
	struct pair pair;
	json_t *a;

	(void)state;
	pair_start(&pair, ",\"dtmf_mode\":\"info\"",
		   ",\"call_duration\":1,\"sipclient_actions\":[[\"dtmf\","
		   "\"1\"]]");
	pair_end(&pair);
	a = event(&pair.caller, "assert", NULL, 0);
	assert_non_null(a);
	assert_string_equal(json_string_value(json_object_get(a, "text")),
			    "the peer did not agree to telephone-event");
	assert_null(event(&pair.callee, "dtmf", NULL, 0));
	pair_release(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dtmf_rtpevent),
		cmocka_unit_test(test_dtmf_info),
		cmocka_unit_test(test_dtmf_not_agreed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
