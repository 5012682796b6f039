/*
 * Texts within a job: scripts, headers, durations, servers, destinations,
 * expectations.
 */
#include "control/wire/client_actions.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int check_actions(const char *text, char *reason)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
	const struct wire_client_action *list;
	struct arena arena = {NULL};
	struct decoder d;
	size_t count;
	int err;

	decoder_init(&d, &arena, reason);
	err = client_actions_decode(&d, value, &list, &count);
	arena_release(&arena);
	json_decref(value);
	return err;
}

static int check_headers(const char *text, char *reason)
{
	json_t *value = json_loads(text, 0, NULL);
	const struct wire_header *list;
	struct arena arena = {NULL};
	struct decoder d;
	size_t count;
	int err;

	decoder_init(&d, &arena, reason);
	err = custom_headers_decode(&d, value, &list, &count);
	arena_release(&arena);
	json_decref(value);
	return err;
}

static void test_client_actions(void **state)
{
	static const struct {
		const char *text;
		const char *reason; /* NULL: accepted */
	} cases[] = {
		{"[]", NULL},
		{"[[\"assert_established\",\"\"],[\"hold\",\"\"],[\"wait\",\"5\"],"
		 "[\"resume\",\"\"],[\"hangup\",\"\"]]",
		 NULL},
		{"\"[[\\\"wait\\\",\\\"5\\\"]]\"", NULL},
		{"[[\"assert_state\",\"CALL_RTPESTAB\"]]", NULL},
		{"[[\"assert_established\",\"3000\"]]", NULL},
		{"\"not json\"", "must be a JSON array"},
		{"{}", "must be a JSON array"},
		{"[\"hold\"]", "/0: must be [action, argument]"},
		{"[[\"hold\",\"x\"]]", "/0/1: hold takes no argument"},
		{"[[\"wait\",\"\"]]", "/0/1: wait needs milliseconds"},
		{"[[\"wait\",\"5s\"]]", "/0/1: wait needs milliseconds"},
		{"[[\"wait\",\"1\"],[\"assert_state\",\"HAPPY\"]]",
		 "/1/1: there is no state \"HAPPY\""},
		{"[[\"transfer\",\"1003\"],[\"transfer\",\"sip:x norefersub\"],"
		 "[\"sndcode\",\"183\"],[\"reject\",\"\"],[\"reject\",\"486\"],"
		 "[\"redirect\",\"1003\"],[\"message\",\"hi\"],"
		 "[\"options\",\"\"],[\"reinvite\",\"\"]]",
		 NULL},
		{"[[\"transfer\",\"\"]]", "/0/1: transfer needs a URI"},
		{"[[\"transfer\",\"sip:x twice\"]]",
		 "/0/1: transfer needs a URI"},
		{"[[\"transfer_attended\",\"start sip:x@y\"],"
		 "[\"transfer_attended\",\"exec\"],"
		 "[\"transfer_attended\",\"abort\"]]",
		 NULL},
		{"[[\"transfer_attended\",\"start \"]]",
		 "/0/1: transfer_attended needs start URI"},
		{"[[\"transfer_attended\",\"1003\"]]",
		 "/0/1: transfer_attended needs start URI"},
		{"[[\"sndcode\",\"100\"]]",
		 "/0/1: sndcode needs a code from 101 to 199"},
		{"[[\"reject\",\"302\"]]",
		 "/0/1: reject needs a code from 400 to 699"},
		{"[[\"redirect\",\"\"]]", "/0/1: redirect needs 1 to 8 URIs"},
		{"[[\"redirect\",\"1003, sip:a@b,c@d\"]]", NULL},
		{"[[\"redirect\",\"1003,,1004\"]]",
		 "/0/1: redirect needs 1 to 8 URIs"},
		{"[[\"redirect\",\"1,2,3,4,5,6,7,8,9\"]]",
		 "/0/1: redirect needs 1 to 8 URIs"},
		{"[[\"redirect\",\"<sip:a@b>\"]]",
		 "/0/1: redirect needs 1 to 8 URIs"},
		{"[[\"options\",\"sip:a@b\"]]", NULL},
		{"[[\"options\",\"sip:a b\"]]", "/0/1: options needs a URI"},
		{"[[\"transfer\",\"<sip:x>\"]]", "/0/1: transfer needs a URI"},
		{"[[\"transfer\",\"sip:x@\"]]", "/0/1: transfer needs a URI"},
		{"[[\"update\",\"x\"]]", "/0/1: update takes no argument"},
		{"[[\"dtmf\",\"1x\"]]", "/0/1: dtmf needs digits"},
		{"[[\"dtmf\",\"1 20\"]]", "/0/1: dtmf needs digits"},
		{"[[\"assert_dtmf\",\"\"]]", "/0/1: assert_dtmf needs digits"},
		{"[[\"assert_dtmf\",\"1 x\"]]",
		 "/0/1: assert_dtmf needs digits"},
		{"[[\"assert_audio\",\"\"]]", "/0/1: assert_audio needs sound"},
		{"[[\"assert_audio\",\"noise\"]]",
		 "/0/1: assert_audio needs sound"},
		{"[[\"assert_audio\",\"silence\"]]",
		 "/0/1: assert_audio needs sound"},
		{"[[\"assert_audio\",\"tone 99\"]]",
		 "/0/1: assert_audio needs sound"},
		{"[[\"assert_audio\",\"tone 440 1 2\"]]",
		 "/0/1: assert_audio needs sound"},
		{"[[\"assert_audio\",\"sound  1\"]]",
		 "/0/1: assert_audio needs sound"},
	};
	char reason[WIRE_REASON_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = check_actions(cases[i].text, reason);

		assert_int_equal(err, cases[i].reason ? -EINVAL : 0);
		if (cases[i].reason)
			assert_non_null(strstr(reason, cases[i].reason));
	}
}

static void test_custom_headers(void **state)
{
	static const struct {
		const char *text;
		bool taken;
	} cases[] = {
		{"[[\"X-Test\",\"1\",\"calls\"]]", true},
		{"[[\"X-Test\",\"1\",\"\"],[\"Y\",\"\"]]", true},
		{"[[\"X-Test\"]]", false},
		{"[[\"X Test\",\"1\"]]", false},
		{"[[\"\",\"1\"]]", false},
		{"[[\"X\",\"1\",\"sometimes\"]]", false},
		{"[[\"Via\",\"1\"]]", false},
		{"[[\"X\",\"1\\r\\nY: 2\"]]", false},
	};
	char reason[WIRE_REASON_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(check_headers(cases[i].text, reason),
				 cases[i].taken ? 0 : -EINVAL);
	}
}

static void test_duration(void **state)
{
	static const char *const wrong[] = {
		"",         "abc",          "-1",          "10s",
		"90000",    "uniform:1",    "uniform:5,2", "exponential:",
		"normal:3", "normal:1,2,3", "poisson:3",   "10,20",
	};
	struct wire_duration d = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(wire_duration_parse(wrong[i], &d), -EINVAL);
	assert_int_equal(wire_duration_parse("12.5", &d), 0);
	assert_true(d.kind == WIRE_DURATION_FIXED && d.a_s == 12.5);
	assert_int_equal(wire_duration_parse("uniform:1,3", &d), 0);
	assert_true(d.kind == WIRE_DURATION_UNIFORM && d.b_s == 3);
	assert_int_equal(wire_duration_parse("exponential:30", &d), 0);
	assert_true(d.kind == WIRE_DURATION_EXPONENTIAL && d.a_s == 30);
}

static void test_server(void **state)
{
	static const struct {
		const char *text;
		const char *host;
		uint16_t port;
	} cases[] = {
		{"stun.example", "stun.example", 3478},
		{"192.0.2.1:19302", "192.0.2.1", 19302},
		{"2001:db8::1", "2001:db8::1", 3478},
		{"[2001:db8::1]", "2001:db8::1", 3478},
		{"[2001:db8::1]:5349", "2001:db8::1", 5349},
	};
	char host[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint16_t port = 3478;

		assert_int_equal(wire_server_parse(cases[i].text, host,
						   sizeof(host), &port),
				 0);
		assert_string_equal(host, cases[i].host);
		assert_int_equal(port, cases[i].port);
	}
}

static void test_dial(void **state)
{
	static const char *const users[] = {"1002", "1003"};
	static const struct wire_peer_role peers[] = {{"callee", users, 2},
						      {"B", NULL, 0}};
	const struct wire_job job = {.peers = peers, .peer_count = 2};
	static const struct {
		const char *template;
		unsigned n;
		int err;
		const char *expected;
	} cases[] = {
		{"1002", 0, 0, "1002"},
		{"sip:{{n}}@x", 17, 0, "sip:17@x"},
		{"{{callee.username}}", 0, 0, "1002"},
		{"{{callee.username}}", 3, 0, "1003"},
		{"{{ callee.username }}", 2, 0, "1002"},
		{"{{credential.username}}-{{n}}", 1, 0, "1001-1"},
		{"{{B.username}}", 0, -EINVAL, NULL},
		{"{{D.username}}", 0, -EINVAL, NULL},
		{"{{x}}", 0, -EINVAL, NULL},
		{"{{n", 0, -EINVAL, NULL},
		{"{n}", 0, 0, "{n}"},
		{"123456789012345678901234567890123", 0, -ENAMETOOLONG, NULL},
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int len =
			wire_expand_dial(text, sizeof(text), cases[i].template,
					 &job, cases[i].n, "1001");

		if (cases[i].err) {
			assert_int_equal(len, cases[i].err);
			continue;
		}
		assert_string_equal(text, cases[i].expected);
		assert_int_equal(len, (int)strlen(text));
	}
}

/*
 * The placeholders of call n of an action have the same values before the
 * action starts and when it does.
 */
static void test_fillings(void **state)
{
	static const char *const users[] = {"1002", "1003", "1004"};
	static const struct wire_peer_role peers[] = {{"C", users, 3}};
	static const struct wire_credential own[] = {{.username = "2001"},
						     {.username = "2002"}};
	struct wire_action actions[] = {
		{.type = WIRE_ACTION_REGISTER,
		 .credentials = own,
		 .credential_count = 2},
		{.type = WIRE_ACTION_CALL, .max_total_calls = 100000},
		{.type = WIRE_ACTION_ANSWER},
	};
	struct wire_step step = {.actions = actions, .action_count = 3};
	const struct wire_job job = {
		.peers = peers,
		.peer_count = 1,
		.steps = &step,
		.step_count = 1,
	};
	struct wire_fillings fillings;
	char text[WIRE_ARGUMENT_BYTES];

	(void)state;
	assert_false(wire_argument_is_template("123 {n}"));
	assert_true(wire_argument_is_template("a{{n}}"));
	assert_null(wire_registered_before(&job, &actions[0]));
	assert_ptr_equal(wire_registered_before(&job, &actions[2]),
			 &actions[0]);
	wire_fillings_init(&fillings, &job, &actions[1], &actions[0]);
	assert_int_equal(fillings.count, 1000);
	assert_int_equal(wire_filling(text, &fillings,
				      "{{n}} {{C.username}} "
				      "{{credential.username}}",
				      7),
			 11);
	assert_string_equal(text, "7 1003 2002");
	assert_int_equal(wire_filling(text, &fillings, "{{D.username}}", 0),
			 -EINVAL);
	/* each account answers calls */
	wire_fillings_init(&fillings, &job, &actions[2], &actions[0]);
	assert_int_equal(fillings.count, 2);
	wire_fillings_init(&fillings, &job, &actions[2], NULL);
	assert_int_equal(fillings.count, 1);
	assert_int_equal(fillings.user_count, 0);
}

static void test_audio_that_is_expected(void **state)
{
	struct wire_audio_expect e;

	(void)state;
	assert_int_equal(wire_audio_expect_parse("sound", &e), 0);
	assert_int_equal(e.kind, WIRE_AUDIO_SOUND);
	assert_int_equal(e.wait_ms, 32000);
	assert_int_equal(wire_audio_expect_parse("sound 5", &e), 0);
	assert_int_equal(e.wait_ms, 5);
	assert_int_equal(wire_audio_expect_parse("silence 2000", &e), 0);
	assert_int_equal(e.kind, WIRE_AUDIO_SILENCE);
	assert_int_equal(e.wait_ms, 2000);
	assert_int_equal(wire_audio_expect_parse("tone 440", &e), 0);
	assert_int_equal(e.kind, WIRE_AUDIO_TONE);
	assert_int_equal(e.hz, 440);
	assert_int_equal(e.wait_ms, 32000);
	assert_int_equal(wire_audio_expect_parse("tone 3600 600000", &e), 0);
	assert_int_equal(e.wait_ms, 600000);
	assert_int_equal(wire_audio_expect_parse("tone 3600 600001", &e),
			 -EINVAL);
	assert_int_equal(wire_audio_expect_parse("tones 440", &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client_actions),
		cmocka_unit_test(test_custom_headers),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_server),
		cmocka_unit_test(test_dial),
		cmocka_unit_test(test_fillings),
		cmocka_unit_test(test_audio_that_is_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
