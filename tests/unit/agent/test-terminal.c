/* The lines of `offhook-agent --verbose`. */
#include "agent/supervisor/terminal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* glibc: stdout is a variable */
static char *shown(const char *json)
{
	json_t *message = json_loads(json, 0, NULL);
	FILE *terminal = stdout;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(message);
	assert_non_null(out);
	stdout = out;
	terminal_show("caller", message);
	stdout = terminal;
	assert_int_equal(fclose(out), 0);
	json_decref(message);
	return text;
}

/* Each line begins with its time and the role. */
static void assert_shows(const char *json, const char *expected)
{
	char *text = shown(json);
	const size_t time_bytes = strlen("2026-11-28 08:00:00.250 ");

	assert_true(strlen(text) > time_bytes);
	assert_string_equal(text + time_bytes, expected);
	free(text);
}

static void the_time_is_that_of_the_event(void **state)
{
	char *text = shown("{\"events\": [{\"kind\": \"state\", \"t\": "
			   "1795852800250999, \"account\": \"1001\", "
			   "\"state\": \"REGISTERED\"}]}");

	(void)state;
	assert_string_equal(text, "2026-11-28 08:00:00.250 caller: 1001 "
				  "REGISTERED\n");
	free(text);
}

static void states(void **state)
{
	(void)state;
	assert_shows("{\"events\": [{\"kind\": \"state\", \"t\": 1, "
		     "\"account\": \"1001\", \"state\": \"CALL_HOLD\", "
		     "\"call\": \"caller-1\", \"text\": \"remote\"}]}",
		     "caller: 1001 CALL_HOLD caller-1: remote\n");
	assert_shows("{\"events\": [{\"kind\": \"dtmf\", \"digit\": \"#\", "
		     "\"direction\": \"in\"}]}",
		     "caller: digit # received\n");
	assert_shows("{\"events\": [{\"kind\": \"flaw\", \"text\": \"late\"}]}",
		     "caller: flaw: late\n");
}

static void registrations(void **state)
{
	(void)state;
	assert_shows("{\"events\": [{\"kind\": \"register\", \"account\": "
		     "\"1001\", \"code\": 403, \"reason\": \"Forbidden\", "
		     "\"ms\": 12.4}]}",
		     "caller: register 1001: 403 Forbidden after 12 ms\n");
	assert_shows("{\"events\": [{\"kind\": \"register\", \"account\": "
		     "\"1001\", \"ms\": 32000}]}",
		     "caller: register 1001: no answer after 32000 ms\n");
}

/* What is not known is a dash, never zero. */
static void an_unknown_figure_is_a_dash(void **state)
{
	char *text = shown("{\"events\": [{\"kind\": \"call\", \"call\": "
			   "\"caller-1\", \"account\": \"1001\", "
			   "\"direction\": \"out\", \"peer\": \"sip:2@h\", "
			   "\"end\": \"failed\", \"code\": 0, \"reason\": "
			   "\"no answer\", \"streams\": [{\"dir\": \"in\", "
			   "\"codec\": \"PCMU\", \"packets\": 100, \"lost\": "
			   "-1, \"jitter_ms\": {}}]}]}");

	(void)state;
	assert_non_null(strstr(text,
			       " caller: call caller-1 1001 to sip:2@h ended "
			       "(failed): no answer, set up in - ms, lasted - "
			       "ms\n"));
	assert_non_null(strstr(text, " caller:   in PCMU: 100 packets, -1 lost "
				     "(- %), jitter - ms, MOS -\n"));
	free(text);
}

static void series(void **state)
{
	(void)state;
	assert_shows("{\"series\": [{\"measure\": \"rtp_jitter\", \"dir\": "
		     "\"in\", \"t\": 1795852800, \"avg\": 1.25, \"min\": 0, "
		     "\"max\": 3, \"n\": 5}]}",
		     "caller: rtp_jitter in: 1.250 (0.000 to 3.000, of 5)\n");
}

/* The first line alone: a further one may have the answer to a challenge. */
static void of_a_sip_message_the_first_line(void **state)
{
	(void)state;
	assert_shows("{\"messages\": [{\"dir\": \"sent\", \"transport\": "
		     "\"udp\", \"peer\": \"192.0.2.1:5060\", \"data\": "
		     "\"REGISTER sip:h SIP/2.0\\r\\nAuthorization: Digest "
		     "response=1\\r\\n\\r\\n\"}]}",
		     "caller: -> udp 192.0.2.1:5060: REGISTER sip:h SIP/2.0\n");
	assert_shows("{\"messages\": [{\"dir\": \"received\", \"transport\": "
		     "\"udp\", \"peer\": \"192.0.2.1:5060\", \"encoding\": "
		     "\"base64\", \"data\": \"UkVH\"}]}",
		     "caller: <- udp 192.0.2.1:5060: (not UTF-8)\n");
}

/* What a peer sent must not move the cursor, change the title or forge a line. */
static void control_characters_do_not_reach_the_terminal(void **state)
{
	(void)state;
	assert_shows("{\"events\": [{\"kind\": \"assert\", \"text\": "
		     "\"a\\u001b[2J\\u009b2J\\nb\\u007f\\u00e4\"}]}",
		     "caller: assert: a?[2J??2J?b?\xc3\xa4\n");
}

static void a_long_line_is_cut(void **state)
{
	char json[5000], *text;
	int len = snprintf(json, sizeof(json),
			   "{\"type\": \"finish\", "
			   "\"outcome\": \"failed\", "
			   "\"reason\": \"");

	(void)state;
	memset(json + len, 'x', 4000);
	memcpy(json + len + 4000, "\"}", 3);
	text = shown(json);
	assert_in_range(strlen(text), 1000, 1100);
	assert_int_equal(text[strlen(text) - 1], '\n');
	free(text);
}

static void a_message_of_another_kind_shows_nothing(void **state)
{
	char *text = shown("{\"type\": \"ready\", \"events\": [{\"kind\": "
			   "\"path\"}]}");

	(void)state;
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_is_that_of_the_event),
		cmocka_unit_test(states),
		cmocka_unit_test(registrations),
		cmocka_unit_test(an_unknown_figure_is_a_dash),
		cmocka_unit_test(series),
		cmocka_unit_test(of_a_sip_message_the_first_line),
		cmocka_unit_test(control_characters_do_not_reach_the_terminal),
		cmocka_unit_test(a_long_line_is_cut),
		cmocka_unit_test(a_message_of_another_kind_shows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
