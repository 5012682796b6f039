#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sip/baresip/event.h"
#include "sip/baresip/internal.h"
#include "sip/baresip/netstring.h"
#include "sip/baresip/trace.h"

static void test_netstrings(void **state)
{
	size_t at = 77;
	size_t len = 77;

	(void)state;
	assert_int_equal(netstring_find("5:hello,3:abc,", 14, &at, &len), 0);
	assert_int_equal(at, 2);
	assert_int_equal(len, 5);
	assert_int_equal(netstring_find("0:,", 3, &at, &len), 0);
	assert_int_equal(len, 0);
	for (size_t n = 0; n < 8; n++)
		assert_int_equal(netstring_find("5:hello,", n, &at, &len),
				 -EAGAIN);
	assert_int_equal(netstring_find("5:hellox", 8, &at, &len), -EBADMSG);
	assert_int_equal(netstring_find(":x,", 3, &at, &len), -EBADMSG);
	assert_int_equal(netstring_find("x", 1, &at, &len), -EBADMSG);
	assert_int_equal(netstring_find("-1:x,", 5, &at, &len), -EBADMSG);
	assert_int_equal(netstring_find("65537:", 6, &at, &len), -EMSGSIZE);
	assert_int_equal(netstring_find("65536:", 6, &at, &len), -EAGAIN);
	assert_int_equal(netstring_find("99999999999999999999:", 21, &at, &len),
			 -EMSGSIZE);
	assert_int_equal(len, 0);
}

static void test_commands(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 256);
	assert_int_equal(baresip_command_write(&b, "dial", "sip:a\"b@c", "t"),
			 0);
	assert_string_equal(b.data, "52:{\"command\":\"dial\",\"params\":\"sip:"
				    "a\\\"b@c\",\"token\":\"t\"},");
	assert_int_equal(baresip_command_write(&b, "hold", NULL, "u"), 0);
	assert_non_null(strstr(b.data, "{\"command\":\"hold\",\"token\":"
				       "\"u\"},"));
	assert_int_equal(baresip_command_write(&b, "dial", "\xff", "t"),
			 -EINVAL);
	for (int i = 0; i < 20; i++) /* all or nothing */
		baresip_command_write(&b, "hold", NULL, "u");
	assert_int_equal(b.data[b.used - 1], ',');
	buf_release(&b);
}

static int parse(struct baresip_message *m, const char *json)
{
	return baresip_message_parse(m, json, strlen(json));
}

static void test_messages(void **state)
{
	struct baresip_message m = {.token = "before"};
	char longer[1024];

	(void)state;
	assert_int_equal(parse(&m, "{\"event\":true,\"type\":\"CALL_CLOSED\","
				   "\"class\":\"call\",\"id\":\"49df\","
				   "\"param\":\"Connection reset by user\"}"),
			 0);
	assert_int_equal(m.event, BARESIP_CALL_CLOSED);
	assert_string_equal(m.id, "49df");
	assert_string_equal(m.text, "Connection reset by user");
	assert_string_equal(m.token, "");
	assert_int_equal(parse(&m, "{\"response\":true,\"ok\":false,\"data\":"
				   "\"no\",\"token\":\"dial\"}"),
			 0);
	assert_int_equal(m.event, BARESIP_ANSWER);
	assert_false(m.ok);
	assert_string_equal(m.token, "dial");
	assert_int_equal(parse(&m, "{\"event\":true,\"type\":\"VU_TX\"}"), 0);
	assert_int_equal(m.event, BARESIP_OTHER);
	assert_int_equal(parse(&m, "[]"), -EBADMSG);
	assert_int_equal(parse(&m, "{\"event\":true}"), -EBADMSG);
	assert_int_equal(parse(&m, "{\"event\":true,\"type\":7}"), -EBADMSG);
	assert_int_equal(parse(&m, "{\"type\":\"CALL_CLOSED\"}"), -EBADMSG);
	assert_int_equal(parse(&m, ""), -EBADMSG);
	snprintf(longer, sizeof(longer),
		 "{\"event\":true,\"type\":\"CALL_CLOSED\",\"param\":"
		 "\"%0600d\"}",
		 7);
	assert_int_equal(parse(&m, longer), 0);
	assert_int_equal(strlen(m.text), BARESIP_TEXT_BYTES - 1);
}

#define MARK "\033[36;1m#\n"
#define STOP "\033[;m\n"
#define OPTIONS \
	"OPTIONS sip:a SIP/2.0\r\nContent-Length: 11\r\n\r\n" STOP "body\r\n"

struct seen {
	unsigned messages;
	unsigned lines;
	bool options; /* one began with OPTIONS and had its body */
	char message[512];
	char line[BARESIP_LINE_BYTES];
	struct baresip_traced last;
};

static void traced(const struct baresip_traced *m, void *arg)
{
	struct seen *s = arg;

	s->messages++;
	s->last = *m;
	snprintf(s->message, sizeof(s->message), "%.*s", (int)m->len, m->data);
	s->options |= strncmp(s->message, OPTIONS, strlen(OPTIONS)) == 0;
}

static void line(const char *text, void *arg)
{
	struct seen *s = arg;

	s->lines++;
	snprintf(s->line, sizeof(s->line), "%s", text);
}

static const char printed[] =
	"baresip is ready.\n"
	"[0:00:01] status without end\r" MARK
	"UDP 10.0.0.1:5060 -> 10.0.0.2:5062\n" OPTIONS STOP MARK
	"TCP [fd00::1]:5060 -> [fd00::2]:5062\nACK sip:b SIP/2.0\r\n\r\n" STOP
	"last line\n";

static void test_trace_in_any_pieces(void **state)
{
	(void)state;
	for (size_t step = 1; step < sizeof(printed); step++) {
		struct seen s = {0};
		struct baresip_trace t;

		baresip_trace_init(&t, traced, line, &s);
		for (size_t i = 0; i < sizeof(printed) - 1; i += step)
			assert_int_equal(
				baresip_trace_feed(
					&t, printed + i,
					sizeof(printed) - 1 - i < step
						? sizeof(printed) - 1 - i
						: step),
				0);
		assert_int_equal(s.messages, 2);
		assert_int_equal(s.lines, 3);
		assert_string_equal(s.line, "last line");
		assert_string_equal(s.message, "ACK sip:b SIP/2.0\r\n\r\n");
		assert_int_equal(s.last.transport, SIP_TRANSPORT_TCP);
		assert_int_equal(s.last.src.ss.ss_family, AF_INET6);
		assert_int_equal(t.left_out, 0);
		baresip_trace_release(&t);
	}
}

static void test_trace_that_cannot_be(void **state)
{
	static const char *const wrong[] = {
		MARK "SCTP 10.0.0.1:1 -> 10.0.0.2:2\nOK\r\n\r\n" STOP,
		MARK "UDP 10.0.0.1 -> 10.0.0.2:2\nOK\r\n\r\n" STOP,
		MARK "UDP 10.0.0.1:70000 -> 10.0.0.2:2\nOK\r\n\r\n" STOP,
		MARK "UDP ::1:5 -> []:2\nOK\r\n\r\n" STOP,
	};
	char *much = malloc(3 * BARESIP_MESSAGE_MAX);
	struct seen s = {0};
	struct baresip_trace t;

	(void)state;
	assert_non_null(much);
	baresip_trace_init(&t, traced, line, &s);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(
			baresip_trace_feed(&t, wrong[i], strlen(wrong[i])), 0);
	assert_int_equal(s.messages, 0);
	assert_int_equal(t.left_out, 3); /* the last one may go on */
	/* a message without end is discarded, and the next one is read */
	memset(much, 'x', 3 * BARESIP_MESSAGE_MAX);
	memcpy(much, MARK "UDP 10.0.0.1:1 -> 10.0.0.2:2\n", 38);
	assert_int_equal(baresip_trace_feed(&t, much, 3 * BARESIP_MESSAGE_MAX),
			 0);
	assert_int_equal(baresip_trace_feed(&t, "\n", 1), 0);
	assert_int_equal(baresip_trace_feed(&t, printed, sizeof(printed) - 1),
			 0);
	assert_int_equal(s.messages, 2);
	assert_true(t.left_out >= 5);
	baresip_trace_release(&t);
	free(much);
}

/* Another thread of baresip prints a warning between any two parts of a message. */
static void test_line_within_a_trace(void **state)
{
	static const char warning[] =
		"\033[31mstream: send: not ready\n\033[;m";
	static const char *const parts[] = {
		MARK,       "UDP",   " ",  "10.0.0.1", ":5060", " -> ",
		"10.0.0.2", ":5062", "\n", OPTIONS,    STOP,
	};
	const size_t count = sizeof(parts) / sizeof(parts[0]);

	(void)state;
	for (size_t at = 0; at <= count; at++) {
		char text[512] = "";
		struct seen s = {0};
		struct baresip_trace t;

		for (size_t i = 0; i < count; i++) {
			if (i == at)
				strcat(text, warning);
			strcat(text, parts[i]);
		}
		if (at == count)
			strcat(text, warning);
		strcat(text, MARK "UDP 10.0.0.1:5060 -> 10.0.0.2:5062\n"
				  "ACK sip:b SIP/2.0\r\n\r\n" STOP);
		baresip_trace_init(&t, traced, line, &s);
		for (size_t i = 0; i < strlen(text); i++)
			assert_int_equal(baresip_trace_feed(&t, text + i, 1),
					 0);
		assert_int_equal(s.messages, 2);
		assert_int_equal(t.left_out, 0);
		assert_true(s.options);
		assert_true(s.last.addressed);
		assert_string_equal(s.message, "ACK sip:b SIP/2.0\r\n\r\n");
		baresip_trace_release(&t);
	}
}

static void test_calls_have_a_ceiling(void **state)
{
	/* of more than one word: refused once there is room */
	static const struct sip_call_params params = {.uri = "a b"};
	struct le calls[BARESIP_CALLS_MAX] = {0};
	struct baresip_account account = {0};
	struct sip_call *call = NULL;

	(void)state;
	for (size_t i = 0; i < BARESIP_CALLS_MAX; i++) {
		assert_int_equal(
			baresip_call_dial(&call, (struct sip_account *)&account,
					  &params),
			-EINVAL);
		list_append(&account.calls, &calls[i], &calls[i]);
	}
	assert_int_equal(baresip_call_dial(&call,
					   (struct sip_account *)&account,
					   &params),
			 -EBUSY);
	assert_null(call);
	list_clear(&account.calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_netstrings),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_trace_in_any_pieces),
		cmocka_unit_test(test_trace_that_cannot_be),
		cmocka_unit_test(test_line_within_a_trace),
		cmocka_unit_test(test_calls_have_a_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
