/* Real engine processes call each other on loopback, without a proxy. */
#include "pair.h"

#include "base/clock.h"
#include "control/wire/frame.h"
#include "tests/unit/times.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void test_call(void **state)
{
	static const char *const placed[] = {
		"CALL_OUTGOING",  "CALL_RINGING",     "CALL_ANSWERED",
		"CALL_LOCAL_SDP", "CALL_REMOTE_SDP",  "CALL_ESTABLISHED",
		"CALL_RTPESTAB",  "CALL_ENDED_LOCAL", "CALL_CLOSED"};
	static const char *const taken[] = {
		"CALL_INCOMING",    "CALL_RINGING",  "CALL_ANSWERED",
		"CALL_ESTABLISHED", "CALL_RTPESTAB", "CALL_ENDED_REMOTE",
		"CALL_CLOSED"};
	struct pair pair;
	json_t *call;
	json_t *other;

	(void)state;
	pair_start(&pair, "", ",\"call_duration\":4");
	pair_end(&pair);

	call = event(&pair.caller, "call", NULL, 0);
	other = event(&pair.callee, "call", NULL, 0);
	assert_non_null(call);
	assert_non_null(other);
	assert_null(event(&pair.caller, "call", NULL, 1));
	assert_string_equal(json_string_value(json_object_get(call, "call")),
			    "caller-1");
	assert_string_equal(
		json_string_value(json_object_get(call, "call_id")),
		json_string_value(json_object_get(other, "call_id")));
	assert_true(json_is_true(json_object_get(call, "established")));
	assert_string_equal(json_string_value(json_object_get(call, "end")),
			    "local");
	assert_string_equal(json_string_value(json_object_get(other, "end")),
			    "remote");
	assert_lasted((int64_t)(number(call, "duration_ms") * NS_PER_MS),
		      4 * NS_PER_S);
	assert_true(number(call, "pdd_ms") >= 0);
	/* two timestamps, each converted with its own reading of the clocks */
	assert_not_before((int64_t)(number(call, "setup_ms") * NS_PER_MS),
			  (int64_t)(number(call, "pdd_ms") * NS_PER_MS));

	/* 4 s of 20 ms; everything that was sent arrived. */
	assert_in_range(number(stream(call, "out"), "packets"), 199, 201);
	assert_int_equal(number(stream(other, "in"), "received"),
			 number(stream(call, "out"), "packets"));
	assert_int_equal(number(stream(other, "in"), "lost"), 0);
	assert_int_equal(number(stream(call, "in"), "lost"), 0);
	assert_true(number(stream(call, "in"), "received") >= 195);

	for (size_t i = 0; i < sizeof(placed) / sizeof(placed[0]); i++)
		assert_true(has_state(&pair.caller, placed[i]));
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		assert_true(has_state(&pair.callee, taken[i]));

	assert_in_range(samples(&pair.caller, "in", "rtp_pkt_per_sec"), 3, 5);
	assert_in_range(samples(&pair.caller, "out", "rtp_pkt_per_sec"), 3, 5);
	assert_true(samples(&pair.caller, "in", "rtp_jitter") >= 3);
	assert_true(samples(&pair.callee, "in", "rtp_mos") >= 1);
	assert_int_equal(samples(&pair.caller, "out", "sip_pdd"), 1);
	assert_int_equal(samples(&pair.callee, "out", "sip_pdd"), 0);
	assert_int_equal(samples(&pair.caller, "out", "sip_bye_200_time"), 1);
	assert_int_equal(samples(&pair.callee, "out", "sip_bye_200_time"), 0);
	assert_true(samples(&pair.caller, "out", "calls_active") >= 3);
	assert_true(pair.caller.lives >= 2);
	assert_true(json_array_size(pair.caller.messages) >= 6);
	assert_non_null(event(&pair.caller, "evidence", NULL, 0));
	assert_ptr_equal(
		event(&pair.caller, "evidence", NULL, 0),
		json_array_get(pair.caller.events,
			       json_array_size(pair.caller.events) - 1));
	assert_int_equal(number(event(&pair.caller, "evidence", NULL, 0),
				"packets_sent"),
			 number(stream(call, "out"), "packets"));
	pair_release(&pair);
}

static void test_several_calls(void **state)
{
	struct pair pair;

	(void)state;
	pair_start(&pair, "",
		   ",\"call_duration\":0.5,\"max_total_calls\":5,"
		   "\"max_concurrent_calls\":2,\"calls_per_second\":20");
	pair_end(&pair);
	for (int i = 0; i < 5; i++) {
		json_t *call = event(&pair.caller, "call", NULL, i);

		assert_true(json_is_true(json_object_get(call, "established")));
		assert_in_range(number(stream(call, "out"), "packets"), 24, 26);
		assert_non_null(event(&pair.callee, "call", NULL, i));
	}
	assert_null(event(&pair.caller, "call", NULL, 5));
	pair_release(&pair);
}

/** Position of a call's event of a kind (and state) in the order of events. */
static int position(const struct process *p, const char *call, const char *kind,
		    const char *state_name)
{
	json_t *e;
	size_t i;

	json_array_foreach(p->events, i, e)
	{
		const char *c = json_string_value(json_object_get(e, "call"));
		const char *s = json_string_value(json_object_get(e, "state"));

		if (c && strcmp(c, call) == 0 &&
		    strcmp(json_string_value(json_object_get(e, "kind")),
			   kind) == 0 &&
		    (!state_name || (s && strcmp(s, state_name) == 0)))
			return (int)i;
	}
	fail_msg("%s has no %s %s", call, kind, state_name ? state_name : "");
	return -1;
}

/*
 * A call slot is free when its SIP call is closed, not when its media
 * statistics are complete.
 */
static void test_concurrency_counts_sip_calls(void **state)
{
	static const char *const names[] = {"caller-1", "caller-2", "caller-3"};
	struct pair pair;

	(void)state;
	pair_start(&pair, ",\"max_concurrent_calls\":1",
		   ",\"call_duration\":0.3,\"max_total_calls\":3,"
		   "\"max_concurrent_calls\":1,\"calls_per_second\":50");
	pair_end(&pair);
	for (int i = 0; i < 3; i++)
		assert_true(json_is_true(json_object_get(
			event(&pair.caller, "call", NULL, i), "established")));
	for (int i = 0; i < 2; i++) {
		int next = position(&pair.caller, names[i + 1], "state",
				    "CALL_OUTGOING");

		assert_true(position(&pair.caller, names[i], "state",
				     "CALL_CLOSED") < next);
		assert_true(next <
			    position(&pair.caller, names[i], "call", NULL));
	}
	pair_release(&pair);
}

static void test_busy(void **state)
{
	struct pair pair;
	json_t *call;

	(void)state;
	pair_start(&pair, ",\"answer_code\":486", "");
	pair_end(&pair);
	call = event(&pair.caller, "call", NULL, 0);
	assert_false(json_is_true(json_object_get(call, "established")));
	assert_string_equal(json_string_value(json_object_get(call, "end")),
			    "rejected");
	assert_int_equal(number(call, "code"), 486);
	assert_null(json_object_get(call, "duration_ms"));
	assert_null(json_object_get(call, "pdd_ms"));
	assert_int_equal(json_array_size(json_object_get(call, "streams")), 0);
	assert_true(has_state(&pair.caller, "CALL_REJECTED"));
	assert_false(has_state(&pair.caller, "CALL_ESTABLISHED"));
	pair_release(&pair);
}

static void test_requests_and_transfer(void **state)
{
	struct pair pair;

	(void)state;
	pair_start(&pair, ",\"max_total_calls\":5",
		   ",\"call_duration\":20,\"sipclient_actions\":["
		   "[\"assert_established\",\"5000\"],[\"message\",\"hi\"],"
		   "[\"options\",\"\"],[\"options\",\"1002\"],"
		   "[\"reinvite\",\"\"],[\"transfer\",\"1002\"],"
		   "[\"hangup\",\"\"]]");
	pair_end(&pair);
	assert_null(event(&pair.caller, "assert", NULL, 0));
	assert_true(has_state(&pair.caller, "CALL_TRANSFER"));
	assert_false(has_state(&pair.caller, "CALL_TRANSFER_FAILED"));
	assert_true(has_state(&pair.callee, "REFER"));
	assert_int_equal(samples(&pair.caller, "out", "sip_options_time"), 1);
	/*
	 * the transferred call, the call that it placed, and the call that was
	 * answered
	 */
	assert_non_null(event(&pair.callee, "call", NULL, 2));
	assert_null(event(&pair.callee, "call", NULL, 3));
	pair_release(&pair);
}

static void test_redirect_and_reject(void **state)
{
	struct pair pair;

	(void)state;
	pair_start(&pair, ",\"answer_code\":302,\"answer_contact\":\"1009\"",
		   ",\"max_redirects\":0");
	pair_end(&pair);
	assert_true(has_state(&pair.caller, "CALL_REDIRECT"));
	assert_true(has_state(&pair.caller, "CALL_REJECTED"));
	pair_release(&pair);
	pair_start(&pair,
		   ",\"sipclient_actions\":[[\"sndcode\",\"182\"],"
		   "[\"wait\",\"100\"],[\"reject\",\"480\"]]",
		   "");
	pair_end(&pair);
	assert_true(has_state(&pair.caller, "CALL_PROGRESS"));
	assert_int_equal(number(event(&pair.caller, "call", NULL, 0), "code"),
			 480);
	pair_release(&pair);
}

static void test_early_media(void **state)
{
	struct pair pair;
	json_t *call;

	(void)state;
	pair_start(&pair, ",\"early_media\":true,\"answer_delay\":1000",
		   ",\"call_duration\":1");
	pair_end(&pair);
	call = event(&pair.caller, "call", NULL, 0);
	assert_true(has_state(&pair.caller, "CALL_PROGRESS"));
	assert_false(has_state(&pair.caller, "CALL_RINGING"));
	/* a second of early media and one second of the established call */
	assert_true(number(stream(call, "in"), "received") >= 80);
	pair_release(&pair);
}

static void test_options_and_message_actions(void **state)
{
	char steps[1024];
	struct pair pair;

	(void)state;
	pair.port = free_port();
	process_start(&pair.callee);
	process_start(&pair.caller);
	send_job(&pair.callee, "callee", pair.port,
		 "[[{\"type\":\"answer\",\"credentials\":[{\"username\":"
		 "\"1002\"}]}],[]]");
	send_go(&pair.callee, 0);
	until_ready(&pair.callee, 0);
#define TO "\"target\":{\"hosts\":[{\"host\":\"127.0.0.1\",\"port\":%u}]}"
	snprintf(steps, sizeof(steps),
		 "[[],[{\"type\":\"options\"," TO "},"
		 "{\"type\":\"message\",\"message\":\"hi\","
		 "\"dial_destination\":\"1002\"," TO "},"
		 "{\"type\":\"message\",\"message\":\"hi\","
		 "\"dial_destination\":\"1003\"," TO "}]]",
		 pair.port, pair.port, pair.port);
	send_job(&pair.caller, "caller", 0, steps);
	send_go(&pair.caller, 0);
	until_ready(&pair.caller, 0);
	send_go(&pair.caller, 1);
	send_go(&pair.callee, 1);
	pair_end(&pair);
	assert_int_equal(samples(&pair.caller, "out", "sip_options_time"), 1);
	assert_string_equal(
		json_string_value(json_object_get(
			event(&pair.caller, "assert", NULL, 0), "argument")),
		"1003");
	assert_null(event(&pair.caller, "assert", NULL, 1));
	pair_release(&pair);
}

static void test_hold_and_resume(void **state)
{
	struct pair pair;

	(void)state;
	pair_start(&pair, "",
		   ",\"call_duration\":10,\"sipclient_actions\":["
		   "[\"assert_established\",\"\"],"
		   "[\"assert_state\",\"CALL_RTPESTAB\"],[\"hold\",\"\"],"
		   "[\"wait\",\"300\"],[\"resume\",\"\"],[\"wait\",\"300\"],"
		   "[\"hangup\",\"\"]]");
	pair_end(&pair);
	assert_true(has_state(&pair.caller, "CALL_HOLD"));
	assert_true(has_state(&pair.caller, "CALL_RESUME"));
	assert_true(has_state(&pair.callee, "CALL_HOLD"));
	assert_true(has_state(&pair.callee, "CALL_RESUME"));
	assert_null(event(&pair.caller, "assert", NULL, 0));
	assert_string_equal(
		json_string_value(json_object_get(
			event(&pair.caller, "call", NULL, 0), "end")),
		"local");
	pair_release(&pair);
}

static void test_assert_that_fails(void **state)
{
	struct pair pair;
	json_t *failed;

	(void)state;
	pair_start(&pair, ",\"ring_only\":true",
		   ",\"sipclient_actions\":[[\"assert_established\",\"300\"]]");
	pair_end(&pair);
	failed = event(&pair.caller, "assert", NULL, 0);
	assert_non_null(failed);
	assert_string_equal(
		json_string_value(json_object_get(failed, "action")),
		"assert_established");
	assert_string_equal(
		json_string_value(json_object_get(
			event(&pair.caller, "call", NULL, 0), "end")),
		"cancelled");
	pair_release(&pair);
}

static void test_cancel(void **state)
{
	struct pair pair;
	json_t *call;

	(void)state;
	pair_start(&pair, "", ",\"call_duration\":60");
	while (!has_state(&pair.caller, "CALL_RTPESTAB"))
		pump(&pair.caller);
	send_text(&pair.caller, "{\"type\":\"cancel\"}");
	until_finish(&pair.caller, "stopped");
	call = event(&pair.caller, "call", NULL, 0);
	assert_string_equal(json_string_value(json_object_get(call, "end")),
			    "local");
	assert_true(number(stream(call, "out"), "packets") > 0);
	kill(pair.callee.pid, SIGTERM);
	until_finish(&pair.callee, "stopped");
	assert_string_equal(
		json_string_value(json_object_get(
			event(&pair.callee, "call", NULL, 0), "end")),
		"remote");
	pair_release(&pair);
}

static void test_supervisor_gone(void **state)
{
	struct pair pair;

	(void)state;
	pair_start(&pair, "", ",\"call_duration\":60");
	while (!has_state(&pair.callee, "CALL_RTPESTAB"))
		pump(&pair.callee);
	/* The call ends with a BYE, then the process ends. */
	assert_int_equal(process_end(&pair.caller), 1);
	while (!event(&pair.callee, "call", NULL, 0))
		pump(&pair.callee);
	assert_true(has_state(&pair.callee, "CALL_ENDED_REMOTE"));
	send_text(&pair.callee, "{\"type\":\"cancel\"}");
	until_finish(&pair.callee, "stopped");
	assert_int_equal(process_end(&pair.callee), 0);
}

/* A caller that sends an INVITE and then nothing more. */
static void invite_and_vanish(uint16_t port)
{
	static const char sdp[] = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\n"
				  "c=IN IP4 127.0.0.1\r\nt=0 0\r\n"
				  "m=audio 9 RTP/AVP 0\r\n";
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(port)};
	char text[1024];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int len = snprintf(
		text, sizeof(text),
		"INVITE sip:1002@127.0.0.1:%u SIP/2.0\r\n"
		"Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKvanish\r\n"
		"Max-Forwards: 70\r\nFrom: <sip:ghost@127.0.0.1>;tag=g\r\n"
		"To: <sip:1002@127.0.0.1>\r\nCall-ID: vanish\r\n"
		"CSeq: 1 INVITE\r\nContact: <sip:ghost@127.0.0.1:9>\r\n"
		"Content-Type: application/sdp\r\nContent-Length: %zu\r\n\r\n%s",
		port, strlen(sdp), sdp);

	assert_int_equal(sendto(fd, text, (size_t)len, 0,
				(struct sockaddr *)&to, sizeof(to)),
			 len);
	close(fd);
}

static void test_end_without_ack(void **state)
{
	struct process p;
	uint16_t port = free_port();
	json_t *call;

	(void)state;
	process_start(&p);
	send_job(&p, "callee", port,
		 "[[{\"type\":\"answer\",\"credentials\":[{\"username\":"
		 "\"1002\"}]}]]");
	send_go(&p, 0);
	until_ready(&p, 0);
	invite_and_vanish(port);
	while (!has_state(&p, "CALL_ANSWERED"))
		pump(&p);
	send_go(&p, 1);
	until_finish(&p, "completed");
	call = event(&p, "call", NULL, 0);
	assert_non_null(call);
	assert_string_equal(json_string_value(json_object_get(call, "end")),
			    "failed");
	assert_string_equal(json_string_value(json_object_get(call, "call_id")),
			    "vanish");
	/* Statistics exist also for what was sent to nobody. */
	assert_true(number(stream(call, "out"), "packets") > 0);
	assert_int_equal(process_end(&p), 0);
}

/* An engine is not a registrar and refuses a REGISTER. */
static void test_registration_refused(void **state)
{
	struct process registrar;
	struct process p;
	uint16_t port = free_port();
	char steps[512];
	char where[64];

	(void)state;
	process_start(&registrar);
	process_start(&p);
	send_job(&registrar, "callee", port, "[[{\"type\":\"answer\"}]]");
	send_go(&registrar, 0);
	until_ready(&registrar, 0);
	snprintf(steps, sizeof(steps),
		 "[[{\"type\":\"register\",\"credentials\":[{\"username\":"
		 "\"1002\",\"password\":\"s3cret\"}],\"target\":{\"hosts\":"
		 "[{\"host\":\"127.0.0.1\",\"port\":%u}]}}]]",
		 port);
	send_job(&p, "callee", 0, steps);
	send_go(&p, 0);
	until_finish(&p, "failed");
	snprintf(where, sizeof(where),
		 "role callee: registration of 1002 at 127.0.0.1:%u over UDP",
		 port);
	assert_memory_equal(reason(&p), where, strlen(where));
	assert_non_null(strstr(reason(&p), "was refused: 4"));
	assert_true(has_state(&p, "REGISTERING"));
	assert_true(has_state(&p, "REGISTER_FAIL"));
	assert_true(json_is_false(
		json_object_get(event(&p, "register", NULL, 0), "ok")));
	assert_int_equal(process_end(&p), 0);
	send_text(&registrar, "{\"type\":\"cancel\"}");
	until_finish(&registrar, "stopped");
	assert_int_equal(process_end(&registrar), 0);
}

static void test_job_that_cannot_be(void **state)
{
	struct process p;

	(void)state;
	process_start(&p);
	send_job(&p, "caller", 0, "[[{\"type\":\"dance\"}]]");
	until_finish(&p, "error");
	assert_non_null(strstr(reason(&p), "dance"));
	assert_int_equal(process_end(&p), 0);
}

/*
 * Roles start a step at the same instant, but the end of the job has no such
 * barrier. If an engine waited for the other, the test runner would time out.
 */
static void test_end_does_not_wait_for_the_others(void **state)
{
	struct process p;

	(void)state;
	process_start(&p);
	send_job(&p, "B", 0, "[[{\"type\":\"wait\",\"wait_ms\":1}]]");
	send_go(&p, 0);
	until_ready(&p, 0);
	send_text(&p, "{\"type\":\"go\",\"step\":1,\"in_ms\":3600000}");
	until_finish(&p, "completed");
	assert_int_equal(process_end(&p), 0);
}

static void test_max_duration(void **state)
{
	struct process p;

	(void)state;
	process_start(&p);
	send_text(&p, "{\"type\":\"job\",\"spec\":{\"session_id\":"
		      "\"0a1b2c3d-0000-4000-8000-000000000001\",\"role\":\"B\","
		      "\"max_duration_s\":1,\"steps\":[[{\"type\":\"wait\","
		      "\"index\":4,\"wait_ms\":60000}]]},\"engine\":{\"bind\":"
		      "\"127.0.0.1\",\"sip_port\":0,\"rtp_min\":40000,"
		      "\"rtp_max\":40100}}");
	send_go(&p, 0);
	until_finish(&p, "failed");
	assert_non_null(strstr(reason(&p), "step 0, action 4 (wait)"));
	assert_int_equal(process_end(&p), 0);
}

#define FLOOD_ROUNDS 3
#define FLOOD_ROUND  450   /* messages */
#define FLOOD_BODY   60000 /* bytes */

static int connect_to(uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Send a MESSAGE over TCP, so that none is lost, and wait for the response. */
static void message_send(int fd, uint16_t port, int number)
{
	static char text[FLOOD_BODY + 1024];
	char answer[2048] = "";
	size_t used = 0;
	int len = snprintf(
		text, sizeof(text),
		"MESSAGE sip:1002@127.0.0.1:%u SIP/2.0\r\n"
		"Via: SIP/2.0/TCP 127.0.0.1:9;branch=z9hG4bKflood%d\r\n"
		"Max-Forwards: 70\r\nFrom: <sip:flood@127.0.0.1>;tag=f\r\n"
		"To: <sip:1002@127.0.0.1>\r\nCall-ID: flood-%d\r\n"
		"CSeq: 1 MESSAGE\r\nContent-Type: text/plain\r\n"
		"Content-Length: %d\r\n\r\n%0*d",
		port, number, number, FLOOD_BODY, FLOOD_BODY, number);

	assert_int_equal(send(fd, text, (size_t)len, 0), len);
	while (!strstr(answer, "\r\n\r\n")) {
		ssize_t n =
			recv(fd, answer + used, sizeof(answer) - used - 1, 0);

		assert_true(n > 0);
		used += (size_t)n;
		answer[used] = '\0';
	}
	assert_memory_equal(answer, "SIP/2.0 200 ", 12);
}

/* Results that the channel does not take at the end of the job wait for a supervisor
 * that is late to read: none is left out of a job that is reported as completed. */
static void test_supervisor_reads_late(void **state)
{
	/* so that what waits goes from the outbox to the channel meanwhile */
	const struct timespec second = {.tv_sec = 1,
					.tv_nsec = 300 * NS_PER_MS};
	uint16_t port = free_port();
	int fd, number_sent = 0, received = 0;
	struct process p;
	json_t *m;
	size_t i;

	(void)state;
	process_start(&p);
	send_job(&p, "callee", port,
		 "[[{\"type\":\"answer\",\"credentials\":[{\"username\":"
		 "\"1002\"}]}]]");
	send_go(&p, 0);
	until_ready(&p, 0);
	fd = connect_to(port);
	for (int round = 0; round < FLOOD_ROUNDS; round++) {
		for (int k = 0; k < FLOOD_ROUND; k++)
			message_send(fd, port, ++number_sent);
		nanosleep(&second, NULL);
	}
	send_go(&p, 1);
	nanosleep(&second, NULL);
	until_finish(&p, "completed");
	json_array_foreach(p.messages, i, m)
	{
		if (strcmp(json_string_value(json_object_get(m, "dir")),
			   "received") == 0)
			received++;
	}
	assert_int_equal(received, number_sent);
	assert_null(event(&p, "flaw", NULL, 0));
	assert_non_null(event(&p, "evidence", NULL, 0));
	close(fd);
	assert_int_equal(process_end(&p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_several_calls),
		cmocka_unit_test(test_concurrency_counts_sip_calls),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_requests_and_transfer),
		cmocka_unit_test(test_redirect_and_reject),
		cmocka_unit_test(test_early_media),
		cmocka_unit_test(test_options_and_message_actions),
		cmocka_unit_test(test_hold_and_resume),
		cmocka_unit_test(test_assert_that_fails),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_supervisor_gone),
		cmocka_unit_test(test_end_without_ack),
		cmocka_unit_test(test_registration_refused),
		cmocka_unit_test(test_job_that_cannot_be),
		cmocka_unit_test(test_end_does_not_wait_for_the_others),
		cmocka_unit_test(test_max_duration),
		cmocka_unit_test(test_supervisor_reads_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
