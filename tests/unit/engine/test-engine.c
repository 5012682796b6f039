/* Real engine processes that call each other on loopback, without a proxy. */
#include "agent/engine/engine.h"

#include "base/clock.h"
#include "control/wire/frame.h"

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
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_NS (60 * NS_PER_S) /* a bound for a broken engine */

struct process {
	pid_t pid;
	struct wire_channel *channel;
	json_t *events;
	json_t *series;
	json_t *messages;
	json_t *finish;
	unsigned lives;
	int ready; /* last step, -1: none */
};

struct pair {
	struct process callee;
	struct process caller;
	uint16_t port; /* the callee's */
};

/** A UDP port that is free now. */
static uint16_t free_port(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	close(fd);
	return ntohs(in.sin_port);
}

static void process_start(struct process *p)
{
	int fds[2];

	*p = (struct process){.ready = -1};
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	fflush(NULL);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		/* The other end must close when the test's does. */
		for (int fd = 3; fd < 64; fd++) {
			if (fd != fds[1])
				close(fd);
		}
		exit(engine_main(fds[1]));
	}
	close(fds[1]);
	assert_int_equal(wire_channel_new(&p->channel, fds[0]), 0);
	p->events = json_array();
	p->series = json_array();
	p->messages = json_array();
}

/** @return exit code, -1 a crash */
static int process_end(struct process *p)
{
	int status = 0;

	p->channel = wire_channel_free(p->channel);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	json_decref(p->events);
	json_decref(p->series);
	json_decref(p->messages);
	json_decref(p->finish);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void send_text(struct process *p, const char *text)
{
	json_t *message = json_loads(text, 0, NULL);

	assert_non_null(message);
	assert_int_equal(wire_channel_send(p->channel, message), 0);
	json_decref(message);
}

static void send_go(struct process *p, int step)
{
	char text[64];

	snprintf(text, sizeof(text),
		 "{\"type\":\"go\",\"step\":%d,\"in_ms\":0}", step);
	send_text(p, text);
}

static void take(struct process *p, json_t *message)
{
	const char *type = json_string_value(json_object_get(message, "type"));

	assert_null(p->finish); /* nothing follows it */
	if (strcmp(type, "ready") == 0)
		p->ready = (int)json_integer_value(
			json_object_get(message, "step"));
	else if (strcmp(type, "events") == 0)
		json_array_extend(p->events,
				  json_object_get(message, "events"));
	else if (strcmp(type, "stats") == 0)
		json_array_extend(p->series,
				  json_object_get(message, "series"));
	else if (strcmp(type, "sip") == 0)
		json_array_extend(p->messages,
				  json_object_get(message, "messages"));
	else if (strcmp(type, "live") == 0)
		p->lives++;
	else if (strcmp(type, "finish") == 0)
		p->finish = json_incref(message);
}

static void pump(struct process *p)
{
	struct pollfd fd = {.fd = wire_channel_fd(p->channel),
			    .events = POLLIN};
	json_t *message;
	int r;

	poll(&fd, 1, 20);
	while (!p->finish &&
	       (r = wire_channel_receive(p->channel, &message)) != 0) {
		assert_int_equal(r, 1);
		take(p, message);
		json_decref(message);
	}
}

static void until_ready(struct process *p, int step)
{
	int64_t end_ns = clock_mono_ns() + PATIENCE_NS;

	while (p->ready < step && !p->finish && clock_mono_ns() < end_ns)
		pump(p);
	assert_int_equal(p->ready, step);
}

static void until_finish(struct process *p, const char *outcome)
{
	int64_t end_ns = clock_mono_ns() + PATIENCE_NS;

	while (!p->finish && clock_mono_ns() < end_ns)
		pump(p);
	assert_non_null(p->finish);
	assert_string_equal(
		json_string_value(json_object_get(p->finish, "outcome")),
		outcome);
}

static const char *reason(const struct process *p)
{
	return json_string_value(json_object_get(p->finish, "reason"));
}

/** The n-th event of a kind (and state), NULL: there is none. */
static json_t *event(const struct process *p, const char *kind,
		     const char *state_name, int n)
{
	json_t *e;
	size_t i;

	json_array_foreach(p->events, i, e)
	{
		const char *s = json_string_value(json_object_get(e, "state"));

		if (strcmp(json_string_value(json_object_get(e, "kind")),
			   kind) != 0)
			continue;
		if (state_name && (!s || strcmp(s, state_name) != 0))
			continue;
		if (n-- == 0)
			return e;
	}
	return NULL;
}

static bool has_state(const struct process *p, const char *name)
{
	return event(p, "state", name, 0) != NULL;
}

static json_t *stream(json_t *call, const char *dir)
{
	json_t *s;
	size_t i;

	json_array_foreach(json_object_get(call, "streams"), i, s)
	{
		if (strcmp(json_string_value(json_object_get(s, "dir")), dir) ==
		    0)
			return s;
	}
	return NULL;
}

static json_int_t number(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	assert_true(json_is_number(value));
	return (json_int_t)json_number_value(value);
}

/** Sum of n over the points of a measure. */
static json_int_t samples(const struct process *p, const char *dir,
			  const char *measure)
{
	json_int_t sum = 0;
	json_t *s;
	size_t i;

	json_array_foreach(p->series, i, s)
	{
		if (strcmp(json_string_value(json_object_get(s, "dir")), dir) ==
			    0 &&
		    strcmp(json_string_value(json_object_get(s, "measure")),
			   measure) == 0)
			sum += number(s, "n");
	}
	return sum;
}

static void send_job(struct process *p, const char *role, uint16_t sip_port,
		     const char *steps)
{
	char text[4096];
	/* Each engine its own RTP ports, whatever runs beside this test. */
	int rtp_min = 30000 + (int)(p->pid % 1000) * 20;

	snprintf(
		text, sizeof(text),
		"{\"type\":\"job\",\"spec\":{\"session_id\":"
		"\"0a1b2c3d-0000-4000-8000-000000000001\",\"role\":\"%s\","
		"\"attempt\":1,\"interval_s\":1,\"max_duration_s\":120,"
		"\"record\":\"sip\",\"steps\":%s},\"engine\":{\"bind\":"
		"\"127.0.0.1\",\"sip_port\":%u,\"rtp_min\":%d,\"rtp_max\":%d}}",
		role, steps, sip_port, rtp_min, rtp_min + 200);
	send_text(p, text);
}

/** Both engines up, the callee listening; the caller has its job. */
static void pair_start(struct pair *pair, const char *answer, const char *call)
{
	char steps[2048];

	pair->port = free_port();
	process_start(&pair->callee);
	process_start(&pair->caller);
	snprintf(steps, sizeof(steps),
		 "[[{\"type\":\"answer\",\"credentials\":[{\"username\":"
		 "\"1002\"}]%s}],[]]",
		 answer);
	send_job(&pair->callee, "callee", pair->port, steps);
	send_go(&pair->callee, 0);
	until_ready(&pair->callee, 0);
	snprintf(steps, sizeof(steps),
		 "[[],[{\"type\":\"call\",\"dial_destination\":\"1002\","
		 "\"credentials\":[{\"username\":\"1001\"}],\"target\":"
		 "{\"hosts\":[{\"host\":\"127.0.0.1\",\"port\":%u}]}%s}]]",
		 pair->port, call);
	send_job(&pair->caller, "caller", 0, steps);
	send_go(&pair->caller, 0);
	until_ready(&pair->caller, 0);
	send_go(&pair->caller, 1);
	send_go(&pair->callee, 1);
}

/** Both to the end, completed, nothing leaked. */
static void pair_end(struct pair *pair)
{
	until_ready(&pair->caller, 1);
	until_ready(&pair->callee, 1);
	send_go(&pair->caller, 2);
	send_go(&pair->callee, 2);
	until_finish(&pair->caller, "completed");
	until_finish(&pair->callee, "completed");
}

static void pair_release(struct pair *pair)
{
	assert_int_equal(process_end(&pair->caller), 0);
	assert_int_equal(process_end(&pair->callee), 0);
}

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
	assert_true(number(call, "duration_ms") >= 4000);
	assert_true(number(call, "pdd_ms") >= 0);
	assert_true(number(call, "setup_ms") >= number(call, "pdd_ms"));

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

/* The place of a call is free when its SIP call is closed, not only when its
 * media are accounted for. */
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
	/* the transferred one, the one it placed, and that one taken */
	assert_non_null(event(&pair.callee, "call", NULL, 2));
	assert_null(event(&pair.callee, "call", NULL, 3));
	pair_release(&pair);
}

static void test_redirect_and_reject(void **state)
{
	struct pair pair;

	(void)state;
	pair_start(&pair, ",\"answer_code\":302,\"answer_contact\":\"1009\"",
		   "");
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
	/* a second of early media and one of the call */
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

/** "in 1 rtpevent 100, out 2 info 80, ..." of the dtmf events. */
static void digits_of(const struct process *p, char *dst, size_t size)
{
	json_t *e;

	dst[0] = '\0';
	for (int i = 0; (e = event(p, "dtmf", NULL, i)); i++) {
		size_t used = strlen(dst);

		snprintf(dst + used, size - used, "%s %s %s %.0f, ",
			 json_string_value(json_object_get(e, "direction")),
			 json_string_value(json_object_get(e, "digit")),
			 json_string_value(json_object_get(e, "via")),
			 json_number_value(json_object_get(e, "ms")));
	}
}

static void dtmf_both_ways(const char *mode, const char *callee_heard,
			   const char *caller_heard)
{
	struct pair pair;
	char actions[512];
	char text[512];
	json_t *call;

	snprintf(
		actions, sizeof(actions),
		",\"dtmf_mode\":\"%s\",\"sipclient_actions\":[[\"assert_dtmf\","
		"\"1#\"],[\"dtmf\",\"D* 60 40\"]]",
		mode);
	snprintf(text, sizeof(text),
		 ",\"call_duration\":20,\"dtmf_mode\":\"%s\","
		 "\"sipclient_actions\":[[\"dtmf\",\"1# 110\"],"
		 "[\"assert_dtmf\",\"d*\"],[\"wait\",\"500\"],[\"hangup\"]]",
		 mode);
	pair_start(&pair, actions, text);
	pair_end(&pair);
	assert_null(event(&pair.caller, "assert", NULL, 0));
	assert_null(event(&pair.callee, "assert", NULL, 0));
	digits_of(&pair.callee, text, sizeof(text));
	assert_string_equal(text, callee_heard);
	digits_of(&pair.caller, text, sizeof(text));
	assert_string_equal(text, caller_heard);
	assert_true(has_state(&pair.callee, "CALL_DTMF_START"));
	assert_true(has_state(&pair.callee, "CALL_DTMF_1"));
	assert_true(has_state(&pair.callee, "CALL_DTMF_POUND"));
	assert_true(has_state(&pair.callee, "CALL_DTMF_END"));
	assert_true(has_state(&pair.caller, "CALL_DTMF_D"));
	assert_true(has_state(&pair.caller, "CALL_DTMF_ASTERISK"));
	assert_false(has_state(&pair.caller, "CALL_DTMF_1"));
	call = event(&pair.callee, "call", NULL, 0);
	assert_int_equal(number(stream(call, "in"), "lost"), 0);
	assert_int_equal(number(stream(call, "in"), "duplicates"), 0);
	assert_int_equal(
		number(stream(call, "in"), "packets"),
		number(stream(event(&pair.caller, "call", NULL, 0), "out"),
		       "packets"));
	pair_release(&pair);
}

static void test_dtmf_rtpevent(void **state)
{
	(void)state;
	dtmf_both_ways("rtpevent",
		       "in 1 rtpevent 110, in # rtpevent 110, "
		       "out D rtpevent 60, out * rtpevent 60, ",
		       "out 1 rtpevent 110, out # rtpevent 110, "
		       "in D rtpevent 60, in * rtpevent 60, ");
}

static void test_dtmf_info(void **state)
{
	(void)state;
	dtmf_both_ways("info",
		       "in 1 info 110, in # info 110, "
		       "out D info 60, out * info 60, ",
		       "out 1 info 110, out # info 110, "
		       "in D info 60, in * info 60, ");
	dtmf_both_ways("info-dtmf",
		       "in 1 info 0, in # info 0, "
		       "out D info 0, out * info 0, ",
		       "out 1 info 0, out # info 0, "
		       "in D info 0, in * info 0, ");
}

/* One side does not take telephone-events, so none are sent to it. */
static void test_dtmf_not_agreed(void **state)
{
	struct pair pair;
	json_t *a;

	(void)state;
	pair_start(&pair, ",\"dtmf_mode\":\"info\"",
		   ",\"call_duration\":1,\"sipclient_actions\":[[\"dtmf\","
		   "\"1\"]]");
	pair_end(&pair);
	a = event(&pair.caller, "assert", NULL, 0);
	assert_non_null(a);
	assert_string_equal(json_string_value(json_object_get(a, "text")),
			    "the peer did not agree to telephone-event");
	assert_null(event(&pair.callee, "dtmf", NULL, 0));
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
	/* Its call ends with a BYE, and the process too. */
	assert_int_equal(process_end(&pair.caller), 1);
	while (!event(&pair.callee, "call", NULL, 0))
		pump(&pair.callee);
	assert_true(has_state(&pair.callee, "CALL_ENDED_REMOTE"));
	send_text(&pair.callee, "{\"type\":\"cancel\"}");
	until_finish(&pair.callee, "stopped");
	assert_int_equal(process_end(&pair.callee), 0);
}

/* A caller that sends an INVITE and is never heard of again. */
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
	/* What was sent to nobody is accounted for all the same. */
	assert_true(number(stream(call, "out"), "packets") > 0);
	assert_int_equal(process_end(&p), 0);
}

/* An engine is no registrar and says so. */
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
		cmocka_unit_test(test_dtmf_rtpevent),
		cmocka_unit_test(test_dtmf_info),
		cmocka_unit_test(test_dtmf_not_agreed),
		cmocka_unit_test(test_assert_that_fails),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_supervisor_gone),
		cmocka_unit_test(test_end_without_ack),
		cmocka_unit_test(test_registration_refused),
		cmocka_unit_test(test_job_that_cannot_be),
		cmocka_unit_test(test_max_duration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
