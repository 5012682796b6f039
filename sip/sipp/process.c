/* The process of a SIPp: its start, its pipes, its end. */
#include "sip/sipp/internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sockaddr.h"

#define READ_BYTES 16384
#define READS_MAX  64 /* of a pipe, per turn of the loop */
#define WORDS_MAX  (160 + 32)
#define FIRST_FD   3  /* of the child's pipes */
#define ABOVE_FD   16 /* where they are kept until then */
/* SIPp uses its media port and the second above it (-mp). */
#define MEDIA_PORTS 4
#define LISTEN_MS   10 /* between two looks whether it has bound its SIP port */
#define TCP_LISTEN  0x0A /* in /proc/net/tcp */
#define END_BYTES   48   /* "ADDRESS:PORT" there */

int sipp_usable(char *reason)
{
	if (access(SIPP_PROGRAM, X_OK) == 0)
		return 0;
	snprintf(reason, SIP_REASON_BYTES,
		 "client sipp: %s is missing: install the package sip-tester "
		 "on this agent",
		 SIPP_PROGRAM);
	return -ENOENT;
}

/* ---- ports ---- */

/* Take a port. @param port  in/out; 0: any @return a socket; -1: it is not free */
static int port_hold(const char *bind_addr, int type, uint16_t *port)
{
	struct sa sa;
	int fd;

	if (sa_set_str(&sa, bind_addr, *port))
		return -1;
	fd = socket(sa_af(&sa), type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, &sa.u.sa, sa.len) || getsockname(fd, &sa.u.sa, &sa.len)) {
		close(fd);
		return -1;
	}
	*port = sa_port(&sa);
	return fd;
}

/* Whether a port is free. @param port  in/out; 0: any */
static bool port_free(const char *bind_addr, int type, uint16_t *port)
{
	int fd = port_hold(bind_addr, type, port);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Choose a SIP port that is free for both transports. Another program may still take
 * it: then SIPp says so. */
static int sip_port_choose(const char *bind_addr, uint16_t *port)
{
	if (*port)
		return 0;
	for (int i = 0; i < 16; i++) {
		*port = 0;
		if (port_free(bind_addr, SOCK_DGRAM, port) &&
		    port_free(bind_addr, SOCK_STREAM, port))
			return 0;
	}
	return -EADDRINUSE;
}

/* The ports must be free until SIPp binds them. Engines of this agent choose from the same
 * range at the same time, so each holds the TCP port of the first number, which nobody uses.
 * @param ret_held  its socket, for as long as SIPp runs */
static int media_port_choose(const struct sipp_params *p, uint16_t *ret,
			     int *ret_held)
{
	unsigned places = ((unsigned)p->rtp_max - p->rtp_min) / MEDIA_PORTS;

	for (unsigned i = 0; i < 64 && places > 0; i++) {
		unsigned first = (p->rtp_min + 1u) & ~1u;
		uint16_t port =
			(uint16_t)(first + rand_u32() % places * MEDIA_PORTS);
		bool all = port + MEDIA_PORTS - 1u <= p->rtp_max;
		int held =
			all ? port_hold(p->bind_addr, SOCK_STREAM, &port) : -1;

		for (uint16_t k = 0; held >= 0 && all && k < MEDIA_PORTS; k++) {
			uint16_t one = (uint16_t)(port + k);

			all = port_free(p->bind_addr, SOCK_DGRAM, &one);
		}
		if (held >= 0 && all) {
			*ret = port;
			*ret_held = held;
			return 0;
		}
		if (held >= 0)
			close(held);
	}
	return -EADDRINUSE;
}

static void media_port_release(struct sipp *s)
{
	if (s->held_fd >= 0)
		close(s->held_fd);
	s->held_fd = -1;
}

/* ---- the beginning ---- */

/* An address and port as /proc/net writes them: 32-bit words in the byte order of the host. */
static void end_text(const union sockaddr_ip *a, char dst[static END_BYTES])
{
	uint32_t w[4];

	if (a->in.sin_family == AF_INET) {
		(void)str_print(dst, END_BYTES, "%08X:%04X",
				a->in.sin_addr.s_addr, ntohs(a->in.sin_port));
		return;
	}
	memcpy(w, &a->in6.sin6_addr, sizeof(w));
	(void)str_print(dst, END_BYTES, "%08X%08X%08X%08X:%04X", w[0], w[1],
			w[2], w[3], ntohs(a->in6.sin6_port));
}

/* Whether a table of /proc/net has a socket with this address and port. If the table cannot
 * be read, too: nobody shall wait for ever. */
static bool table_has(const char *path, const char *want, bool tcp)
{
	FILE *f = fopen(path, "re");
	bool found = false;
	char line[256];

	if (!f)
		return true;
	while (!found && fgets(line, sizeof(line), f)) {
		char end[END_BYTES];
		unsigned state;

		found = sscanf(line, " %*u: %47s %*s %x", end, &state) == 2 &&
			strcmp(end, want) == 0 && (!tcp || state == TCP_LISTEN);
	}
	(void)fclose(f);
	return found;
}

/* Whether SIPp has bound its SIP port. Its options choose UDP or TCP, so both are looked up.
 * A trial bind() would be simpler, but could take the port away from SIPp. */
static bool is_bound(const struct sipp *s)
{
	static const char *const tables[][2] = {
		{"/proc/self/net/udp", "/proc/self/net/tcp"},
		{"/proc/self/net/udp6", "/proc/self/net/tcp6"},
	};
	const char *const *of = tables[s->local.ss.in.sin_family == AF_INET6];
	char want[END_BYTES];

	end_text(&s->local.ss, want);
	return table_has(of[0], want, false) || table_has(of[1], want, true);
}

static void listen_due(void *arg)
{
	struct sipp *s = arg;

	if (is_bound(s))
		s->listens_h(s->arg);
	else
		mono_timer_start(&s->tmr_listen, LISTEN_MS, listen_due, s);
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

static void ended(void *arg)
{
	struct sipp *s = arg;

	s->end.last = s->last;
	s->end.known = s->statistics.known;
	s->end.counters = s->statistics.counters;
	s->end.left_out += s->messages.left_out;
	/* last, as it may free s */
	s->ended_h(&s->end, s->arg);
}

static void sentence_last(const char *text, void *arg)
{
	struct sipp *s = arg;

	(void)str_copy(s->last, sizeof(s->last), text);
}

static void sentence_told(const char *text, void *arg)
{
	struct sipp *s = arg;

	sentence_last(text, s);
	s->error_h(text, s->arg);
}

static void message_told(bool sent, bool tcp, const char *data, size_t len,
			 void *arg)
{
	(void)tcp;
	sipp_dialog_message(arg, sent, data, len);
}

static int feed(struct sipp *s, enum sipp_pipe i, const char *data, size_t len)
{
	switch (i) {
	case SIPP_PIPE_MESSAGES:
		return sipp_messages_feed(&s->messages, data, len);
	case SIPP_PIPE_STATISTICS:
		return sipp_statistics_feed(&s->statistics, data, len);
	case SIPP_PIPE_ERRORS:
		return sipp_errors_feed(&s->errors, data, len);
	case SIPP_PIPE_OUTPUT:
		return sipp_errors_feed(&s->output, data, len);
	case SIPP_PIPES:
		break;
	}
	return -EINVAL;
}

/* @return whether there may be more */
static bool pipe_read(struct sipp *s, enum sipp_pipe i)
{
	char data[READ_BYTES];

	for (int n = 0; n < READS_MAX; n++) {
		ssize_t len =
			s->fds[i] < 0 ? 0 : read(s->fds[i], data, sizeof(data));

		if (len < 0 && errno == EAGAIN)
			return false;
		if (len <= 0) {
			unwatch(&s->fds[i]);
			return false;
		}
		if (feed(s, i, data, (size_t)len))
			s->end.left_out++; /* out of memory */
	}
	return true;
}

static void pipe_ready(int flags, void *arg)
{
	struct sipp *s = arg;

	(void)flags;
	/* whichever it was: messages first, so that a sentence about one follows it */
	for (int i = 0; i < SIPP_PIPES; i++)
		(void)pipe_read(s, (enum sipp_pipe)i);
}

static void exit_ready(int flags, void *arg)
{
	struct sipp *s = arg;
	int status = 0;

	(void)flags;
	if (s->pid <= 0 || waitpid(s->pid, &status, WNOHANG) != s->pid)
		return;
	s->pid = 0;
	unwatch(&s->pid_fd);
	media_port_release(s);
	mono_timer_cancel(&s->tmr_listen);
	mono_timer_cancel(&s->tmr_stop);
	for (int i = 0; i < SIPP_PIPES; i++) {
		while (pipe_read(s, (enum sipp_pipe)i))
			continue;
	}
	s->end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	s->end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	sipp_dialog_close_all(s);
	mono_timer_start(&s->tmr_end, 0, ended, s);
}

static void stop_due(void *arg)
{
	struct sipp *s = arg;

	if (s->pid > 0)
		kill(s->pid, SIGKILL);
}

void sipp_stop(struct sipp *s)
{
	if (s->pid <= 0 || s->end.stopped)
		return;
	s->end.stopped = true;
	kill(s->pid, SIGUSR1);
	mono_timer_start(&s->tmr_stop, SIPP_STOP_MS, stop_due, s);
}

/* ---- the start ---- */

/* The child: only functions that are allowed between fork and exec. */
static void child(const int *ends, char *const *argv, const char *folder,
		  pid_t parent)
{
	int kept[SIPP_PIPES];
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || chdir(folder))
		_exit(127);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	for (int i = 0; i < SIPP_PIPES; i++)
		kept[i] = fcntl(ends[i], F_DUPFD, ABOVE_FD);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(kept[SIPP_PIPE_OUTPUT], STDERR_FILENO);
	for (int i = 0; i < SIPP_PIPE_OUTPUT; i++)
		dup2(kept[i], FIRST_FD + i);
	close_range(FIRST_FD + SIPP_PIPE_OUTPUT, UINT32_MAX, 0);
	execv(SIPP_PROGRAM, argv);
	_exit(127);
}

static int spawn(struct sipp *s, char *const *argv, const char *folder)
{
	int ends[SIPP_PIPES] = {-1, -1, -1, -1};
	pid_t parent = getpid();
	int err = 0;

	for (int i = 0; !err && i < SIPP_PIPES; i++) {
		int both[2];

		if (pipe2(both, O_CLOEXEC)) {
			err = -errno;
			break;
		}
		s->fds[i] = both[0];
		ends[i] = both[1];
		fcntl(both[0], F_SETFL, O_NONBLOCK);
	}
	if (!err) {
		s->pid = fork();
		err = s->pid < 0 ? -errno : 0;
	}
	if (!err && s->pid == 0)
		child(ends, argv, folder, parent);
	for (int i = 0; i < SIPP_PIPES; i++) {
		if (ends[i] >= 0)
			close(ends[i]);
	}
	if (!err)
		s->pid_fd = pidfd_open(s->pid, 0);
	if (!err && s->pid_fd < 0)
		err = -errno;
	for (int i = 0; !err && i < SIPP_PIPES; i++)
		err = -fd_listen(s->fds[i], FD_READ, pipe_ready, s);
	return err ? err : -fd_listen(s->pid_fd, FD_READ, exit_ready, s);
}

/* The words of the command line. Those of the test come last, so that they win over what
 * stands for a parameter; none of them can change what the agent assigns. */
static int run(struct sipp *s, const struct sipp_params *p, uint16_t port,
	       uint16_t media_port)
{
	char sip_text[8], media_text[8];
	const char *words[WORDS_MAX] = {SIPP_PROGRAM};
	size_t n = 1;
	const char *const first[] = {"-sf",
				     p->scenario,
				     "-i",
				     p->bind_addr,
				     "-bind_local",
				     "-p",
				     sip_text,
				     "-mi",
				     p->bind_addr,
				     "-mp",
				     media_text,
				     "-ci",
				     strchr(p->bind_addr, ':') ? "::1"
							       : "127.0.0.1",
				     "-t",
				     p->tcp ? "t1" : "u1",
				     "-nostdin",
				     "-skip_rlimit",
				     "-trace_msg",
				     "-message_file",
				     "/proc/self/fd/3",
				     "-trace_stat",
				     "-fd",
				     "1",
				     "-stf",
				     "/proc/self/fd/4",
				     "-trace_err",
				     "-error_file",
				     "/proc/self/fd/5"};

	(void)str_print(sip_text, sizeof(sip_text), "%u", port);
	(void)str_print(media_text, sizeof(media_text), "%u", media_port);
	if (p->word_count > WORDS_MAX - 32)
		return -E2BIG;
	if (p->remote)
		words[n++] = p->remote;
	memcpy(words + n, first, sizeof(first));
	n += sizeof(first) / sizeof(*first);
	for (size_t i = 0; i < p->word_count; i++)
		words[n++] = p->words[i];
	words[n] = NULL;
	return spawn(s, (char *const *)(uintptr_t)words, p->folder);
}

static int address_set(struct media_addr *ret, const char *text, uint16_t port)
{
	*ret = (struct media_addr){.len = 0};
	return sockaddr_parse(&ret->ss, &ret->len, text, port);
}

/* Where the SIP trace says that messages go, if the host is a literal. */
static void remote_know(struct sipp *s, const char *remote)
{
	struct sa sa;

	if (!remote || sa_decode(&sa, remote, strlen(remote)) ||
	    sa.len > sizeof(s->peer.ss))
		return;
	memcpy(&s->peer.ss, &sa.u, sa.len);
	s->peer.len = sa.len;
}

static struct sipp *sipp_make(const struct sipp_params *p)
{
	struct sipp *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->trace_h = p->trace_h;
	s->trace_arg = p->trace_arg;
	s->call_h = p->call_h;
	s->error_h = p->error_h;
	s->listens_h = p->listens_h;
	s->ended_h = p->ended_h;
	s->arg = p->arg;
	s->tcp = p->tcp;
	s->pid_fd = -1;
	s->held_fd = -1;
	for (int i = 0; i < SIPP_PIPES; i++)
		s->fds[i] = -1;
	sipp_messages_init(&s->messages, message_told, s);
	sipp_statistics_init(&s->statistics);
	sipp_errors_init(&s->errors, sentence_told, s);
	sipp_errors_init(&s->output, sentence_last, s);
	remote_know(s, p->remote);
	return s;
}

int sipp_start(struct sipp **ret, const struct sipp_params *params)
{
	uint16_t port = params->port;
	uint16_t media_port = 0;
	struct sipp *s;
	int err = sipp_usable(params->reason);

	if (err)
		return err;
	s = sipp_make(params);
	if (!s)
		return -ENOMEM;
	err = -hash_alloc(&s->calls, SIPP_CALLS_SIZE);
	if (!err)
		err = sip_port_choose(params->bind_addr, &port);
	if (!err)
		err = media_port_choose(params, &media_port, &s->held_fd);
	if (!err)
		err = address_set(&s->local, params->bind_addr, port);
	if (!err)
		err = run(s, params, port, media_port);
	if (err) {
		snprintf(params->reason, SIP_REASON_BYTES,
			 err == -EADDRINUSE
				 ? "SIPp cannot be started: no port is free"
				 : "SIPp cannot be started: %s",
			 strerror(-err));
		sipp_free(s);
		return err;
	}
	if (s->listens_h)
		mono_timer_start(&s->tmr_listen, 0, listen_due, s);
	*ret = s;
	return 0;
}

struct sipp *sipp_free(struct sipp *s)
{
	if (!s)
		return NULL;
	mono_timer_cancel(&s->tmr_listen);
	mono_timer_cancel(&s->tmr_stop);
	mono_timer_cancel(&s->tmr_end);
	unwatch(&s->pid_fd);
	for (int i = 0; i < SIPP_PIPES; i++)
		unwatch(&s->fds[i]);
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	media_port_release(s);
	if (s->calls)
		sipp_dialog_detach_all(s);
	mem_deref(s->calls);
	sipp_messages_release(&s->messages);
	sipp_statistics_release(&s->statistics);
	sipp_errors_release(&s->errors);
	sipp_errors_release(&s->output);
	free(s);
	return NULL;
}
