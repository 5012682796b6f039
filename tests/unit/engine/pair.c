#include "pair.h"

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

#define PORT_FIRST 4000
#define PORTS      7919 /* a prime */

#define PATIENCE_NS (60 * NS_PER_S) /* a limit for an engine that hangs */

static bool port_is_free(int type, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, type, 0);
	bool yes = bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0;

	close(fd);
	return yes;
}

/*
 * Below the kernel's ephemeral ports and below those of tests/e2e. Processes
 * that run in parallel start far from each other.
 */
uint16_t free_port(void)
{
	static uint16_t offset;

	for (int tries = 0; tries < PORTS; tries++) {
		uint16_t port = (uint16_t)(PORT_FIRST +
					   (getpid() * 37 + offset++) % PORTS);

		if (port_is_free(SOCK_DGRAM, port) &&
		    port_is_free(SOCK_STREAM, port))
			return port;
	}
	fail_msg("no port is free");
	return 0;
}

void process_start(struct process *p)
{
	int fds[2];

	*p = (struct process){.ready = -1};
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	fflush(NULL);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		/*
		 * the engine must not inherit these: it would keep the other
		 * ends open
		 */
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

int process_end(struct process *p)
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

void send_text(struct process *p, const char *text)
{
	json_t *message = json_loads(text, 0, NULL);

	assert_non_null(message);
	assert_int_equal(wire_channel_send(p->channel, message), 0);
	json_decref(message);
}

void send_go(struct process *p, int step)
{
	char text[64];

	snprintf(text, sizeof(text),
		 "{\"type\":\"go\",\"step\":%d,\"in_ms\":0}", step);
	send_text(p, text);
}

static void take(struct process *p, json_t *message)
{
	const char *type = json_string_value(json_object_get(message, "type"));

	assert_null(p->finish); /* no event follows it */
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

void pump(struct process *p)
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

void until_ready(struct process *p, int step)
{
	int64_t end_ns = clock_mono_ns() + PATIENCE_NS;

	while (p->ready < step && !p->finish && clock_mono_ns() < end_ns)
		pump(p);
	assert_int_equal(p->ready, step);
}

void until_finish(struct process *p, const char *outcome)
{
	int64_t end_ns = clock_mono_ns() + PATIENCE_NS;

	while (!p->finish && clock_mono_ns() < end_ns)
		pump(p);
	assert_non_null(p->finish);
	assert_string_equal(
		json_string_value(json_object_get(p->finish, "outcome")),
		outcome);
}

const char *reason(const struct process *p)
{
	return json_string_value(json_object_get(p->finish, "reason"));
}

json_t *event(const struct process *p, const char *kind, const char *state_name,
	      int n)
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

bool has_state(const struct process *p, const char *name)
{
	return event(p, "state", name, 0) != NULL;
}

json_t *stream(json_t *call, const char *dir)
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

json_int_t number(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	assert_true(json_is_number(value));
	return (json_int_t)json_number_value(value);
}

json_int_t samples(const struct process *p, const char *dir,
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

void send_job(struct process *p, const char *role, uint16_t sip_port,
	      const char *steps)
{
	char text[4096];
	/* each engine has its own RTP ports, whatever runs in parallel */
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

void pair_start(struct pair *pair, const char *answer, const char *call)
{
	char steps[2048];

	pair->port = free_port();
	process_start(&pair->callee);
	process_start(&pair->caller);
	snprintf(steps, sizeof(steps),
		 "[[{\"type\":\"answer\",\"credentials\":[{\"username\":"
		 "\"1002\"}],\"target\":{\"hosts\":[{\"host\":\"127.0.0.1\","
		 "\"port\":%u}]}%s}],[]]",
		 pair->port, answer);
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

void pair_end(struct pair *pair)
{
	until_ready(&pair->caller, 1);
	until_ready(&pair->callee, 1);
	send_go(&pair->caller, 2);
	send_go(&pair->callee, 2);
	until_finish(&pair->caller, "completed");
	until_finish(&pair->callee, "completed");
}

void pair_release(struct pair *pair)
{
	assert_int_equal(process_end(&pair->caller), 0);
	assert_int_equal(process_end(&pair->callee), 0);
}
