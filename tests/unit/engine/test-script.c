#include "agent/engine/call/script.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MS NS_PER_MS

/* What the script did, one word per action. */
struct fake {
	char log[512];
	int hold_err;
};

static void note(struct fake *f, const char *text)
{
	strncat(f->log, text, sizeof(f->log) - strlen(f->log) - 1);
}

static int fake_hold(void *arg)
{
	struct fake *f = arg;

	note(f, "hold ");
	return f->hold_err;
}

static int fake_resume(void *arg)
{
	note(arg, "resume ");
	return 0;
}

static void fake_hangup(void *arg)
{
	note(arg, "hangup ");
}

static void fake_failed(const struct wire_client_action *action,
			const char *text, void *arg)
{
	note(arg, "failed(");
	note(arg, wire_script_action_name(action->type));
	note(arg, ": ");
	note(arg, text);
	note(arg, ") ");
}

static int fake_act(const struct wire_client_action *action, void *arg)
{
	note(arg, wire_script_action_name(action->type));
	note(arg, " ");
	if (action->type == WIRE_SCRIPT_SNDCODE)
		return 0;
	return action->type == WIRE_SCRIPT_REJECT ? -EINVAL : 1;
}

static const struct script_ops ops = {
	.hold = fake_hold,
	.resume = fake_resume,
	.hangup = fake_hangup,
	.act = fake_act,
	.failed = fake_failed,
};

#define BEGIN(...)                                                 \
	const struct wire_client_action actions[] = {__VA_ARGS__}; \
	struct fake f = {.log = ""};                               \
	struct script s;                                           \
                                                                   \
	(void)state;                                               \
	script_init(&s, actions, sizeof(actions) / sizeof(actions[0]), &ops, &f)

static void test_empty(void **state)
{
	struct fake f = {.log = ""};
	struct script s;

	(void)state;
	script_init(&s, NULL, 0, &ops, &f);
	assert_true(script_run(&s, 0) == INT64_MAX);
	script_close(&s);
	assert_string_equal(f.log, "");
}

static void test_hold_wait_resume(void **state)
{
	BEGIN({WIRE_SCRIPT_ASSERT_ESTABLISHED, ""}, {WIRE_SCRIPT_HOLD, ""},
	      {WIRE_SCRIPT_WAIT, "500"}, {WIRE_SCRIPT_RESUME, ""},
	      {WIRE_SCRIPT_WAIT, "100"}, {WIRE_SCRIPT_HANGUP, ""});

	assert_true(script_run(&s, 0) == INT64_MAX);
	script_state(&s, UA_CALL_RINGING);
	assert_true(script_run(&s, 1 * MS) == INT64_MAX);
	script_state(&s, UA_CALL_ESTABLISHED);
	assert_true(script_run(&s, 2 * MS) == INT64_MAX);
	assert_string_equal(f.log, "hold ");
	script_run(&s, 3 * MS); /* not twice */
	assert_string_equal(f.log, "hold ");
	script_reinvite(&s, NULL);
	assert_true(script_run(&s, 10 * MS) == 510 * MS);
	assert_true(script_run(&s, 509 * MS) == 510 * MS);
	assert_string_equal(f.log, "hold ");
	script_run(&s, 510 * MS);
	assert_string_equal(f.log, "hold resume ");
	script_reinvite(&s, NULL);
	assert_true(script_run(&s, 520 * MS) == 620 * MS);
	assert_true(script_run(&s, 620 * MS) == INT64_MAX);
	script_close(&s);
	assert_string_equal(f.log, "hold resume hangup ");
}

static void test_wait_before_established(void **state)
{
	BEGIN({WIRE_SCRIPT_WAIT, "100"},
	      {WIRE_SCRIPT_ASSERT_STATE, "CALL_RINGING"},
	      {WIRE_SCRIPT_ASSERT_ESTABLISHED, ""});

	assert_true(script_run(&s, 0) == 100 * MS);
	script_state(&s, UA_CALL_RINGING);
	script_state(&s, UA_CALL_ESTABLISHED);
	assert_true(script_run(&s, 50 * MS) == 100 * MS);
	assert_true(script_run(&s, 100 * MS) == INT64_MAX);
	assert_true(s.over);
	assert_string_equal(f.log, "");
}

static void test_established_in_time(void **state)
{
	BEGIN({WIRE_SCRIPT_ASSERT_ESTABLISHED, "3000"}, {WIRE_SCRIPT_HOLD, ""});

	assert_true(script_run(&s, 5 * MS) == 3005 * MS);
	assert_true(script_run(&s, 3005 * MS) == INT64_MAX);
	assert_string_equal(f.log,
			    "failed(assert_established: the call was not "
			    "established in time) hangup ");
	script_close(&s);
	assert_null(strstr(f.log, "hold"));
}

static void test_state_not_reached(void **state)
{
	BEGIN({WIRE_SCRIPT_ASSERT_STATE, "CALL_RTPESTAB"},
	      {WIRE_SCRIPT_HOLD, ""});

	assert_true(script_run(&s, 0) == SCRIPT_STATE_WAIT_NS);
	script_run(&s, SCRIPT_STATE_WAIT_NS);
	assert_string_equal(f.log, "failed(assert_state: the call did not "
				   "reach the state within 32 s) ");
	assert_true(s.over);
}

static void test_hold_refused(void **state)
{
	BEGIN({WIRE_SCRIPT_HOLD, ""}, {WIRE_SCRIPT_RESUME, ""});

	script_state(&s, UA_CALL_ESTABLISHED);
	script_run(&s, 0);
	script_reinvite(&s, "was refused: 488 Not Acceptable Here");
	script_run(&s, 1);
	script_close(&s);
	assert_string_equal(
		f.log,
		"hold failed(hold: was refused: 488 Not Acceptable Here) ");
}

static void test_hold_cannot_be_sent(void **state)
{
	BEGIN({WIRE_SCRIPT_HOLD, ""});

	f.hold_err = -EBUSY;
	script_state(&s, UA_CALL_ESTABLISHED);
	script_run(&s, 0);
	assert_non_null(strstr(f.log, "failed(hold: could not be sent"));
}

static void test_acts(void **state)
{
	BEGIN({WIRE_SCRIPT_SNDCODE, "183"}, {WIRE_SCRIPT_MESSAGE, "hi"},
	      {WIRE_SCRIPT_TRANSFER, "1003"}, {WIRE_SCRIPT_OPTIONS, "sip:x"},
	      {WIRE_SCRIPT_REJECT, ""});

	script_run(&s, 0);
	assert_string_equal(f.log, "sndcode ");
	script_state(&s, UA_CALL_ESTABLISHED);
	script_run(&s, 1);
	assert_string_equal(f.log, "sndcode message ");
	script_acted(&s, WIRE_SCRIPT_TRANSFER, NULL); /* acknowledges another
						       * action */
	script_run(&s, 2);
	assert_string_equal(f.log, "sndcode message ");
	script_acted(&s, WIRE_SCRIPT_MESSAGE, NULL);
	script_run(&s, 3);
	script_acted(&s, WIRE_SCRIPT_TRANSFER, NULL);
	script_run(&s, 4);
	script_acted(&s, WIRE_SCRIPT_OPTIONS, NULL);
	script_run(&s, 5);
	assert_string_equal(f.log, "sndcode message transfer options reject "
				   "failed(reject: could not be sent: "
				   "Invalid argument) ");
}

static void test_act_refused(void **state)
{
	BEGIN({WIRE_SCRIPT_TRANSFER, "1003"}, {WIRE_SCRIPT_HANGUP, ""});

	script_state(&s, UA_CALL_ESTABLISHED);
	script_run(&s, 0);
	script_acted(&s, WIRE_SCRIPT_TRANSFER, "was refused: 603 Decline");
	script_close(&s);
	assert_string_equal(
		f.log, "transfer failed(transfer: was refused: 603 Decline) ");
}

static void test_act_not_answered(void **state)
{
	BEGIN({WIRE_SCRIPT_TRANSFER, "1003"});

	script_state(&s, UA_CALL_ESTABLISHED);
	script_run(&s, 0);
	script_close(&s);
	assert_non_null(strstr(f.log, "failed(transfer: the call ended"));
}

/* The end of a call reports the first action that was never carried out. */
static void test_dtmf(void **state)
{
	BEGIN({WIRE_SCRIPT_DTMF, "12 100 100"}, {WIRE_SCRIPT_ASSERT_DTMF, "34"},
	      {WIRE_SCRIPT_ASSERT_DTMF, "4# 50"},
	      {WIRE_SCRIPT_ASSERT_DTMF, "9 50"});

	assert_true(script_run(&s, 0) == INT64_MAX);
	assert_string_equal(f.log, "");
	script_digit(&s, '9'); /* before the first assert: skipped */
	script_state(&s, UA_CALL_ESTABLISHED);
	script_run(&s, 1 * MS);
	assert_string_equal(f.log, "dtmf ");
	script_acted(&s, WIRE_SCRIPT_DTMF, NULL);
	assert_true(script_run(&s, 2 * MS) == 2 * MS + SCRIPT_STATE_WAIT_NS);
	script_digit(&s, '3');
	assert_true(script_run(&s, 3 * MS) == 2 * MS + SCRIPT_STATE_WAIT_NS);
	script_digit(&s, '4');
	/* the 4 was part of the match */
	assert_true(script_run(&s, 4 * MS) == 54 * MS);
	script_digit(&s, '4');
	script_digit(&s, '#');
	assert_true(script_run(&s, 5 * MS) == 55 * MS);
	script_digit(&s, '8');
	script_run(&s, 55 * MS);
	assert_string_equal(f.log,
			    "dtmf failed(assert_dtmf: heard \"8\" in the "
			    "time given) ");
	script_close(&s);
}

static void test_dtmf_many(void **state)
{
	BEGIN({WIRE_SCRIPT_WAIT, "100"}, {WIRE_SCRIPT_ASSERT_DTMF, "00007"});

	script_run(&s, 0);
	for (int i = 0; i < 2 * SCRIPT_DIGITS_MAX; i++)
		script_digit(&s, '0');
	script_digit(&s, '7');
	script_run(&s, 100 * MS);
	script_close(&s);
	assert_string_equal(f.log, "");
}

static void test_close_in_the_middle(void **state)
{
	BEGIN({WIRE_SCRIPT_WAIT, "5000"}, {WIRE_SCRIPT_HOLD, ""},
	      {WIRE_SCRIPT_RESUME, ""});

	script_run(&s, 0);
	script_close(&s);
	assert_string_equal(f.log, "failed(hold: the call ended before it was "
				   "carried out) ");
	assert_true(script_run(&s, 6000 * MS) == INT64_MAX);
}

static void test_close_with_nothing_to_do(void **state)
{
	BEGIN({WIRE_SCRIPT_ASSERT_STATE, "CALL_CLOSED"},
	      {WIRE_SCRIPT_WAIT, "9"}, {WIRE_SCRIPT_HANGUP, ""});

	script_run(&s, 0);
	script_state(&s, UA_CALL_CLOSED);
	script_close(&s);
	assert_string_equal(f.log, "");
}

static void test_close_without_established(void **state)
{
	BEGIN({WIRE_SCRIPT_ASSERT_ESTABLISHED, ""});

	script_run(&s, 0);
	script_close(&s);
	assert_string_equal(f.log, "failed(assert_established: the call ended "
				   "before it was carried out) ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_hold_wait_resume),
		cmocka_unit_test(test_wait_before_established),
		cmocka_unit_test(test_established_in_time),
		cmocka_unit_test(test_state_not_reached),
		cmocka_unit_test(test_hold_refused),
		cmocka_unit_test(test_hold_cannot_be_sent),
		cmocka_unit_test(test_acts),
		cmocka_unit_test(test_act_refused),
		cmocka_unit_test(test_act_not_answered),
		cmocka_unit_test(test_dtmf),
		cmocka_unit_test(test_dtmf_many),
		cmocka_unit_test(test_close_in_the_middle),
		cmocka_unit_test(test_close_with_nothing_to_do),
		cmocka_unit_test(test_close_without_established),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
