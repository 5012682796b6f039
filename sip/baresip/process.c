#include "sip/baresip/process.h"

#include <re.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/baresip/control.h"
#include "sip/mono_timer.h"

#define WATCH_MS   1000 /* period of the check for hangs */
#define READ_BYTES 16384
#define READS_MAX  64 /* reads of its output per turn of the loop */

struct baresip_process {
	struct baresip_process_params params;
	struct baresip_launched is;
	struct baresip_control control;
	bool lost;
	struct baresip_trace trace;
	char last_line[BARESIP_LINE_BYTES]; /* of its log */
	char lost_reason[SIP_REASON_BYTES];
	int64_t started_ns;
	struct mono_timer tmr_watch;
	struct mono_timer tmr_lost;
};

uint16_t baresip_process_port(const struct baresip_process *p)
{
	return p->is.sip_port;
}

/* ---- the end ---- */

static void unwatch(int *fd)
{
	if (*fd < 0)
		return;
	fd_close(*fd);
	close(*fd);
	*fd = -1;
}

/* Remove the folder, so that no password stays on the disk. */
static void folder_drop(struct baresip_process *p)
{
	if (p->is.folder[0])
		baresip_folder_remove(p->is.folder);
	p->is.folder[0] = '\0';
}

static void stop(struct baresip_process *p)
{
	mono_timer_cancel(&p->tmr_watch);
	baresip_control_end(&p->control);
	unwatch(&p->is.terminal);
	unwatch(&p->is.pid_fd);
	if (p->is.pid > 0) {
		kill(p->is.pid, SIGKILL);
		waitpid(p->is.pid, NULL, 0);
		p->is.pid = 0;
	}
	folder_drop(p);
}

static void lost_due(void *arg)
{
	struct baresip_process *p = arg;

	/* last, as it may free p */
	p->params.lost_h(p->lost_reason, p->params.arg);
}

/* Reported from a timer, as this may be called while its messages are handled. */
__attribute__((format(printf, 2, 3))) static void lose(
	struct baresip_process *p, const char *fmt, ...)
{
	va_list args;

	if (p->lost)
		return;
	p->lost = true;
	va_start(args, fmt);
	vsnprintf(p->lost_reason, sizeof(p->lost_reason), fmt, args);
	va_end(args);
	stop(p);
	mono_timer_start(&p->tmr_lost, 0, lost_due, p);
}

static void exited(struct baresip_process *p)
{
	int status = 0;

	if (p->is.pid <= 0 || waitpid(p->is.pid, &status, WNOHANG) != p->is.pid)
		return;
	p->is.pid = 0;
	if (WIFSIGNALED(status))
		lose(p, "baresip ended: signal %d (%s)", WTERMSIG(status),
		     strsignal(WTERMSIG(status)));
	else
		lose(p, "baresip ended with status %d: %s", WEXITSTATUS(status),
		     p->last_line[0] ? p->last_line : "it said nothing");
}

/* ---- its output ---- */

static void line_taken(const char *line, void *arg)
{
	struct baresip_process *p = arg;

	(void)str_copy(p->last_line, sizeof(p->last_line), line);
}

static void message_traced(const struct baresip_traced *m, void *arg)
{
	struct baresip_process *p = arg;

	if (!p->lost)
		p->params.traced_h(m, p->params.arg);
}

/* Read all its output so far: later events refer to it. */
static void drain(struct baresip_process *p)
{
	char data[READ_BYTES];

	for (int i = 0; i < READS_MAX && p->is.terminal >= 0; i++) {
		ssize_t n = read(p->is.terminal, data, sizeof(data));

		if (n <= 0)
			return;
		if (baresip_trace_feed(&p->trace, data, (size_t)n))
			lose(p, "out of memory");
	}
}

static void terminal_ready(int flags, void *arg)
{
	struct baresip_process *p = arg;

	(void)flags;
	drain(p);
	/* EIO: it closed its side and is ending */
	exited(p);
}

static void exit_ready(int flags, void *arg)
{
	struct baresip_process *p = arg;

	(void)flags;
	drain(p);
	exited(p);
}

/* ---- its control connection ---- */

static void control_up(void *arg)
{
	struct baresip_process *p = arg;

	folder_drop(p);
	p->params.up_h(p->params.arg);
	/* the answer shows that the connection is up and has its events */
	baresip_process_command(p, "uanext", NULL, "alive");
}

static void control_before(void *arg)
{
	drain(arg);
}

static void control_told(const struct baresip_message *m, void *arg)
{
	struct baresip_process *p = arg;

	p->params.message_h(m, p->params.arg);
}

static void control_closed(void *arg)
{
	/* its exit status, which may follow, is a better reason */
	exited(arg);
}

static void control_broken(const char *reason, void *arg)
{
	lose(arg, "%s", reason);
}

int baresip_process_command(struct baresip_process *p, const char *command,
			    const char *params, const char *token)
{
	return baresip_control_command(&p->control, command, params, token);
}

/* ---- detection of hangs ---- */

static void watch(void *arg)
{
	struct baresip_process *p = arg;
	int64_t now_ns = clock_mono_ns();

	exited(p);
	if (p->lost)
		return;
	if (p->control.up && p->control.fd < 0) {
		lose(p, "baresip closed its control connection: it was ended");
		return;
	}
	if (!p->control.up &&
	    now_ns - p->started_ns > BARESIP_START_MS * NS_PER_MS) {
		lose(p, "baresip did not start within %d s: %s",
		     BARESIP_START_MS / 1000,
		     p->last_line[0] ? p->last_line : "it said nothing");
		return;
	}
	if (p->control.asked_ns &&
	    now_ns - p->control.asked_ns > BARESIP_ANSWER_MS * NS_PER_MS) {
		lose(p, "baresip did not answer for %d s: it was ended",
		     BARESIP_ANSWER_MS / 1000);
		return;
	}
	if (p->control.up && !p->control.asked)
		baresip_process_command(p, "uanext", NULL, "alive");
	mono_timer_start(&p->tmr_watch, WATCH_MS, watch, p);
}

/* ---- the start ---- */

static int start(struct baresip_process *p, char *reason)
{
	const struct baresip_launch_params params = {
		.account = p->params.account,
		.bind_addr = p->params.bind_addr,
		.rtp_min = p->params.rtp_min,
		.rtp_max = p->params.rtp_max,
		.rtcp_mux = p->params.rtcp_mux,
	};
	int err = baresip_launch(&p->is, &params);

	if (!err)
		err = -fd_listen(p->is.terminal, FD_READ, terminal_ready, p);
	if (!err)
		err = -fd_listen(p->is.pid_fd, FD_READ, exit_ready, p);
	if (err)
		snprintf(reason, SIP_REASON_BYTES,
			 "baresip cannot be started: %s", strerror(-err));
	return err;
}

int baresip_process_new(struct baresip_process **ret,
			const struct baresip_process_params *params,
			char *reason)
{
	struct baresip_control_handlers handlers = {
		.up_h = control_up,
		.before_h = control_before,
		.message_h = control_told,
		.closed_h = control_closed,
		.broken_h = control_broken,
	};
	struct baresip_process *p;
	int err = baresip_installed(reason);

	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->params = *params;
	p->started_ns = clock_mono_ns();
	handlers.arg = p;
	baresip_control_init(&p->control, &handlers);
	baresip_trace_init(&p->trace, message_traced, line_taken, p);
	err = start(p, reason);
	if (err) {
		baresip_process_free(p);
		return err;
	}
	p->params.account = NULL;
	p->params.bind_addr = NULL;
	baresip_control_start(&p->control, &p->is.control_addr);
	mono_timer_start(&p->tmr_watch, WATCH_MS, watch, p);
	*ret = p;
	return 0;
}

struct baresip_process *baresip_process_free(struct baresip_process *p)
{
	if (!p)
		return NULL;
	p->lost = true;
	stop(p);
	mono_timer_cancel(&p->tmr_lost);
	baresip_trace_release(&p->trace);
	baresip_control_release(&p->control);
	free(p);
	return NULL;
}
