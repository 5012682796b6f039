/* What calls between engine processes signal: extensions, redirections. */
#include "pair.h"

#include <stdio.h>
#include <string.h>

/** Messages of a direction that begin so and hold a text. */
static int messages(const struct process *p, const char *dir, const char *start,
		    const char *text)
{
	int count = 0;
	json_t *m;
	size_t i;

	json_array_foreach(p->messages, i, m)
	{
		const char *data =
			json_string_value(json_object_get(m, "data"));

		if (strcmp(json_string_value(json_object_get(m, "dir")), dir) ==
			    0 &&
		    data && strncmp(data, start, strlen(start)) == 0 &&
		    strstr(data, text))
			count++;
	}
	return count;
}

static void test_extensions(void **state)
{
	struct pair pair;

	(void)state;
	pair_start(&pair,
		   ",\"prack\":\"supported\",\"session_timer\":4,"
		   "\"answer_delay\":200",
		   ",\"prack\":\"required\",\"session_timer\":4,"
		   "\"session_refresher\":\"uac\",\"call_duration\":30,"
		   "\"sipclient_actions\":[[\"assert_established\",\"\"],"
		   "[\"update\",\"\"],[\"wait\",\"3000\"],[\"hangup\"]]");
	pair_end(&pair);
	assert_null(event(&pair.caller, "assert", NULL, 0));
	assert_int_equal(messages(&pair.caller, "sent", "INVITE ",
				  "\r\nRequire: 100rel\r\n"),
			 1);
	assert_true(messages(&pair.caller, "received", "SIP/2.0 180 ",
			     "\r\nRequire: 100rel\r\n") >= 1);
	assert_true(messages(&pair.callee, "received", "PRACK ",
			     "\r\nRAck: ") >= 1);
	assert_int_equal(messages(&pair.caller, "sent", "INVITE ",
				  "\r\nSession-Expires: 4;refresher=uac\r\n"),
			 1);
	/* one with an offer by the script, one or more by the timer */
	assert_int_equal(messages(&pair.caller, "sent", "UPDATE ",
				  "\r\nContent-Type: application/sdp\r\n"),
			 1);
	assert_true(messages(&pair.caller, "sent", "UPDATE ", "") >= 2);
	assert_int_equal(messages(&pair.callee, "sent", "UPDATE ", ""), 0);
	pair_release(&pair);
}

static void test_late_offer(void **state)
{
	struct pair pair;
	json_t *call;

	(void)state;
	pair_start(&pair, "", ",\"late_offer\":true,\"call_duration\":1");
	pair_end(&pair);
	call = event(&pair.caller, "call", NULL, 0);
	assert_int_equal(messages(&pair.caller, "sent", "INVITE ", "\r\nv=0"),
			 0);
	assert_int_equal(messages(&pair.caller, "sent", "ACK ", "\r\nv=0"), 1);
	assert_in_range(number(stream(call, "out"), "packets"), 45, 55);
	assert_true(number(stream(call, "in"), "received") >= 40);
	pair_release(&pair);
}

static void test_redirection_is_followed(void **state)
{
	struct pair pair;

	(void)state;
	pair_start(&pair, ",\"answer_code\":302,\"answer_contact\":\"1003\"",
		   "");
	pair_end(&pair);
	assert_int_equal(messages(&pair.caller, "sent", "INVITE sip:1002@", ""),
			 1);
	assert_int_equal(messages(&pair.caller, "sent", "INVITE sip:1003@", ""),
			 1);
	assert_true(has_state(&pair.caller, "CALL_REDIRECT"));
	/* the callee has no such user */
	assert_int_equal(number(event(&pair.caller, "call", NULL, 0), "code"),
			 404);
	pair_release(&pair);
}

static void test_ring_timeout(void **state)
{
	struct pair pair;
	json_t *call;

	(void)state;
	pair_start(&pair, ",\"ring_only\":true", ",\"ring_timeout\":1");
	pair_end(&pair);
	call = event(&pair.caller, "call", NULL, 0);
	assert_string_equal(json_string_value(json_object_get(call, "end")),
			    "failed");
	assert_string_equal(json_string_value(json_object_get(call, "reason")),
			    "no final answer within 1 s");
	assert_string_equal(
		json_string_value(json_object_get(
			event(&pair.callee, "call", NULL, 0), "end")),
		"cancelled");
	pair_release(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_late_offer),
		cmocka_unit_test(test_redirection_is_followed),
		cmocka_unit_test(test_ring_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
