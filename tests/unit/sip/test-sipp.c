#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sip/sipp/logs.h"

#define DASHES "-----------------------------------------------"

/* What the handlers were given, one line each. */
static char told[8192];
static size_t told_used;

static void tell(const char *text, size_t len)
{
	assert_true(told_used + len + 2 < sizeof(told));
	memcpy(told + told_used, text, len);
	told_used += len;
	told[told_used++] = '\n';
	told[told_used] = '\0';
}

static void told_reset(void)
{
	told_used = 0;
	told[0] = '\0';
}

static void message(bool sent, bool tcp, const char *data, size_t len,
		    void *arg)
{
	assert_ptr_equal(arg, told);
	tell(sent ? "sent" : "received", sent ? 4 : 8);
	tell(tcp ? "tcp" : "udp", 3);
	tell(data, len);
}

static const char log_of_messages[] =
	DASHES " 2026-11-28 11:15:25.209902\n"
	       "UDP message sent (12 bytes):\n\nINVITE\r\n\r\nv=\n" DASHES
	       " 2026-11-28 11:15:25.210117\n"
	       "TCP message received [37] bytes :\n\n"
	       "SIP/2.0 200\r\n\r\nUDP message sent (3 by\n"
	       "\n" DASHES " 2026-11-28 11:15:25.210118\n"
	       "Unexpected UDP message received:\n\nBYE\r\n\r\n\n" DASHES
	       " 2026-11-28 11:15:26.000000\n"
	       "UDP message sent (3 bytes):\n\nACK\n";

static void test_messages(void **state)
{
	struct sipp_messages m;
	const size_t len = sizeof(log_of_messages) - 1;

	(void)state;
	for (size_t step = 1; step <= len; step++) {
		told_reset();
		sipp_messages_init(&m, message, told);
		for (size_t i = 0; i < len; i += step)
			assert_int_equal(
				sipp_messages_feed(&m, log_of_messages + i,
						   len - i < step ? len - i
								  : step),
				0);
		assert_string_equal(told, "sent\nudp\nINVITE\r\n\r\nv=\n"
					  "received\ntcp\nSIP/2.0 200\r\n\r\n"
					  "UDP message sent (3 by\n"
					  "sent\nudp\nACK\n");
		assert_int_equal(m.left_out, 0);
		sipp_messages_release(&m);
	}
}

static void test_messages_too_long(void **state)
{
	struct sipp_messages m;
	char head[64];
	char *body = calloc(1, SIPP_MESSAGE_MAX + 1);

	(void)state;
	assert_non_null(body);
	memset(body, 'x', SIPP_MESSAGE_MAX);
	for (unsigned more = 0; more < 2; more++) {
		told_reset();
		told_used = 0;
		sipp_messages_init(&m, NULL, told);
		snprintf(head, sizeof(head), "UDP message sent (%u bytes):\n\n",
			 SIPP_MESSAGE_MAX + 1u);
		assert_int_equal(sipp_messages_feed(&m, head, strlen(head)), 0);
		assert_int_equal(sipp_messages_feed(&m, body, SIPP_MESSAGE_MAX),
				 0);
		assert_int_equal(m.left_out, 1);
		assert_true(m.data.used <= SIPP_LINE_MAX);
		m.message_h = message;
		assert_int_equal(
			sipp_messages_feed(
				&m, "\nUDP message sent (1 bytes):\n\nA", 31),
			0);
		assert_string_equal(told, "sent\nudp\nA\n");
		sipp_messages_release(&m);
	}
	free(body);
}

static const char names[] =
	"StartTime;CurrentTime;IncomingCall(P);IncomingCall(C);OutgoingCall(C);"
	"SuccessfulCall(P);SuccessfulCall(C);FailedCall(P);FailedCall(C);"
	"FailedUnexpectedMessage(C);Retransmissions(C);CallLength(C);\n";

static void test_statistics(void **state)
{
	static const char first[] =
		"2026-11-28\t11:15:24.699046\t1795864524.699046;2026-11-28;1;2;"
		"3;4;5;6;7;8;9;00:00:00:836000;\n";
	static const char cut[] = "2026-11-28\t11:15;2026-11-28;9;9;9;9\n";
	struct sipp_statistics s;
	const char *name;

	(void)state;
	for (size_t step = 1; step < 40; step++) {
		char all[sizeof(names) + sizeof(first) + sizeof(cut)];
		size_t len = (size_t)snprintf(all, sizeof(all), "%s%s%s", names,
					      first, cut);

		sipp_statistics_init(&s);
		for (size_t i = 0; i < len; i += step)
			assert_int_equal(sipp_statistics_feed(&s, all + i,
							      len - i < step
								      ? len - i
								      : step),
					 0);
		assert_true(s.known);
		assert_int_equal(s.counters.incoming, 2);
		assert_int_equal(s.counters.outgoing, 3);
		assert_int_equal(s.counters.successful, 5);
		assert_int_equal(s.counters.failed, 7);
		assert_int_equal(s.counters.unexpected_message, 8);
		assert_int_equal(s.counters.retransmissions, 9);
		assert_int_equal(s.counters.warnings, 0);
		assert_int_equal(sipp_counter(&s.counters, 3, &name), 7);
		assert_string_equal(name, "FailedCall");
		sipp_statistics_release(&s);
	}
}

static void test_statistics_without_names(void **state)
{
	struct sipp_statistics s;
	char *line = calloc(1, SIPP_LINE_MAX + 2);

	(void)state;
	assert_non_null(line);
	memset(line, ';', SIPP_LINE_MAX + 1);
	line[SIPP_LINE_MAX + 1] = '\n';
	sipp_statistics_init(&s);
	assert_int_equal(sipp_statistics_feed(&s, "2026-11-28;1;2;3;4;5\n", 21),
			 0);
	assert_false(s.known);
	assert_int_equal(sipp_statistics_feed(&s, line, SIPP_LINE_MAX + 2), 0);
	assert_int_equal(sipp_statistics_feed(&s, names, sizeof(names) - 1), 0);
	assert_int_equal(
		sipp_statistics_feed(
			&s, "a-long-time-ago;b;0;0;0;0;1;0;0;0;0;c;\n", 39),
		0);
	assert_true(s.known);
	assert_int_equal(s.counters.successful, 1);
	sipp_statistics_release(&s);
	free(line);
}

static void sentence(const char *text, void *arg)
{
	assert_ptr_equal(arg, told);
	tell(text, strlen(text));
}

static void test_errors(void **state)
{
	static const char text[] =
		"The following events occurred:\n"
		"2026-11-28\t11:15:24.699046\t1795864524.699046: Aborting call "
		"on unexpected message for Call-Id '1-2@127.0.0.1': while "
		"expecting '200' (index 3), received 'SIP/2.0 404 Not Found\n"
		"Via: SIP/2.0/UDP 127.0.0.1:5998\n\n'.\n"
		"2026-11-28\t11:15:25.000000\t1795864525.000000: a\tb\x01\n"
		"2026-11-28\t11:15:25.000000\t1795864525.000000: \n"
		"2026-11-28 11:15:25.000000 of another shape: no\n"
		"2026-11-28\t11:15:26.000000\t1795864526.000000: 'it', "
		"received 'SIP/2.0 200 OK\n\n"
		"'2026-11-28\t11:15:27.000000\t1795864527.000000: behind "
		"a header, received 'SIP/2.0 200 OK\n\na=b"
		"'2026-11-28\t11:15:28.000000\t1795864528.000000: behind "
		"a body\n";
	struct sipp_errors e;

	(void)state;
	for (size_t step = 1; step < sizeof(text); step++) {
		told_reset();
		sipp_errors_init(&e, sentence, told);
		for (size_t i = 0; i < sizeof(text) - 1; i += step)
			assert_int_equal(
				sipp_errors_feed(&e, text + i,
						 sizeof(text) - 1 - i < step
							 ? sizeof(text) - 1 - i
							 : step),
				0);
		assert_string_equal(
			told,
			"Aborting call on unexpected message for Call-Id "
			"'1-2@127.0.0.1': while expecting '200' (index 3), "
			"received 'SIP/2.0 404 Not Found\na b \n"
			"'it', received 'SIP/2.0 200 OK\n"
			"behind a header, received 'SIP/2.0 200 OK\n"
			"behind a body\n");
		sipp_errors_release(&e);
	}
}

static size_t command_line(const char *xml)
{
	return sipp_scenario_command(xml, strlen(xml));
}

static void test_scenario_command(void **state)
{
	(void)state;
	assert_int_equal(command_line(""), 0);
	assert_int_equal(command_line("<scenario><exec int_cmd=\"stop_now\"/>"
				      "<exec rtp_stream=\"command.wav\"/>"
				      "<!-- a command of ours -->"),
			 0);
	assert_int_equal(command_line("<log message=\"command=1\"/>\n<exec "
				      "play_pcap_audio=\"a.pcap\"/>"),
			 0);
	assert_int_equal(command_line("<exec command=\"id\"/>"), 1);
	assert_int_equal(command_line("<a>\n<exec\n command\t\r\n = 'id'/>"),
			 3);
	assert_int_equal(command_line("<exec int_cmd='x<y>' command='id'>"), 1);
	assert_int_equal(command_line("<exec command"), 0);
	assert_int_equal(command_line("<exec command="), 1);
	/* an octet of zero ends nothing */
	assert_int_equal(sipp_scenario_command("\0<exec command=x", 16), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_messages_too_long),
		cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_statistics_without_names),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_scenario_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
