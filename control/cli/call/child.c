#include "control/cli/call/child.h"

#include "base/clock.h"
#include "control/cli/common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM     "offhook-agent"
#define WAIT_NS_MAX (5 * NS_PER_S)

/* Become the engine. Called in the child of fork(): async-signal-safe functions
 * only. Returns only if exec failed. */
static void run(const char *path, const char *argument, int fd, bool quiet)
{
	char *const argv[] = {(char *)(uintptr_t)PROGRAM,
			      (char *)(uintptr_t)argument, NULL};
	sigset_t none;

	fcntl(fd, F_SETFD, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (quiet) {
		int null = open("/dev/null", O_WRONLY);

		if (null >= 0)
			dup2(null, STDERR_FILENO);
	}
	if (path[0])
		execv(path, argv);
	else
		execvp(PROGRAM, argv);
	_exit(127);
}

int child_start(pid_t *ret_pid, int *ret_fd, bool quiet)
{
	char path[PATH_MAX];
	char argument[32];
	int fds[2];
	pid_t pid;

	if (program_beside(path, sizeof(path), PROGRAM))
		path[0] = '\0';
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	snprintf(argument, sizeof(argument), "--engine=%d", fds[1]);
	pid = fork();
	if (pid == 0)
		run(path, argument, fds[1], quiet);
	close(fds[1]);
	if (pid < 0) {
		int err = -errno;

		close(fds[0]);
		return err;
	}
	*ret_pid = pid;
	*ret_fd = fds[0];
	return 0;
}

int child_wait(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 10 * NS_PER_MS};
	int64_t until_ns = clock_mono_ns() + WAIT_NS_MAX;
	int status = 0;
	pid_t r;

	while ((r = waitpid(pid, &status, WNOHANG)) == 0 &&
	       clock_mono_ns() < until_ns)
		nanosleep(&pause, NULL);
	if (r == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
