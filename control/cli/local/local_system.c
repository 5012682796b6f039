#include "control/cli/local/local_system.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/program.h"
#include "control/cli/local/local_folder.h"
#include "control/cli/run/run_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROLLER     "offhook-controller"
#define AGENT          "offhook-agent"
#define PROGRAMS_MAX   (1 + LOCAL_AGENTS_MAX)
#define NAME_BYTES     40
#define PATH_BYTES     (LOCAL_FOLDER_BYTES + NAME_BYTES)
#define CONF_BYTES     (4 * PATH_BYTES)
#define ANSWER_BYTES   1024
#define LOG_TAIL_BYTES 2048
#define LISTENING      "listening on "
#define PAUSE_MS       100
#define START_NS_MAX   (60 * NS_PER_S)
/* more than cancel_s of the agents, in which their calls end */
#define STOP_NS_MAX    (15 * NS_PER_S)
#define AGENT_CANCEL_S 8

struct program {
	char name[NAME_BYTES]; /* of its files: "agent-1" */
	pid_t pid;             /* 0: it has ended */
};

struct local_system {
	struct local_system_params params;
	struct local_folder folder;
	char url[80];
	char key[200];
	struct program programs[PROGRAMS_MAX]; /* the controller is the first */
	size_t count;
	int signals;
	const struct program *dead; /* ended by itself; NULL: none */
	int dead_status;            /* of waitpid() */
};

/* ---- signals ---- */

/* Wait a moment. @return true: a signal asked to end */
static bool pause_a_moment(const struct local_system *s)
{
	struct pollfd fd = {.fd = s->signals, .events = POLLIN};
	struct signalfd_siginfo info;

	return poll(&fd, 1, PAUSE_MS) > 0 &&
	       read(s->signals, &info, sizeof(info)) == sizeof(info);
}

/* ---- programs ---- */

static int path_of(const struct local_system *s, const char *name,
		   const char *suffix, char path[static PATH_BYTES])
{
	return str_print(path, PATH_BYTES, "%s/%s%s", s->folder.path, name,
			 suffix) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

/* The controller and the agent read settings from OFFHOOK_ variables. Those that the
 * user has set are for other controllers and agents: remove them. */
static void settings_remove(void)
{
	static const char prefix[] = "OFFHOOK_";
	char **kept = environ;

	for (char **variable = environ; *variable; variable++) {
		if (strncmp(*variable, prefix, sizeof(prefix) - 1) != 0)
			*kept++ = *variable;
	}
	*kept = NULL;
}

/* Become the program. Called in the child of fork(): async-signal-safe functions
 * only. */
static void become(const char *program, const char *path, char *const *argv,
		   const int fds[static 2], pid_t parent)
{
	sigset_t none;

	/* no engine and no database may outlive the command */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setpgid(0, 0); /* ^C is for the command alone */
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(fds[0], STDOUT_FILENO);
	dup2(fds[1], STDERR_FILENO);
	close(STDIN_FILENO);
	open("/dev/null", O_RDONLY);
	settings_remove();
	if (path[0])
		execv(path, argv);
	else
		execvp(program, argv);
	_exit(127);
}

/* Start a program that logs to NAME.log. @param out  its standard output; -1:
 * the log */
static int spawn(struct local_system *s, const char *program, char *const *argv,
		 const char *name, int out, pid_t *ret)
{
	char path[PATH_MAX], log[PATH_BYTES];
	int fds[2] = {out, -1};
	pid_t pid, parent = getpid();
	int err = path_of(s, name, ".log", log);

	if (program_beside(path, sizeof(path), program))
		path[0] = '\0';
	if (!err)
		fds[1] = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
			      0600);
	if (!err && fds[1] < 0)
		err = -errno;
	if (err)
		return err;
	if (out < 0)
		fds[0] = fds[1];
	pid = fork();
	if (pid == 0)
		become(program, path, argv, fds, parent);
	err = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (!err)
		*ret = pid;
	return err;
}

static void print_log_tail(const struct local_system *s, const char *name)
{
	char path[PATH_BYTES], text[LOG_TAIL_BYTES + 1];
	FILE *log = path_of(s, name, ".log", path) ? NULL : fopen(path, "re");
	const char *line = text;
	size_t len;

	if (!log)
		return;
	if (fseek(log, -LOG_TAIL_BYTES, SEEK_END))
		rewind(log);
	len = fread(text, 1, LOG_TAIL_BYTES, log);
	fclose(log);
	text[len] = '\0';
	/* begin at the beginning of a line */
	if (len == LOG_TAIL_BYTES && strchr(text, '\n'))
		line = strchr(text, '\n') + 1;
	fputs(line, stderr);
}

static int cannot_start(const char *program, int err)
{
	fprintf(stderr, "offhook: %s cannot be started: %s\n", program,
		strerror(-err));
	return CLI_EXIT_ERRORED;
}

/* Complain about a program that ended by itself. */
static int ended(const struct local_system *s, const char *program,
		 const char *name, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		fprintf(stderr,
			"offhook: %s is neither beside offhook nor in PATH: "
			"install it\n",
			program);
		return CLI_EXIT_ERRORED;
	}
	fprintf(stderr, "offhook: %s ended by itself (%s %d); its log ends:\n",
		program, WIFSIGNALED(status) ? "signal" : "exit status",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	print_log_tail(s, name);
	return CLI_EXIT_ERRORED;
}

static int add_program(struct local_system *s, const char *program,
		       char *const *argv, const char *name)
{
	struct program *p = &s->programs[s->count];
	int err;

	str_copy(p->name, sizeof(p->name), name);
	err = spawn(s, program, argv, name, -1, &p->pid);
	if (err)
		return cannot_start(program, err);
	s->count++;
	return 0;
}

bool local_system_broken(void *arg)
{
	struct local_system *s = arg;

	for (size_t i = 0; i < s->count && !s->dead; i++) {
		struct program *p = &s->programs[i];

		if (p->pid &&
		    waitpid(p->pid, &s->dead_status, WNOHANG) == p->pid) {
			p->pid = 0;
			s->dead = p;
		}
	}
	return s->dead != NULL;
}

void local_system_complain(const struct local_system *s)
{
	if (s->dead)
		ended(s, s->dead == s->programs ? CONTROLLER : AGENT,
		      s->dead->name, s->dead_status);
}

int local_system_pause(struct local_system *s)
{
	if (pause_a_moment(s)) {
		fputs("offhook: interrupted\n", stderr);
		return CLI_EXIT_ERRORED;
	}
	if (!local_system_broken(s))
		return 0;
	local_system_complain(s);
	return CLI_EXIT_ERRORED;
}

/* ---- the controller ---- */

static int write_controller_conf(struct local_system *s)
{
	char text[CONF_BYTES];

	str_print(text, sizeof(text),
		  "listen = \"127.0.0.1\"\n"
		  "port = 0\n"
		  "state_dir = \"%s/controller\"\n"
		  "rate_limit = 0\n"
		  "interval_s = 1\n"
		  "renew_s = 2\n",
		  s->folder.path);
	return local_folder_write(&s->folder, "controller.conf", text);
}

/* Complain about a controller that does not listen. */
static int too_slow(const struct local_system *s)
{
	fprintf(stderr,
		"offhook: %s did not start within %d s; its log ends:\n",
		CONTROLLER, (int)(START_NS_MAX / NS_PER_S));
	print_log_tail(s, "controller");
	return CLI_EXIT_ERRORED;
}

/* Wait until a descriptor of the controller is readable.
 * @return 0; CLI_EXIT_ERRORED: interrupted, or it takes too long */
static int wait_readable(struct local_system *s, int fd, int64_t until_ns)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	int status = 0;

	while (!status && poll(&ready, 1, PAUSE_MS) <= 0) {
		status = local_system_pause(s);
		if (!status && clock_mono_ns() > until_ns)
			status = too_slow(s);
	}
	return status;
}

/* Take the key from the JSON that --create-key printed. @return 0; -EINVAL: the text is
 * something else */
static int key_parse(struct local_system *s, const char *text, size_t len)
{
	json_t *key = json_loadb(text, len, 0, NULL);
	int err = -EINVAL;

	if (json_object_get(key, "secret") &&
	    str_print(s->key, sizeof(s->key), "%s:%s",
		      json_string_value(json_object_get(key, "public_key")),
		      json_string_value(json_object_get(key, "secret"))) > 0)
		err = 0;
	json_decref(key);
	return err;
}

/* Read the key that --create-key printed. @return as wait_readable() */
static int take_key(struct local_system *s, int fd, int64_t until_ns,
		    int *ret_err)
{
	char text[ANSWER_BYTES];
	size_t len = 0;
	ssize_t got = 1;
	int status = 0;

	while (!status && len < sizeof(text) && got > 0) {
		status = wait_readable(s, fd, until_ns);
		if (!status)
			got = read(fd, text + len, sizeof(text) - len);
		if (!status && got > 0)
			len += (size_t)got;
	}
	*ret_err = key_parse(s, text, len);
	explicit_bzero(text, sizeof(text));
	return status;
}

static int create_key(struct local_system *s, char *conf, int64_t until_ns)
{
	char *argv[] = {(char *)(uintptr_t)CONTROLLER,
			(char *)(uintptr_t) "--config",
			conf,
			(char *)(uintptr_t) "--create-key",
			(char *)(uintptr_t) "local",
			NULL};
	int fds[2], err, status, ended_with = 0, process;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return cannot_start(CONTROLLER, -errno);
	err = spawn(s, CONTROLLER, argv, "controller", fds[1], &pid);
	close(fds[1]);
	if (err) {
		close(fds[0]);
		return cannot_start(CONTROLLER, err);
	}
	process = pidfd_open(pid, 0); /* readable when it has ended */
	status = take_key(s, fds[0], until_ns, &err);
	close(fds[0]);
	if (!status && process >= 0)
		status = wait_readable(s, process, until_ns);
	if (process >= 0)
		close(process);
	if (status)
		kill(pid, SIGKILL);
	while (waitpid(pid, &ended_with, 0) < 0 && errno == EINTR)
		;
	if (!status && (err || ended_with))
		status = ended(s, CONTROLLER, "controller", ended_with);
	return status;
}

/* Find the address in the controller's log. @return false: not yet */
static bool find_url(struct local_system *s)
{
	char path[PATH_BYTES], line[512];
	FILE *log = path_of(s, "controller", ".log", path) ? NULL
							   : fopen(path, "re");
	bool found = false;

	while (log && !found && fgets(line, sizeof(line), log)) {
		const char *at = strstr(line, LISTENING);

		if (at && strchr(at, '\n'))
			found = str_print(
					s->url, sizeof(s->url), "%.*s",
					(int)strcspn(at + sizeof(LISTENING) - 1,
						     " \n"),
					at + sizeof(LISTENING) - 1) > 0;
	}
	if (log)
		fclose(log);
	return found;
}

static int start_controller(struct local_system *s)
{
	char conf[PATH_BYTES];
	char *argv[] = {(char *)(uintptr_t)CONTROLLER,
			(char *)(uintptr_t) "--config", conf, NULL};
	int64_t until_ns = clock_mono_ns() + START_NS_MAX;
	int err = write_controller_conf(s), status;

	if (!err)
		err = path_of(s, "controller", ".conf", conf);
	if (err)
		return cannot_start(CONTROLLER, err);
	status = create_key(s, conf, until_ns);
	if (!status)
		status = add_program(s, CONTROLLER, argv, "controller");
	while (!status && !find_url(s)) {
		status = local_system_pause(s);
		if (!status && clock_mono_ns() > until_ns)
			status = too_slow(s);
	}
	return status;
}

/* ---- agents ---- */

static int write_agent_conf(struct local_system *s, const char *name,
			    const char *join_token)
{
	char text[CONF_BYTES], file[NAME_BYTES];
	int err;

	str_print(file, sizeof(file), "%s.token", name);
	err = local_folder_write(&s->folder, file, join_token);
	str_print(text, sizeof(text),
		  "controller = \"%s\"\n"
		  "name = \"%s\"\n"
		  "join_token_file = \"%s/%s.token\"\n"
		  "state_dir = \"%s/%s\"\n"
		  "bind = \"%s\"\n"
		  "rtp_min = %u\n"
		  "rtp_max = %u\n"
		  "capacity = 64\n"
		  "stop_s = 0\n"
		  "cancel_s = %d\n",
		  s->url, name, s->folder.path, name, s->folder.path, name,
		  s->params.bind, s->params.rtp_min, s->params.rtp_max,
		  AGENT_CANCEL_S);
	str_print(file, sizeof(file), "%s.conf", name);
	return err ? err : local_folder_write(&s->folder, file, text);
}

int local_system_add_agent(struct local_system *s, const char *join_token)
{
	char name[NAME_BYTES], conf[PATH_BYTES];
	char *argv[] = {(char *)(uintptr_t)AGENT,
			(char *)(uintptr_t) "--foreground",
			(char *)(uintptr_t) "--config", conf, NULL};
	int err;

	if (s->count == PROGRAMS_MAX) {
		fprintf(stderr, "offhook: there are more than %d agents\n",
			LOCAL_AGENTS_MAX);
		return CLI_EXIT_ERRORED;
	}
	str_print(name, sizeof(name), "agent-%zu", s->count);
	err = write_agent_conf(s, name, join_token);
	if (!err)
		err = path_of(s, name, ".conf", conf);
	return err ? cannot_start(AGENT, err)
		   : add_program(s, AGENT, argv, name);
}

/* ---- begin and end ---- */

/* True if one of the programs [from, to) has not ended. */
static bool run_still(struct local_system *s, size_t from, size_t to)
{
	bool running = false;

	for (size_t i = from; i < to; i++) {
		struct program *p = &s->programs[i];

		if (p->pid && waitpid(p->pid, NULL, WNOHANG) != 0)
			p->pid = 0;
		running |= p->pid != 0;
	}
	return running;
}

/* @param whole  their engines, too */
static void signal_all(const struct local_system *s, size_t from, size_t to,
		       int number, bool whole)
{
	for (size_t i = from; i < to; i++) {
		pid_t pid = s->programs[i].pid;

		if (pid)
			kill(whole ? -pid : pid, number);
	}
}

static void stop(struct local_system *s, size_t from, size_t to)
{
	int64_t until_ns = clock_mono_ns() + STOP_NS_MAX;

	signal_all(s, from, to, SIGTERM, false);
	while (run_still(s, from, to) && clock_mono_ns() < until_ns)
		if (pause_a_moment(s))
			break;
	signal_all(s, from, to, SIGKILL, true);
	for (size_t i = from; i < to; i++)
		while (s->programs[i].pid &&
		       waitpid(s->programs[i].pid, NULL, 0) < 0 &&
		       errno == EINTR)
			;
}

int local_system_new(struct local_system **ret,
		     const struct local_system_params *params)
{
	struct local_system *s = calloc(1, sizeof(*s));
	int err = s ? local_folder_make(&s->folder) : -ENOMEM;
	int status;

	if (!err) {
		s->signals = run_signals_open();
		err = s->signals < 0 ? s->signals : 0;
	}
	if (err && s)
		local_folder_end(&s->folder, false);
	if (err) {
		fprintf(stderr, "offhook: no temporary folder: %s\n",
			strerror(-err));
		free(s);
		return CLI_EXIT_ERRORED;
	}
	s->params = *params;
	/* a closed pipe must not keep us from removing the folder */
	signal(SIGPIPE, SIG_IGN);
	/* all that these programs ask over HTTP is on loopback */
	setenv("no_proxy", "*", 1);
	status = start_controller(s);
	if (status)
		local_system_free(s);
	else
		*ret = s;
	return status;
}

struct local_system *local_system_free(struct local_system *s)
{
	if (!s)
		return NULL;
	/* agents first: they take leave of the controller */
	if (s->count > 1)
		stop(s, 1, s->count);
	if (s->count)
		stop(s, 0, 1);
	if (s->params.keep)
		fprintf(stderr, "offhook: kept %s\n", s->folder.path);
	local_folder_end(&s->folder, s->params.keep);
	run_signals_close(s->signals);
	explicit_bzero(s->key, sizeof(s->key));
	free(s);
	return NULL;
}

const char *local_system_url(const struct local_system *s)
{
	return s->url;
}

const char *local_system_key(const struct local_system *s)
{
	return s->key;
}

int local_system_signals(const struct local_system *s)
{
	return s->signals;
}
