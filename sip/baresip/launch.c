#include "sip/baresip/launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <re.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"
#include "sip/baresip/baresip.h"

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

/* Make a bound socket. @param ret  -1: none was made @return 0; -errno */
static int port_bind(int *ret, struct sa *sa, int type)
{
	int fd = socket(sa_af(sa), type | SOCK_CLOEXEC, 0);

	*ret = fd;
	if (fd < 0 || bind(fd, &sa->u.sa, sa->len) ||
	    getsockname(fd, &sa->u.sa, &sa->len))
		return -errno;
	return 0;
}

/* Choose a port that is free for UDP and TCP, and the next one for TCP, where
 * baresip listens for TLS. Another program may still take it. */
static int port_choose(uint16_t *ret, const char *bind_addr)
{
	int err = -EADDRINUSE;

	for (int i = 0; i < 16 && err; i++) {
		int fds[] = {-1, -1, -1};
		uint16_t port;
		struct sa sa;

		if (sa_set_str(&sa, bind_addr, 0))
			return -EINVAL;
		err = port_bind(&fds[0], &sa, SOCK_DGRAM);
		port = sa_port(&sa);
		if (!err)
			err = port_bind(&fds[1], &sa, SOCK_STREAM);
		sa_set_port(&sa, (uint16_t)(port + 1));
		if (!err)
			err = port_bind(&fds[2], &sa, SOCK_STREAM);
		if (!err)
			*ret = port;
		for (size_t k = 0; k < sizeof(fds) / sizeof(fds[0]); k++) {
			if (fds[k] >= 0)
				close(fds[k]);
		}
	}
	return err;
}

/* Choose a random address and port of 127.0.0.0/8. */
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

/* The child: only functions that are allowed between fork and exec. */
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
	/* baresip enables core files, which would contain passwords. None can
	 * be written into a removed folder. */
	if (folder[0] == '/' && chdir(folder))
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

static int spawn(struct baresip_launched *p)
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

int baresip_launch(struct baresip_launched *ret,
		   const struct baresip_launch_params *params)
{
	char control[32];
	struct baresip_setup setup = {
		.account = params->account,
		.bind_addr = params->bind_addr,
		.rtp_min = params->rtp_min,
		.rtp_max = params->rtp_max,
		.control = control,
		.rtcp_mux = params->rtcp_mux,
	};
	int err;

	*ret = (struct baresip_launched){.pid_fd = -1, .terminal = -1};
	err = port_choose(&ret->sip_port, params->bind_addr);
	setup.sip_port = ret->sip_port;
	if (!err)
		err = control_choose(&ret->control_addr, control,
				     sizeof(control));
	if (!err)
		err = baresip_folder_new(ret->folder, &setup);
	if (err) {
		ret->folder[0] = '\0';
		return err;
	}
	return spawn(ret);
}
