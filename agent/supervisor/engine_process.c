#include "agent/supervisor/engine_process.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/load.h"
#include "control/wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Time for an engine to exit after it has closed its socket. */
#define EXIT_MS 5000
/* Messages read per turn of the loop, so that one engine does not starve the
 * others. */
#define MESSAGES_A_TURN 16

/* Descriptor of the socket in the engine's process. */
#define ENGINE_FD 3

struct engine_process {
	struct event_loop *loop;
	pid_t pid;
	bool reaped;
	bool sick; /* it broke the protocol and was killed */
	struct wire_channel *channel;
	struct event_loop_fd socket;
	struct event_loop_fd exit; /* a pidfd */
	struct event_loop_timer kill;
	struct engine_process_handlers handlers;
};

/* ---- the end ---- */

static void describe(const struct engine_process *p, int status, char *how,
		     size_t size)
{
	const char *sick = p->sick ? ", after it broke the protocol" : "";

	if (WIFSIGNALED(status))
		snprintf(how, size, "signal %d (%s)%s", WTERMSIG(status),
			 strsignal(WTERMSIG(status)), sick);
	else
		snprintf(how, size, "exited with status %d%s",
			 WEXITSTATUS(status), sick);
}

void engine_process_kill(struct engine_process *p)
{
	if (!p->reaped)
		kill(p->pid, SIGKILL);
}

static void on_kill_due(void *arg)
{
	struct engine_process *p = arg;

	log_warning("engine %d does not end: killed", (int)p->pid);
	engine_process_kill(p);
}

void engine_process_kill_after(struct engine_process *p, int64_t delay_ms)
{
	int64_t due = clock_mono_ns() + delay_ms * NS_PER_MS;

	if (!p->kill.armed || p->kill.due_ns > due)
		event_loop_arm(p->loop, &p->kill, delay_ms);
}

/* ---- messages ---- */

/* @return number of messages handed out; -EPIPE or another error: there will be
 * no more */
static int receive(struct engine_process *p, int limit)
{
	json_t *message;
	int n = 0, got = 0;

	while (n < limit &&
	       (got = wire_channel_receive(p->channel, &message)) == 1) {
		if (json_is_object(message))
			p->handlers.message_h(message, p->handlers.arg);
		json_decref(message);
		n++;
	}
	return got < 0 ? got : n;
}

/* @return false: the channel has failed */
static bool watch_socket(struct engine_process *p)
{
	int queued = wire_channel_flush(p->channel);

	if (queued < 0)
		return false;
	return event_loop_watch(p->loop, &p->socket,
				EPOLLIN | (queued > 0 ? EPOLLOUT : 0)) == 0;
}

static void on_socket(uint32_t events, void *arg)
{
	struct engine_process *p = arg;
	int n = receive(p, MESSAGES_A_TURN);

	(void)events;
	if (n == -EBADMSG || n == -EMSGSIZE) {
		log_error("engine %d sent an invalid message: killed",
			  (int)p->pid);
		p->sick = true;
		engine_process_kill(p);
	}
	if (n < 0 || !watch_socket(p)) {
		event_loop_unwatch(p->loop, &p->socket);
		engine_process_kill_after(p, EXIT_MS);
	}
}

static void on_exit_ready(uint32_t events, void *arg)
{
	struct engine_process *p = arg;
	char how[PROCESS_REASON_BYTES];
	int status = 0;

	(void)events;
	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	p->reaped = true;
	event_loop_disarm(p->loop, &p->kill);
	event_loop_unwatch(p->loop, &p->exit);
	event_loop_unwatch(p->loop, &p->socket);
	/* read what it sent before it ended */
	while (!p->sick && receive(p, MESSAGES_A_TURN) > 0)
		continue;
	describe(p, status, how, sizeof(how));
	p->handlers.end_h(how, p->handlers.arg);
}

int engine_process_send(struct engine_process *p, json_t *message)
{
	int err = wire_channel_send(p->channel, message);

	/* the rest is written when the socket is writable */
	if (err == 0 && p->socket.watched && !watch_socket(p))
		err = -EPIPE;
	return err;
}

const char *process_text(const struct engine_process *p, size_t *ret_len)
{
	return wire_channel_text(p->channel, ret_len);
}

/* ---- the start ---- */

/* Variables that may hold a secret, and that no engine reads: Offhook's own (a join
 * token), and HTTP proxies with their passwords. */
static bool environment_secret(const char *variable)
{
	size_t name = strcspn(variable, "=");

	return strncmp(variable, CONF_VARIABLE_PREFIX,
		       sizeof(CONF_VARIABLE_PREFIX) - 1) == 0 ||
	       (name >= 6 &&
		strncasecmp(variable + name - 6, "_proxy", 6) == 0);
}

/* @return our environment without secrets, freed by the caller; NULL: out of memory */
static char **engine_environment(void)
{
	size_t count = 0, kept = 0;
	char **list;

	while (environ[count])
		count++;
	list = calloc(count + 1, sizeof(*list));
	for (size_t i = 0; list && i < count; i++) {
		if (!environment_secret(environ[i]))
			list[kept++] = environ[i];
	}
	return list;
}

static int spawn(pid_t *ret, const char *program, int fd)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	char option[32], name[] = "offhook-agent";
	char *argv[] = {name, option, NULL};
	char **environment = engine_environment();
	int err;

	if (!environment)
		return -ENOMEM;
	str_print(option, sizeof(option), "--engine=%d", ENGINE_FD);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	/* not all of libcurl's descriptors are closed at exec: close by number */
	err = posix_spawn_file_actions_adddup2(&actions, fd, ENGINE_FD);
	if (!err)
		err = posix_spawn_file_actions_addclosefrom_np(&actions,
							       ENGINE_FD + 1);
	/* reset blocked and ignored signals; a process group of its own, so
	 * that Ctrl-C in a terminal reaches only the supervisor */
	if (!err)
		err = posix_spawnattr_setsigmask(&attr, &none);
	if (!err)
		err = posix_spawnattr_setsigdefault(&attr, &all);
	if (!err)
		err = posix_spawnattr_setpgroup(&attr, 0);
	if (!err)
		err = posix_spawnattr_setflags(
			&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
				       POSIX_SPAWN_SETPGROUP);
	if (!err)
		err = posix_spawn(ret, program, &actions, &attr, argv,
				  environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	free(environment);
	return -err;
}

static int watch(struct engine_process *p)
{
	int err;

	p->exit.fd = pidfd_open(p->pid, 0);
	if (p->exit.fd < 0)
		return -errno;
	err = event_loop_watch(p->loop, &p->exit, EPOLLIN);
	return err ? err : event_loop_watch(p->loop, &p->socket, EPOLLIN);
}

int engine_process_start(struct engine_process **ret, struct event_loop *loop,
			 const char *program,
			 const struct engine_process_handlers *handlers)
{
	struct engine_process *p = calloc(1, sizeof(*p));
	int pair[2] = {-1, -1}, err;

	if (!p)
		return -ENOMEM;
	p->loop = loop;
	p->handlers = *handlers;
	p->reaped = true;
	p->exit = (struct event_loop_fd){
		.fd = -1, .ready_h = on_exit_ready, .arg = p};
	p->socket = (struct event_loop_fd){
		.fd = -1, .ready_h = on_socket, .arg = p};
	p->kill.due_h = on_kill_due;
	p->kill.arg = p;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		err = -errno;
		goto out;
	}
	err = wire_channel_new(&p->channel, pair[0]);
	if (err) {
		close(pair[0]);
		goto out;
	}
	p->socket.fd = pair[0];
	err = spawn(&p->pid, program, pair[1]);
	if (err)
		goto out;
	p->reaped = false;
	err = watch(p);
out:
	if (pair[1] >= 0)
		close(pair[1]);
	if (err)
		engine_process_free(p);
	else
		*ret = p;
	return err;
}

void engine_process_hand_over(struct engine_process *p,
			      const struct engine_process_handlers *handlers)
{
	p->handlers = *handlers;
}

struct engine_process *engine_process_free(struct engine_process *p)
{
	if (!p)
		return NULL;
	event_loop_disarm(p->loop, &p->kill);
	event_loop_unwatch(p->loop, &p->socket);
	event_loop_unwatch(p->loop, &p->exit);
	if (!p->reaped) {
		kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	if (p->exit.fd >= 0)
		close(p->exit.fd);
	wire_channel_free(p->channel);
	free(p);
	return NULL;
}
