/* SIP extensions and redirections in calls between engine processes. */
#include "pair.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/**
 * Number of messages of a direction that begin with and contain the given
 * texts.
 */
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
	/* one with an offer by the script, one or more by the session timer */
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

static void test_every_digit_is_a_state(void **state)
{
	static const char *const names[] = {
		"0", "1", "2", "3", "4", "5", "6",        "7",
		"8", "9", "A", "B", "C", "D", "ASTERISK", "POUND"};
	struct pair pair;

	(void)state;
	pair_start(&pair, ",\"dtmf_mode\":\"info\"",
		   ",\"call_duration\":30,\"dtmf_mode\":\"info\","
		   "\"sipclient_actions\":[[\"dtmf\","
		   "\"0123456789ABCD*# 40 40\"],[\"wait\",\"200\"],"
		   "[\"hangup\"]]");
	pair_end(&pair);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), "CALL_DTMF_%s", names[i]);
		assert_true(has_state(&pair.callee, name));
	}
	assert_true(has_state(&pair.callee, "CALL_DTMF_START"));
	assert_true(has_state(&pair.callee, "CALL_DTMF_END"));
	assert_false(has_state(&pair.caller, "CALL_DTMF_START"));
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
	assert_true(has_state(&pair.caller, "CALL_FAILED"));
	assert_true(has_state(&pair.callee, "CALL_ENDED_REMOTE"));
	assert_string_equal(
		json_string_value(json_object_get(
			event(&pair.callee, "call", NULL, 0), "end")),
		"cancelled");
	pair_release(&pair);
}

#define TARGET "\"target\":{\"hosts\":[{\"host\":\"127.0.0.1\",\"port\":%u}]}"

/* The caller knows 1002 and 1003, both on the same engine. */
static void attended(struct pair *pair, const char *script)
{
	char steps[2048];

	pair->port = free_port();
	process_start(&pair->callee);
	process_start(&pair->caller);
	snprintf(steps, sizeof(steps),
		 "[[{\"type\":\"answer\",\"credentials\":[{\"username\":"
		 "\"1002\"},{\"username\":\"1003\"}]," TARGET "}],[]]",
		 pair->port);
	send_job(&pair->callee, "callee", pair->port, steps);
	send_go(&pair->callee, 0);
	until_ready(&pair->callee, 0);
	snprintf(steps, sizeof(steps),
		 "[[],[{\"type\":\"call\",\"dial_destination\":\"1002\","
		 "\"credentials\":[{\"username\":\"1001\"}]," TARGET
		 ",\"call_duration\":4,\"sipclient_actions\":"
		 "[[\"assert_established\"],%s,[\"hangup\"]]}]]",
		 pair->port, script);
	send_job(&pair->caller, "caller", 0, steps);
	send_go(&pair->caller, 0);
	until_ready(&pair->caller, 0);
	send_go(&pair->caller, 1);
	send_go(&pair->callee, 1);
	pair_end(pair);
}

static const char *reason_of(const struct process *p, int call)
{
	return json_string_value(
		json_object_get(event(p, "call", NULL, call), "reason"));
}

static void test_attended_transfer(void **state)
{
	struct pair pair;
	bool replaced = false;

	(void)state;
	attended(&pair, "[\"transfer_attended\",\"start 1003\"],"
			"[\"transfer_attended\",\"exec\"]");
	assert_null(event(&pair.caller, "assert", NULL, 0));
	assert_true(has_state(&pair.caller, "CALL_HOLD"));
	assert_true(has_state(&pair.caller, "CALL_TRANSFER"));
	assert_true(has_state(&pair.callee, "REFER"));
	assert_int_equal(
		messages(&pair.caller, "sent", "REFER sip:1002", "?Replaces="),
		1);
	assert_int_equal(messages(&pair.callee, "received", "INVITE sip:1003@",
				  "\r\nReplaces: "),
			 1);
	/*
	 * two calls answered, the call placed for the transfer, and that call
	 * answered
	 */
	assert_non_null(event(&pair.callee, "call", NULL, 3));
	assert_null(event(&pair.callee, "call", NULL, 4));
	assert_null(event(&pair.caller, "call", NULL, 2));
	for (int i = 0; i < 4; i++)
		replaced = replaced || strcmp(reason_of(&pair.callee, i),
					      "replaced by another call") == 0;
	assert_true(replaced);
	pair_release(&pair);
}

static void test_attended_transfer_given_up(void **state)
{
	struct pair pair;

	(void)state;
	attended(&pair, "[\"transfer_attended\",\"start 1003\"],"
			"[\"transfer_attended\",\"abort\"]");
	assert_null(event(&pair.caller, "assert", NULL, 0));
	assert_true(has_state(&pair.caller, "CALL_RESUME"));
	assert_false(has_state(&pair.callee, "REFER"));
	assert_null(event(&pair.callee, "call", NULL, 2));
	pair_release(&pair);
	/* nobody answers: the script ends with a reason */
	attended(&pair, "[\"transfer_attended\",\"start 1009\"],"
			"[\"hangup\"]");
	assert_string_equal(
		json_string_value(json_object_get(
			event(&pair.caller, "assert", NULL, 0), "text")),
		"its call was not established: 404 Not Found");
	pair_release(&pair);
}

/* ---- registrations ---- */

#define ACCOUNTS 80
#define RATE     20 /* a second */

static int registrar_new(uint16_t *ret_port)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	*ret_port = ntohs(in.sin_port);
	return fd;
}

/* Accept all registrations and removals that have come: with the request's own headers. */
static void registrar_answer(int fd)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	while (poll(&ready, 1, 0) == 1) {
		static const char status[] = "SIP/2.0 200 OK\r\n";
		char request[4096], answer[4096 + sizeof(status)];
		struct sockaddr_in from;
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(fd, request, sizeof(request) - 1, 0,
				     (struct sockaddr *)&from, &from_len);
		const char *headers;
		int len;

		assert_true(n > 0);
		request[n] = '\0';
		headers = strstr(request, "\r\n");
		assert_non_null(headers);
		len = snprintf(answer, sizeof(answer), "%s%s", status,
			       headers + 2);
		sendto(fd, answer, (size_t)len, 0, (struct sockaddr *)&from,
		       from_len);
	}
}

/* @return the most registrations that began within a second */
static int most_in_a_second(const struct process *p)
{
	int most = 0;
	json_t *first, *last;

	for (int from = 0, to = 0;
	     (last = event(p, "state", "REGISTERING", to)) != NULL; to++) {
		while ((first = event(p, "state", "REGISTERING", from)) &&
		       number(last, "mono") - number(first, "mono") >= NS_PER_S)
			from++;
		if (to - from + 1 > most)
			most = to - from + 1;
	}
	return most;
}

static void registrations_job(struct process *p, uint16_t port)
{
	char steps[3500] = "[[{\"type\":\"register\",\"credentials\":[";
	size_t used = strlen(steps);

	for (int i = 0; i < ACCOUNTS; i++)
		used += (size_t)snprintf(steps + used, sizeof(steps) - used,
					 "%s{\"username\":\"%d\"}",
					 i > 0 ? "," : "", 2000 + i);
	snprintf(steps + used, sizeof(steps) - used,
		 "],\"calls_per_second\":%d,\"target\":{\"hosts\":[{\"host\":"
		 "\"127.0.0.1\",\"port\":%u}]}}]]",
		 RATE, port);
	send_job(p, "callee", 0, steps);
}

/* An engine that stood still does not make up for registrations that were due. */
static void test_rate_of_registrations(void **state)
{
	const struct timespec standstill = {.tv_sec = 3};
	bool stood_still = false;
	struct process p;
	uint16_t port;
	int fd = registrar_new(&port);

	(void)state;
	process_start(&p);
	registrations_job(&p, port);
	send_go(&p, 0);
	while (p.ready < 0) {
		registrar_answer(fd);
		pump(&p);
		assert_null(p.finish);
		if (!stood_still && event(&p, "state", "REGISTER_OK", 5)) {
			assert_int_equal(kill(p.pid, SIGSTOP), 0);
			nanosleep(&standstill, NULL);
			assert_int_equal(kill(p.pid, SIGCONT), 0);
			stood_still = true;
		}
	}
	assert_true(stood_still);
	send_go(&p, 1);
	while (!p.finish) {
		registrar_answer(fd);
		pump(&p);
	}
	until_finish(&p, "completed");
	assert_non_null(event(&p, "state", "REGISTERING", ACCOUNTS - 1));
	/* registrations that a loop delayed by up to 100 ms are sent at once */
	assert_in_range(most_in_a_second(&p), 1, RATE + RATE / 10 + 2);
	close(fd);
	assert_int_equal(process_end(&p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_late_offer),
		cmocka_unit_test(test_redirection_is_followed),
		cmocka_unit_test(test_every_digit_is_a_state),
		cmocka_unit_test(test_ring_timeout),
		cmocka_unit_test(test_attended_transfer),
		cmocka_unit_test(test_attended_transfer_given_up),
		cmocka_unit_test(test_rate_of_registrations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
