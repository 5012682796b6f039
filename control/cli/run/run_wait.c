#include "control/cli/run/run_wait.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/cli/client/client.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"
#include "control/cli/run/progress.h"
#include "control/wire/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define PATH_BYTES     200
#define TEXT_BYTES     200
#define POLL_FIRST_MS  250 /* a run that fails at once is over soon */
#define POLL_MAX_MS    1000
#define RETRY_FIRST_MS 500
#define RETRY_MAX_MS   5000
#define LINE_EVERY_S   30 /* without a terminal, if nothing else is said */

/* What a poll found, besides 0, still going, and negative errno. */
#define RUN_OVER 1

struct waiting {
	const struct run_wait_params *p;
	struct remote *remote;
	bool terminal;  /* standard error takes the progress line */
	bool asks;      /* there is somebody to ask */
	bool line_open; /* the progress line is shown */
	bool asking;    /* the question is shown */
	bool stop;      /* the run has to be stopped */
	bool stop_sent;
	int64_t start_ns, line_ns; /* of the last line */
	int64_t away_ns;           /* no answer since; 0: it answers */
	int retry_ms;
	char reason[REMOTE_REASON_BYTES]; /* why there was none */
	struct progress progress;
	char text[TEXT_BYTES];         /* of the progress */
	char attempt[UUID_TEXT_BYTES]; /* session id of the current attempt */
	char *waiting;                 /* its last `waiting_for` */
	size_t told;                   /* project: runs that were reported */
	json_t *last;                  /* last answer about the run */
};

int run_wait_read_retry(const char *value, unsigned *ret_s)
{
	uint64_t seconds;

	if (str_to_u64(value, RUN_WAIT_RETRY_S_MAX, &seconds))
		return client_usage("--retry-for is 0 to %d seconds",
				    RUN_WAIT_RETRY_S_MAX);
	*ret_s = (unsigned)seconds;
	return 0;
}

/* ---- signals ---- */

int run_signals_open(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

void run_signals_close(int signals)
{
	struct signalfd_siginfo info;
	sigset_t set;

	/* those that came when the run was over have nothing to stop */
	while (read(signals, &info, sizeof(info)) == sizeof(info))
		;
	close(signals);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* ---- what is shown ---- */

static void clear_line(struct waiting *w)
{
	if (w->line_open)
		fputs("\r\033[K", stderr);
	w->line_open = false;
}

static void print_question(const struct waiting *w)
{
	fprintf(stderr, "\nStop the %srun? ^C again stops it. [y/N] ",
		w->p->project ? "project " : "");
	fflush(stderr);
}

/* Print a line above the progress line. Texts of the controller are made safe. */
__attribute__((format(printf, 2, 3))) static void say(struct waiting *w,
						      const char *fmt, ...)
{
	char text[REMOTE_REASON_BYTES + TEXT_BYTES];
	va_list args;

	clear_line(w);
	if (w->asking)
		fputc('\n', stderr);
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	terminal_tell(text);
	w->line_ns = clock_mono_ns();
	if (w->asking)
		print_question(w);
}

static void ask(struct waiting *w)
{
	clear_line(w);
	tcflush(STDIN_FILENO, TCIFLUSH);
	print_question(w);
	w->asking = true;
}

static void show_progress(struct waiting *w)
{
	int64_t now = clock_mono_ns();

	if (w->asking)
		return;
	w->progress.elapsed_s = (now - w->start_ns) / NS_PER_S;
	w->progress.text = w->text;
	if (w->terminal) {
		clear_line(w);
		progress_print(stderr, &w->progress, terminal_width(stderr));
		fflush(stderr);
		w->line_open = true;
	} else if (now - w->line_ns >= LINE_EVERY_S * NS_PER_S) {
		say(w, "%s, %.0f %%, after %lld s", w->text,
		    100 * w->progress.done, (long long)w->progress.elapsed_s);
	}
}

/* The text of the progress; without a terminal a line for each new one. */
__attribute__((format(printf, 2, 3))) static void now_is(struct waiting *w,
							 const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (strcmp(text, w->text) == 0)
		return;
	(void)str_copy(w->text, sizeof(w->text), text);
	if (!w->terminal && !w->p->quiet && text[0])
		say(w, "%s", text);
}

/* ---- requests ---- */

static void note_away(struct waiting *w, int64_t asked_ns)
{
	if (!w->away_ns) {
		w->away_ns = asked_ns;
		w->retry_ms = RETRY_FIRST_MS;
		say(w,
		    "the controller does not answer (%s); trying again for "
		    "%u s",
		    w->reason, w->p->retry_s);
	} else if (w->retry_ms < RETRY_MAX_MS) {
		w->retry_ms *= 2;
	}
}

/* @return 0; -EINTR a signal came; -EAGAIN no answer, or one that says to ask
 * later; -EINVAL it was refused, see w->reason */
static int request(struct waiting *w, const char *method, const char *path,
		   struct remote_answer *ret)
{
	int64_t asked_ns = clock_mono_ns();
	int err = remote_call_json(w->remote, method, path, NULL, NULL, ret,
				   w->reason);

	if (err == -EINTR)
		return err;
	if (err && remote_is_passing(w->remote)) {
		note_away(w, asked_ns);
		return -EAGAIN;
	}
	if (w->away_ns)
		say(w, "the controller is back after %lld s",
		    (long long)((asked_ns - w->away_ns) / NS_PER_S));
	w->away_ns = 0;
	return err ? -EINVAL : 0;
}

static int send_stop(struct waiting *w)
{
	struct remote_answer a = {.status = 0};
	char path[PATH_BYTES];
	int err;

	str_print(path, sizeof(path), "%s/%s/stop",
		  w->p->project ? "/projects/runs" : "/runs", w->p->uuid);
	err = request(w, "POST", path, &a);
	if (!err)
		remote_answer_release(&a);
	if (err == -EINVAL && remote_status(w->remote) == 409)
		err = 0; /* it is over, or is being stopped */
	if (!err) {
		w->stop_sent = true;
		say(w, "the run is being stopped");
	}
	return err;
}

/* Read one part of the API into w->last. */
static int read_run(struct waiting *w, const char *fmt, const char *uuid)
{
	struct remote_answer a;
	char path[PATH_BYTES];
	int err;

	str_print(path, sizeof(path), "%s%s%s",
		  w->p->project ? "/projects/runs/" : "/runs/", uuid, fmt);
	err = request(w, "GET", path, &a);
	if (err)
		return err;
	json_decref(w->last);
	w->last = json_incref(json_object_get(a.body, "run"));
	remote_answer_release(&a);
	return w->last ? 0 : -ENOMEM;
}

/* ---- a run ---- */

/* Say what the run waits for (`waiting_for`), each time it is something else. */
static void tell_waiting(struct waiting *w)
{
	const json_t *value = json_object_get(w->last, "waiting_for");
	const char *waiting = json_string_value(value);

	if (waiting && (!w->waiting || strcmp(w->waiting, waiting) != 0))
		say(w, "the run waits: %s", waiting);
	free(w->waiting);
	w->waiting = waiting ? strdup(waiting) : NULL;
}

/* Go on with the attempt that has replaced this one, if there is one. */
static bool tell_attempt(struct waiting *w)
{
	const char *next = text_of(w->last, "retried_by");

	if (!next[0] || strcmp(next, w->attempt) == 0 ||
	    str_copy(w->attempt, sizeof(w->attempt), next) < 0)
		return false;
	say(w, "attempt %lld %s: %s",
	    (long long)json_integer_value(json_object_get(w->last, "attempt")),
	    text_of(w->last, "status"), text_of(w->last, "result_description"));
	w->text[0] = '\0';
	return true;
}

static int poll_run(struct waiting *w)
{
	long long attempt;
	bool over;
	int err = read_run(w, "/status", w->p->uuid);

	/* it stays `running` until the last attempt is over */
	over = !err && strcmp(text_of(w->last, "status"), "running") != 0;
	do
		if (!err)
			err = read_run(w, "", w->attempt);
	while (!err && tell_attempt(w));
	if (err)
		return err;
	tell_waiting(w);
	attempt = json_integer_value(json_object_get(w->last, "attempt"));
	w->progress.done =
		json_number_value(json_object_get(w->last, "progress"));
	if (over)
		return RUN_OVER;
	if (attempt > 1)
		now_is(w, "attempt %lld %s", attempt,
		       text_of(w->last, "phase"));
	else
		now_is(w, "%s", text_of(w->last, "phase"));
	return 0;
}

/* ---- a project run ---- */

static json_int_t number(const struct waiting *w, const char *member)
{
	return json_integer_value(json_object_get(w->last, member));
}

/* Report the runs of a project that have ended, in their order. */
static void tell_runs(struct waiting *w)
{
	const json_t *runs = json_object_get(w->last, "runs"), *run;

	while ((run = json_array_get(runs, w->told)) &&
	       strcmp(text_of(run, "status"), "running") != 0) {
		const char *result = text_of(run, "result_description");

		say(w, "%s: %s%s%s", text_of(run, "status"),
		    text_of(run, "test_name"), result[0] ? ": " : "", result);
		w->told++;
	}
}

static int poll_project(struct waiting *w)
{
	json_int_t total, over;
	int err = read_run(w, "/status", w->p->uuid);

	if (err)
		return err;
	tell_runs(w);
	total = number(w, "total_tests");
	over = number(w, "tests_passed") + number(w, "tests_failed");
	w->progress.done = total > 0 ? (double)over / (double)total : 0;
	if (strcmp(text_of(w->last, "run_status"), "running") != 0)
		return RUN_OVER;
	now_is(w, "test %lld of %lld", (long long)number(w, "tests_started"),
	       (long long)total);
	return 0;
}

/* ---- interrupts ---- */

static void stop(struct waiting *w)
{
	if (w->asking)
		fputc('\n', stderr);
	w->asking = false;
	if (!w->stop)
		say(w, "stopping the run");
	w->stop = true;
}

/* @return true: the user does not want to wait for the end either */
static bool take_signals(struct waiting *w)
{
	struct signalfd_siginfo info;

	while (read(w->p->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGINT && w->stop)
			return true;
		if (info.ssi_signo == SIGINT && w->asks && !w->asking)
			ask(w);
		else
			stop(w);
	}
	return false;
}

static void take_answer(struct waiting *w)
{
	char line[80];
	ssize_t len = read(STDIN_FILENO, line, sizeof(line));

	if (len > 0 && (line[0] == 'y' || line[0] == 'Y')) {
		w->asking = false;
		stop(w);
		return;
	}
	if (len <= 0) /* end of file: nobody can be asked any more */
		w->asks = false;
	w->asking = false;
	say(w, "the run goes on");
}

/* Wait for the next poll, a signal or an answer. @return true: the user gives
 * up */
static bool pause_for(struct waiting *w, int ms)
{
	struct pollfd fds[] = {
		{.fd = w->p->signals, .events = POLLIN},
		{.fd = w->asking ? STDIN_FILENO : -1, .events = POLLIN},
	};

	if (poll(fds, 2, ms) <= 0)
		return false;
	if (fds[0].revents && take_signals(w))
		return true;
	if (fds[1].revents && w->asking)
		take_answer(w);
	return false;
}

/* ---- ends ---- */

/* Say that the run was left as it is. */
static int leave(struct waiting *w)
{
	if (w->stop_sent)
		say(w, "the run is being stopped; its end was not waited for");
	else
		say(w, "the run was not stopped and may still be going");
	if (w->p->report_url)
		say(w, "its report: %s", w->p->report_url);
	return CLI_EXIT_ERRORED;
}

static int gone(struct waiting *w)
{
	say(w, "the controller did not answer for %u s: %s", w->p->retry_s,
	    w->reason);
	fputs("       --retry-for S tries longer\n", stderr);
	return leave(w);
}

static int refused(struct waiting *w)
{
	clear_line(w);
	client_refused(w->p->client, w->reason);
	return leave(w);
}

static bool is_gone(const struct waiting *w)
{
	return w->away_ns && clock_mono_ns() - w->away_ns >=
				     (int64_t)w->p->retry_s * NS_PER_S;
}

static int wait_loop(struct waiting *w)
{
	for (int poll_ms = POLL_FIRST_MS;;
	     poll_ms = poll_ms < POLL_MAX_MS ? 2 * poll_ms : POLL_MAX_MS) {
		int err = 0;

		if (w->p->broken && w->p->broken(w->p->arg))
			return CLI_EXIT_ERRORED;
		if (w->stop && !w->stop_sent)
			err = send_stop(w);
		if (!err)
			err = w->p->project ? poll_project(w) : poll_run(w);
		if (err == RUN_OVER)
			return 0;
		if (err == -EINTR) {
			if (take_signals(w))
				return leave(w);
			continue;
		}
		if (err && err != -EAGAIN)
			return refused(w);
		if (is_gone(w))
			return gone(w);
		show_progress(w);
		if (pause_for(w, err ? w->retry_ms : poll_ms))
			return leave(w);
	}
}

int run_wait(const struct run_wait_params *p, json_t **ret)
{
	struct waiting w = {
		.p = p,
		.remote = client_remote(p->client),
		.terminal = terminal_is(stderr),
		.asks = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1,
		.start_ns = clock_mono_ns(),
		.line_ns = clock_mono_ns(),
		.waiting = p->waiting ? strdup(p->waiting) : NULL,
	};
	int status;

	(void)str_copy(w.attempt, sizeof(w.attempt), p->uuid);
	remote_stop_on(w.remote, p->signals);
	status = wait_loop(&w);
	remote_stop_on(w.remote, -1);
	if (w.asking)
		fputc('\n', stderr);
	clear_line(&w);
	free(w.waiting);
	if (status)
		json_decref(w.last);
	else
		*ret = w.last;
	return status;
}
