#include "control/cli/call/plan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct cli_options base = {
	.command = CLI_CALL,
	.uri = "sip:1002@127.0.0.1:5070",
	.host = "127.0.0.1",
	.port = 5070,
	.transport = "udp",
	.rtp_min = 4000,
	.rtp_max = 4100,
};

static const char *text_at(json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void test_call_without_account(void **state)
{
	char reason[CLI_REASON_BYTES];
	unsigned steps;
	json_t *job;
	json_t *spec;
	json_t *action;

	(void)state;
	assert_int_equal(plan_build(&job, &steps, &base, reason), 0);
	assert_int_equal(steps, 1);
	spec = json_object_get(job, "spec");
	action = json_array_get(
		json_array_get(json_object_get(spec, "steps"), 0), 0);
	assert_string_equal(text_at(action, "type"), "call");
	assert_string_equal(text_at(action, "dial_destination"), base.uri);
	assert_null(json_object_get(action, "credentials"));
	assert_string_equal(text_at(spec, "record"), "none");
	/* The source address that the kernel chooses towards loopback. */
	assert_string_equal(text_at(json_object_get(job, "engine"), "bind"),
			    "127.0.0.1");
	json_decref(job);
}

static void test_register_first(void **state)
{
	struct cli_options o = base;
	char reason[CLI_REASON_BYTES];
	unsigned steps;
	json_t *job;
	json_t *list;

	(void)state;
	o.registers = true;
	strcpy(o.user, "1001");
	strcpy(o.password, "p");
	assert_int_equal(plan_build(&job, &steps, &o, reason), 0);
	assert_int_equal(steps, 2);
	json_decref(job);
	o.command = CLI_ANSWER;
	o.uri = NULL;
	assert_int_equal(plan_build(&job, &steps, &o, reason), 0);
	assert_int_equal(steps, 1);
	list = json_array_get(
		json_object_get(json_object_get(job, "spec"), "steps"), 0);
	assert_string_equal(text_at(json_array_get(list, 0), "type"),
			    "register");
	assert_string_equal(text_at(json_array_get(list, 1), "type"), "answer");
	json_decref(job);
}

static void test_what_an_engine_would_refuse(void **state)
{
	struct cli_options o = base;
	char reason[CLI_REASON_BYTES];
	unsigned steps;
	json_t *job;

	(void)state;
	o.duration = "soon";
	assert_int_equal(plan_build(&job, &steps, &o, reason), -EINVAL);
	assert_int_equal(strncmp(reason, "--duration: must be seconds", 27), 0);
	o = base;
	o.actions = "[[\"mute\",\"now\"]]";
	assert_int_equal(plan_build(&job, &steps, &o, reason), -EINVAL);
	assert_string_equal(reason, "--actions/0/1: mute takes no argument");
	o.actions = "[[\"play\",\"../secret.wav\"]]";
	assert_int_equal(plan_build(&job, &steps, &o, reason), -EINVAL);
	assert_non_null(strstr(reason, "play needs the name of a prompt"));
	o = base;
	o.prompt = "/nonexistent/prompt.wav";
	assert_int_equal(plan_build(&job, &steps, &o, reason), -EINVAL);
	assert_string_equal(
		reason,
		"--prompt /nonexistent/prompt.wav: No such file or directory");
	o = base;
	o.codecs[o.codec_count++] = "G729";
	assert_int_equal(plan_build(&job, &steps, &o, reason), -EINVAL);
	assert_int_equal(strncmp(reason, "--codec: there is no codec", 26), 0);
	assert_non_null(strstr(reason, "G722"));
	o = base;
	o.nat = "turn";
	assert_int_equal(plan_build(&job, &steps, &o, reason), -EINVAL);
	assert_string_equal(reason,
			    "--turn-server: is missing: turn needs a server");
}

/* The options for RFC 3262 and RFC 4028 apply to both sides of a call. */
static void test_extensions(void **state)
{
	struct cli_options o = base;
	char reason[CLI_REASON_BYTES];
	unsigned steps;
	json_t *job;
	json_t *action;

	(void)state;
	o.reliable = "required";
	o.session_timer_s = 1800;
	o.session_refresher = "uas";
	for (int i = 0; i < 2; i++) {
		o.command = i == 0 ? CLI_CALL : CLI_ANSWER;
		o.uri = i == 0 ? base.uri : NULL;
		assert_int_equal(plan_build(&job, &steps, &o, reason), 0);
		action = json_array_get(
			json_array_get(
				json_object_get(json_object_get(job, "spec"),
						"steps"),
				0),
			0);
		assert_string_equal(text_at(action, "prack"), "required");
		assert_int_equal(json_integer_value(json_object_get(
					 action, "session_timer")),
				 1800);
		assert_string_equal(text_at(action, "session_refresher"),
				    "uas");
		json_decref(job);
	}
}

/* A host name may have SRV records only: the engine resolves it. */
static void test_name_without_address(void **state)
{
	struct cli_options o = base;
	char reason[CLI_REASON_BYTES];
	unsigned steps;
	json_t *job;
	int err;

	(void)state;
	strcpy(o.host, "no-such-name.invalid");
	err = plan_build(&job, &steps, &o, reason);
	if (err) /* this machine has no route except loopback */
		assert_int_equal(err, -EHOSTUNREACH);
	else
		json_decref(job);
	o.bind = "127.0.0.1";
	assert_int_equal(plan_build(&job, &steps, &o, reason), 0);
	json_decref(job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call_without_account),
		cmocka_unit_test(test_register_first),
		cmocka_unit_test(test_what_an_engine_would_refuse),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_name_without_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
