/* Calls between engine processes whose media uses ICE. */
#include "pair.h"

#include "control/wire/text.h"

#include <stdio.h>
#include <string.h>

static void check_exact(json_t *from, json_t *to)
{
	json_t *out = stream(from, "out");
	json_t *in = stream(to, "in");

	assert_true(number(in, "packets") > 20);
	assert_int_equal(number(in, "packets"), number(out, "packets"));
	assert_int_equal(number(in, "bytes"), number(out, "bytes"));
	assert_int_equal(number(in, "lost"), 0);
	assert_int_equal(number(in, "duplicates"), 0);
}

/*
 * The path of a call: the local candidate of one side is the remote candidate
 * of the other.
 */
static void check_paths(json_t *caller, json_t *callee, bool mux)
{
	static const char *const names[] = {"rtp", "rtcp"};
	json_t *near = json_object_get(caller, "path");
	json_t *far = json_object_get(callee, "path");

	assert_true(json_is_true(json_object_get(near, "connected")));
	assert_true(json_is_true(json_object_get(far, "connected")));
	for (size_t i = 0; i < 2; i++) {
		json_t *a = json_object_get(near, names[i]);
		json_t *b = json_object_get(far, names[i]);

		if (i == 1 && mux) {
			assert_null(a);
			assert_null(b);
			break;
		}
		assert_string_equal(text_of(a, "local_type"), "host");
		assert_string_equal(text_of(a, "remote_type"), "host");
		assert_string_equal(text_of(a, "local"), text_of(b, "remote"));
		assert_string_equal(text_of(a, "remote"), text_of(b, "local"));
		assert_memory_equal(text_of(a, "local"), "127.0.0.1:", 10);
	}
}

static void check_password_hidden(const struct process *p)
{
	json_t *m;
	size_t i;
	size_t seen = 0;

	json_array_foreach(p->messages, i, m)
	{
		const char *at = strstr(text_of(m, "data"), "a=ice-pwd:");

		if (!at)
			continue;
		seen++;
		assert_int_equal(strspn(at + 10, "*"), 24);
	}
	assert_true(seen >= 2);
}

#define ICE ",\"media_nat\":\"ice\""

/*
 * Full and lite ICE, with RTCP on its own port and multiplexed, encrypted and
 * not. Hold and re-INVITE change nothing.
 */
static void test_nat_ice(void **state)
{
	static const struct {
		const char *answer, *call;
		bool mux, caller_leads;
	} cases[] = {
		{ICE, ICE, false, true},
		{ICE, ICE ",\"rtcp_mux\":true", true, true},
		{ICE ",\"ice_lite\":true", ICE, false, true},
		{ICE, ICE ",\"ice_lite\":true,\"rtcp_mux\":true", true, false},
		{ICE ",\"media_encryption\":\"dtls\"",
		 ICE ",\"media_encryption\":\"dtls\"", true, true},
		/* a handshake on the pair of each component */
		{ICE ",\"media_encryption\":\"dtls\",\"rtcp_mux\":false",
		 ICE ",\"media_encryption\":\"dtls\"", false, true},
		{ICE ",\"media_encryption\":\"sdes\"",
		 ICE ",\"media_encryption\":\"sdes-mandatory\"", false, true},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair pair;
		char call[512];
		json_t *caller, *callee;

		snprintf(call, sizeof(call),
			 "%s,\"call_duration\":20,\"sipclient_actions\":["
			 "[\"assert_state\",\"CALL_RTPESTAB\"],"
			 "[\"wait\",\"500\"],[\"hold\",\"\"],[\"resume\",\"\"],"
			 "[\"reinvite\",\"\"],[\"wait\",\"500\"],"
			 "[\"hangup\",\"\"]]",
			 cases[i].call);
		pair_start(&pair, cases[i].answer, call);
		pair_end(&pair);
		assert_null(event(&pair.caller, "assert", NULL, 0));
		assert_null(event(&pair.callee, "assert", NULL, 0));
		caller = event(&pair.caller, "call", NULL, 0);
		callee = event(&pair.callee, "call", NULL, 0);
		check_exact(caller, callee);
		check_exact(callee, caller);
		check_paths(caller, callee, cases[i].mux);
		assert_string_equal(
			text_of(json_object_get(caller, "path"), "role"),
			cases[i].caller_leads ? "controlling" : "controlled");
		/* reported once: nothing changed later */
		assert_non_null(event(&pair.caller, "path", NULL, 0));
		assert_null(event(&pair.caller, "path", NULL, 1));
		assert_int_equal(
			number(event(&pair.caller, "evidence", NULL, 0),
			       "foreign_packets"),
			0);
		if (strstr(cases[i].call, "dtls"))
			assert_int_equal(
				!event(&pair.caller, "state", "CALL_MENC", 1),
				cases[i].mux);
		check_password_hidden(&pair.caller);
		pair_release(&pair);
	}
}

/* A peer without ICE is called without ICE. */
static void test_nat_alone(void **state)
{
	static const char *const sides[][2] = {{ICE, ""}, {"", ICE}};
	(void)state;

	for (size_t i = 0; i < 2; i++) {
		struct pair pair;
		char call[128];
		json_t *caller, *callee;

		snprintf(call, sizeof(call), "%s,\"call_duration\":1",
			 sides[i][1]);
		pair_start(&pair, sides[i][0], call);
		pair_end(&pair);
		caller = event(&pair.caller, "call", NULL, 0);
		callee = event(&pair.callee, "call", NULL, 0);
		check_exact(caller, callee);
		check_exact(callee, caller);
		assert_null(json_object_get(caller, "path"));
		assert_null(json_object_get(callee, "path"));
		pair_release(&pair);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nat_ice),
		cmocka_unit_test(test_nat_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
