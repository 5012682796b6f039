#include "control/cli/call/session.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/cli/call/child.h"
#include "control/cli/call/verdict.h"
#include "control/cli/call/view.h"
#include "control/cli/common/exit_code.h"
#include "control/wire/artifact.h"
#include "control/wire/frame.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct session {
	const struct cli_options *options;
	struct wire_channel *channel;
	struct view view;
	struct verdict verdict;
	int signal_fd;
	unsigned steps;
	unsigned calls_over; /* answer: calls that ended, of options->calls */
	bool ending;         /* the last `go` was sent */
	bool finished;
};

static void send_go(struct session *s, unsigned step)
{
	json_t *message = json_pack("{s:s, s:i, s:i}", "type", "go", "step",
				    (int)step, "in_ms", 0);

	wire_channel_send(s->channel, message);
	json_decref(message);
}

static void send_cancel(struct session *s)
{
	json_t *message = json_pack("{s:s}", "type", "cancel");

	wire_channel_send(s->channel, message);
	json_decref(message);
}

static void end(struct session *s)
{
	if (!s->ending)
		send_go(s, s->steps);
	s->ending = true;
}

static bool is_udp(const struct cli_options *o)
{
	return strcmp(o->transport, "udp") == 0;
}

/* Print the user that peers can call; requests to other users get 404. */
static void waiting(struct session *s)
{
	const struct cli_options *o = s->options;
	const char *user = o->user[0] ? o->user : CLI_ANSWER_USER;
	bool v6 = o->bind && strchr(o->bind, ':');

	if (o->host[0])
		view_line(&s->view,
			  "Waiting for calls to %s, registered at %s; "
			  "^C ends.",
			  user, o->host);
	else
		view_line(&s->view,
			  "Waiting for calls to sip:%s@%s%s%s:%u%s%s; "
			  "^C ends.",
			  user, v6 ? "[" : "", o->bind, v6 ? "]" : "",
			  o->sip_port, is_udp(o) ? "" : ";transport=",
			  is_udp(o) ? "" : o->transport);
}

static void on_ready(struct session *s, json_t *message)
{
	json_int_t step = json_integer_value(json_object_get(message, "step"));

	if (step + 1 < s->steps)
		send_go(s, (unsigned)step + 1);
	else if (s->options->command != CLI_ANSWER)
		end(s);
	else if (!s->options->json)
		waiting(s);
}

static void on_event(struct session *s, json_t *event)
{
	const char *kind = json_string_value(json_object_get(event, "kind"));
	bool shown = !s->options->json;

	if (!kind)
		return;
	verdict_event(&s->verdict, event);
	if (strcmp(kind, "call") == 0) {
		s->calls_over++;
		if (shown)
			view_call(&s->view, event);
		if (s->options->command == CLI_ANSWER &&
		    s->calls_over >= s->options->calls)
			end(s);
	} else if (strcmp(kind, "evidence") == 0) {
		if (shown)
			view_evidence(&s->view, event);
	} else if (shown &&
		   (s->options->verbose || strcmp(kind, "assert") == 0 ||
		    strcmp(kind, "dtmf") == 0 || strcmp(kind, "flaw") == 0)) {
		view_event(&s->view, event);
	}
}

/* The engine has closed NAME.part: rename it to NAME. */
static void on_artifact(struct session *s, json_t *message)
{
	const char *folder = s->options->record ? s->options->record
						: s->options->rtp_capture;
	const char *name = json_string_value(json_object_get(message, "name"));
	char part[PATH_MAX], path[PATH_MAX];

	if (!folder || !name || !wire_artifact_name_valid(name))
		return;
	if (str_print(path, sizeof(path), "%s/%s", folder, name) < 0 ||
	    str_print(part, sizeof(part), "%s" WIRE_ARTIFACT_PART, path) < 0 ||
	    rename(part, path)) {
		verdict_error(&s->verdict, "the recording %s/%s is lost: %s",
			      folder, name, strerror(errno));
		return;
	}
	verdict_recording(&s->verdict, path);
	if (!s->options->json)
		view_line(&s->view, "Recorded %s", path);
}

static void on_message(struct session *s, json_t *message)
{
	const char *type = json_string_value(json_object_get(message, "type"));
	json_t *item;
	size_t i;

	if (!type)
		return;
	if (strcmp(type, "ready") == 0) {
		on_ready(s, message);
	} else if (strcmp(type, "events") == 0) {
		json_array_foreach(json_object_get(message, "events"), i, item)
		{
			on_event(s, item);
		}
	} else if (strcmp(type, "sip") == 0 && !s->options->json) {
		json_array_foreach(json_object_get(message, "messages"), i,
				   item)
		{
			view_sip(&s->view, item);
		}
	} else if (strcmp(type, "live") == 0 && !s->options->json) {
		view_live(&s->view, message, clock_mono_ns());
	} else if (strcmp(type, "artifact") == 0) {
		on_artifact(s, message);
	} else if (strcmp(type, "finish") == 0) {
		verdict_finish(&s->verdict, message);
		s->finished = true;
	}
}

/** @return 0; -EPIPE the engine is gone; -errno */
static int read_messages(struct session *s)
{
	json_t *message = NULL;
	int r;

	while (!s->finished &&
	       (r = wire_channel_receive(s->channel, &message)) != 0) {
		if (r < 0)
			return r;
		on_message(s, message);
		json_decref(message);
	}
	return 0;
}

static void on_signal(struct session *s)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	/* answer has no other end: it finishes the job. A call is cancelled. */
	if (s->options->command == CLI_ANSWER && !s->ending)
		end(s);
	else
		send_cancel(s);
}

static int loop(struct session *s)
{
	while (!s->finished) {
		int left = wire_channel_flush(s->channel);
		struct pollfd fds[2] = {
			{.fd = wire_channel_fd(s->channel),
			 .events = left > 0 ? POLLIN | POLLOUT : POLLIN},
			{.fd = s->signal_fd, .events = POLLIN},
		};
		int err;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			on_signal(s);
		err = read_messages(s);
		if (err)
			return err;
	}
	return 0;
}

static int signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int run(struct session *s, json_t *job)
{
	pid_t pid;
	int fd;
	int code;
	int err = child_start(&pid, &fd, !s->options->verbose);

	if (err) {
		verdict_error(&s->verdict, "the engine cannot be started: %s",
			      strerror(-err));
		return err;
	}
	err = wire_channel_new(&s->channel, fd);
	if (err) {
		close(fd);
		child_wait(pid);
		verdict_error(&s->verdict, "%s", strerror(-err));
		return err;
	}
	err = wire_channel_send(s->channel, job);
	if (!err)
		send_go(s, 0);
	if (!err)
		err = loop(s);
	s->channel = wire_channel_free(s->channel);
	code = child_wait(pid);
	if (err && code == 127)
		verdict_error(
			&s->verdict,
			"offhook-agent is neither beside offhook nor in PATH");
	else if (err)
		verdict_error(&s->verdict,
			      "the engine died before it finished (%s %d)",
			      code < 0 ? "signal" : "exit code", code);
	return err;
}

static const char *word(int exit_code)
{
	if (exit_code == CLI_EXIT_ERRORED)
		return "ERRORED";
	return exit_code ? "FAILED" : "PASSED";
}

int session_run(const struct cli_options *o, json_t *job, unsigned steps)
{
	struct session s = {.options = o, .steps = steps};
	int exit_code;

	verdict_init(&s.verdict, o->command == CLI_REGISTER);
	s.verdict.expects_prompt = o->expect_prompt != NULL;
	view_init(&s.view, stdout);
	s.signal_fd = signals_open();
	if (s.signal_fd < 0)
		verdict_error(&s.verdict, "signals cannot be read");
	else
		run(&s, job);
	if (verdict_errored(&s.verdict))
		exit_code = CLI_EXIT_ERRORED;
	else
		exit_code = verdict_passed(&s.verdict) ? 0 : 1;
	if (o->json)
		verdict_print_json(&s.verdict, stdout);
	else
		view_line(&s.view, "%s: %s", word(exit_code),
			  verdict_reason(&s.verdict));
	verdict_release(&s.verdict);
	if (s.signal_fd >= 0)
		close(s.signal_fd);
	return exit_code;
}
