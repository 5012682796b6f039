#include "sip/baresip/process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <re.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "sip/baresip/folder.h"
#include "sip/baresip/netstring.h"

#define CONNECT_MS   50   /* between tries */
#define WATCH_MS     1000 /* between looks at it */
#define COMMANDS_MAX (1u << 20)
#define READ_BYTES   16384
#define READS_MAX    64 /* of its output in a turn */

struct baresip_process {
	struct baresip_process_params params;
	uint16_t sip_port;
	pid_t pid;
	int pid_fd;
	int terminal;
	int control; /* -1: not connected */
	bool connecting;
	bool up;
	bool lost;
	struct sockaddr_in control_addr;
	char folder[BARESIP_FOLDER_BYTES]; /* "": removed */
	struct baresip_trace trace;
	struct buf in;
	struct buf out;
	char last_line[BARESIP_LINE_BYTES]; /* of its log */
	char lost_reason[SIP_REASON_BYTES];
	int64_t started_ns;
	int64_t asked_ns; /* oldest command without an answer; 0: none */
	unsigned asked;   /* commands without an answer */
	struct tmr tmr_connect;
	struct tmr tmr_watch;
	struct tmr tmr_lost;
};

uint16_t baresip_process_port(const struct baresip_process *p)
{
	return p->sip_port;
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

static void stop(struct baresip_process *p)
{
	tmr_cancel(&p->tmr_connect);
	tmr_cancel(&p->tmr_watch);
	unwatch(&p->control);
	unwatch(&p->terminal);
	unwatch(&p->pid_fd);
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
		p->pid = 0;
	}
	if (p->folder[0])
		baresip_folder_remove(p->folder);
	p->folder[0] = '\0';
}

static void lost_due(void *arg)
{
	struct baresip_process *p = arg;

	/* last: it may release p */
	p->params.lost_h(p->lost_reason, p->params.arg);
}

/* Told in a turn of its own: we may be in the midst of its messages. */
static void lose(struct baresip_process *p, const char *fmt, ...)
{
	va_list args;

	if (p->lost)
		return;
	p->lost = true;
	va_start(args, fmt);
	vsnprintf(p->lost_reason, sizeof(p->lost_reason), fmt, args);
	va_end(args);
	stop(p);
	tmr_start(&p->tmr_lost, 0, lost_due, p);
}

static void exited(struct baresip_process *p)
{
	int status = 0;

	if (p->pid <= 0 || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	p->pid = 0;
	if (WIFSIGNALED(status))
		lose(p, "baresip ended: signal %d (%s)", WTERMSIG(status),
		     strsignal(WTERMSIG(status)));
	else
		lose(p, "baresip ended with status %d: %s", WEXITSTATUS(status),
		     p->last_line[0] ? p->last_line : "it said nothing");
}

/* ---- what it prints ---- */

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

/* Everything it printed so far: what it tells afterwards refers to it. */
static void drain(struct baresip_process *p)
{
	char data[READ_BYTES];

	for (int i = 0; i < READS_MAX && p->terminal >= 0; i++) {
		ssize_t n = read(p->terminal, data, sizeof(data));

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
	/* EIO: it closed its side, and ends */
	exited(p);
}

static void exit_ready(int flags, void *arg)
{
	struct baresip_process *p = arg;

	(void)flags;
	drain(p);
	exited(p);
}

/* ---- commands ---- */

static void control_ready(int flags, void *arg);

static void control_listen(struct baresip_process *p)
{
	fd_listen(p->control,
		  FD_READ | (p->connecting || p->out.used ? FD_WRITE : 0),
		  control_ready, p);
}

static void control_write(struct baresip_process *p)
{
	ssize_t n = 1;

	while (p->control >= 0 && p->out.used > 0 && n > 0) {
		n = send(p->control, p->out.data, p->out.used, MSG_NOSIGNAL);
		if (n > 0)
			buf_consume(&p->out, (size_t)n);
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		lose(p, "baresip's control connection broke: %s",
		     strerror(errno));
}

static void answered(struct baresip_process *p)
{
	if (p->asked > 0)
		p->asked--;
	p->asked_ns = p->asked ? clock_mono_ns() : 0;
}

/* The netstrings that are whole. */
static void messages_take(struct baresip_process *p)
{
	size_t at;
	size_t len;
	int err;

	while (!p->lost && p->in.used > 0 &&
	       (err = netstring_find(p->in.data, p->in.used, &at, &len)) == 0) {
		struct baresip_message m;

		err = baresip_message_parse(&m, p->in.data + at, len);
		buf_consume(&p->in, at + len + 1);
		if (err)
			continue; /* of a kind we do not know */
		if (m.event == BARESIP_ANSWER)
			answered(p);
		p->params.message_h(&m, p->params.arg);
	}
	if (!p->lost && p->in.used > 0 && err != -EAGAIN)
		lose(p, "baresip's control connection sent no netstring");
}

static void control_read(struct baresip_process *p)
{
	char data[READ_BYTES];
	ssize_t n = recv(p->control, data, sizeof(data), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		exited(p);
		/* its exit comes with a better reason, in a moment */
		unwatch(&p->control);
		return;
	}
	drain(p);
	if (p->lost)
		return;
	if (buf_add(&p->in, data, (size_t)n))
		lose(p, "out of memory");
	else
		messages_take(p);
}

static void watch(void *arg)
{
	struct baresip_process *p = arg;
	int64_t now_ns = clock_mono_ns();

	exited(p);
	if (p->lost)
		return;
	if (p->up && p->control < 0) {
		lose(p, "baresip closed its control connection: it was ended");
		return;
	}
	if (!p->up && now_ns - p->started_ns > BARESIP_START_MS * NS_PER_MS) {
		lose(p, "baresip did not start within %d s: %s",
		     BARESIP_START_MS / 1000,
		     p->last_line[0] ? p->last_line : "it said nothing");
		return;
	}
	if (p->asked_ns &&
	    now_ns - p->asked_ns > BARESIP_ANSWER_MS * NS_PER_MS) {
		lose(p, "baresip did not answer for %d s: it was ended",
		     BARESIP_ANSWER_MS / 1000);
		return;
	}
	if (p->up && !p->asked)
		baresip_process_command(p, "uanext", NULL, "alive");
	tmr_start(&p->tmr_watch, WATCH_MS, watch, p);
}

static void connected(struct baresip_process *p)
{
	p->connecting = false;
	p->up = true;
	/* it was read: no password stays on the disk */
	baresip_folder_remove(p->folder);
	p->folder[0] = '\0';
	if (p->asked)
		p->asked_ns = clock_mono_ns();
	p->params.up_h(p->params.arg);
}

static void connect_try(void *arg);

static void control_ready(int flags, void *arg)
{
	struct baresip_process *p = arg;
	int err = 0;
	socklen_t len = sizeof(err);

	if (p->connecting) {
		getsockopt(p->control, SOL_SOCKET, SO_ERROR, &err, &len);
		if (err) { /* it does not listen yet */
			unwatch(&p->control);
			p->connecting = false;
			tmr_start(&p->tmr_connect, CONNECT_MS, connect_try, p);
			return;
		}
		connected(p);
	}
	if (!p->lost && (flags & FD_WRITE))
		control_write(p);
	if (!p->lost && (flags & (FD_READ | FD_EXCEPT)))
		control_read(p);
	if (!p->lost && p->control >= 0)
		control_listen(p);
}

static void connect_try(void *arg)
{
	struct baresip_process *p = arg;

	p->control =
		socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->control < 0) {
		lose(p, "a socket: %s", strerror(errno));
		return;
	}
	p->connecting = true;
	if (connect(p->control, (struct sockaddr *)&p->control_addr,
		    sizeof(p->control_addr)) &&
	    errno != EINPROGRESS) {
		unwatch(&p->control);
		p->connecting = false;
		tmr_start(&p->tmr_connect, CONNECT_MS, connect_try, p);
		return;
	}
	control_listen(p);
}

int baresip_process_command(struct baresip_process *p, const char *command,
			    const char *params, const char *token)
{
	int err;

	if (p->lost)
		return 0; /* whoever asked learns of it */
	err = baresip_command_write(&p->out, command, params, token);
	if (err)
		return err;
	if (p->asked++ == 0 && p->up)
		p->asked_ns = clock_mono_ns();
	if (!p->up)
		return 0;
	control_write(p);
	if (!p->lost && p->control >= 0)
		control_listen(p);
	return 0;
}

/* ---- the start ---- */

int baresip_installed(char *reason)
{
	char path[128];

	if (access(BARESIP_PROGRAM, X_OK)) {
		snprintf(reason, SIP_REASON_BYTES,
			 "client baresip: %s is missing: install the package "
			 "baresip-core on this agent",
			 BARESIP_PROGRAM);
		return -ENOENT;
	}
	for (size_t i = 0; baresip_modules[i]; i++) {
		(void)str_print(path, sizeof(path), "%s/%s", BARESIP_MODULES,
				baresip_modules[i]);
		if (access(path, R_OK) == 0)
			continue;
		snprintf(reason, SIP_REASON_BYTES,
			 "client baresip: its module %s is missing: install "
			 "the package baresip-core on this agent",
			 baresip_modules[i]);
		return -ENOENT;
	}
	return 0;
}

/* A port that UDP and TCP have free, as far as can be known. */
static int port_choose(uint16_t *ret, const char *bind_addr)
{
	struct sa sa;
	int err = -EADDRINUSE;

	for (int i = 0; i < 16 && err; i++) {
		int udp;
		int tcp;

		if (sa_set_str(&sa, bind_addr, 0))
			return -EINVAL;
		udp = socket(sa_af(&sa), SOCK_DGRAM | SOCK_CLOEXEC, 0);
		tcp = socket(sa_af(&sa), SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (udp >= 0 && tcp >= 0 && bind(udp, &sa.u.sa, sa.len) == 0 &&
		    getsockname(udp, &sa.u.sa, &sa.len) == 0 &&
		    bind(tcp, &sa.u.sa, sa.len) == 0) {
			*ret = sa_port(&sa);
			err = 0;
		}
		if (udp >= 0)
			close(udp);
		if (tcp >= 0)
			close(tcp);
	}
	return err;
}

/* An address of the loopback network that nobody else uses or guesses. */
static int control_choose(struct sockaddr_in *ret, char *text, size_t size)
{
	uint8_t r[5];
	char host[INET_ADDRSTRLEN];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return -EIO;
	ret->sin_family = AF_INET;
	ret->sin_port =
		htons((uint16_t)(20000 + ((unsigned)r[3] << 8 | r[4]) % 12000));
	ret->sin_addr.s_addr = htonl(127u << 24 | (uint32_t)(r[0] | 1) << 16 |
				     (uint32_t)r[1] << 8 | (r[2] % 254 + 1));
	inet_ntop(AF_INET, &ret->sin_addr, host, sizeof(host));
	return str_print(text, size, "%s:%u", host, ntohs(ret->sin_port)) < 0
		       ? -ENAMETOOLONG
		       : 0;
}

/* In the child: only what may be called between fork and exec. */
static void child(int slave, const char *folder, pid_t parent)
{
	char program[] = BARESIP_PROGRAM;
	char trace[] = "-s";
	char option[] = "-f";
	char path[BARESIP_FOLDER_BYTES];
	char *argv[] = {program, trace, option, path, NULL};
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	memcpy(path, folder, sizeof(path));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(slave, STDOUT_FILENO);
	dup2(slave, STDERR_FILENO);
	close_range(STDERR_FILENO + 1, UINT32_MAX, 0);
	execv(program, argv);
	_exit(127);
}

static int spawn(struct baresip_process *p)
{
	struct termios raw;
	pid_t parent = getpid();
	int slave;

	memset(&raw, 0, sizeof(raw));
	cfmakeraw(&raw);
	raw.c_cflag |= CREAD;
	if (openpty(&p->terminal, &slave, NULL, &raw, NULL)) {
		p->terminal = -1;
		return -errno;
	}
	fcntl(p->terminal, F_SETFD, FD_CLOEXEC);
	fcntl(p->terminal, F_SETFL, O_NONBLOCK);
	p->pid = fork();
	if (p->pid == 0)
		child(slave, p->folder, parent);
	close(slave);
	if (p->pid < 0)
		return -errno;
	p->pid_fd = pidfd_open(p->pid, 0);
	return p->pid_fd < 0 ? -errno : 0;
}

static int start(struct baresip_process *p, char *reason)
{
	char control[32];
	struct baresip_setup setup = {
		.account = p->params.account,
		.bind_addr = p->params.bind_addr,
		.rtp_min = p->params.rtp_min,
		.rtp_max = p->params.rtp_max,
		.control = control,
		.rtcp_mux = p->params.rtcp_mux,
	};
	int err = port_choose(&p->sip_port, p->params.bind_addr);

	setup.sip_port = p->sip_port;
	if (!err)
		err = control_choose(&p->control_addr, control,
				     sizeof(control));
	if (!err)
		err = baresip_folder_new(p->folder, &setup);
	if (err)
		p->folder[0] = '\0';
	if (!err)
		err = spawn(p);
	if (!err)
		err = -fd_listen(p->terminal, FD_READ, terminal_ready, p);
	if (!err)
		err = -fd_listen(p->pid_fd, FD_READ, exit_ready, p);
	if (err)
		snprintf(reason, SIP_REASON_BYTES,
			 "baresip cannot be started: %s", strerror(-err));
	return err;
}

int baresip_process_new(struct baresip_process **ret,
			const struct baresip_process_params *params,
			char *reason)
{
	struct baresip_process *p;
	int err = baresip_installed(reason);

	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->params = *params;
	p->pid_fd = -1;
	p->terminal = -1;
	p->control = -1;
	p->started_ns = clock_mono_ns();
	tmr_init(&p->tmr_connect);
	tmr_init(&p->tmr_watch);
	tmr_init(&p->tmr_lost);
	buf_init(&p->in, NETSTRING_BYTES_MAX + READ_BYTES + 16);
	buf_init(&p->out, COMMANDS_MAX);
	baresip_trace_init(&p->trace, message_traced, line_taken, p);
	err = start(p, reason);
	if (err) {
		baresip_process_free(p);
		return err;
	}
	p->params.account = NULL;
	p->params.bind_addr = NULL;
	tmr_start(&p->tmr_connect, CONNECT_MS, connect_try, p);
	tmr_start(&p->tmr_watch, WATCH_MS, watch, p);
	*ret = p;
	return 0;
}

struct baresip_process *baresip_process_free(struct baresip_process *p)
{
	if (!p)
		return NULL;
	p->lost = true;
	stop(p);
	tmr_cancel(&p->tmr_lost);
	baresip_trace_release(&p->trace);
	buf_release(&p->in);
	buf_release(&p->out);
	free(p);
	return NULL;
}
