/* Preloaded by test_sandbox.py into an agent and its engines: what a peer's code would try that took
 * over an engine by a message. It runs at the first message that the engine's socket for SIP receives,
 * one attempt at the first RTP, and writes a line "attack NAME: RESULT" for each attempt to standard error.
 * ATTACK_FILES  files to read, with colons between
 * ATTACK_WRITE  a file to create */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static ssize_t (*real_recvmsg)(int, struct msghdr *, int);
static int (*real_recvmmsg)(int, struct mmsghdr *, unsigned, int,
			    struct timespec *);
static atomic_flag done = ATOMIC_FLAG_INIT;
static atomic_flag done_by_thread = ATOMIC_FLAG_INIT;
static int engine;

__attribute__((constructor)) static void begin(void)
{
	char line[4096] = "";
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t len = read(fd, line, sizeof(line) - 1);

	close(fd);
	for (ssize_t i = 0; i < len; i += (ssize_t)strlen(line + i) + 1)
		engine |= strncmp(line + i, "--engine=", 9) == 0;
	real_recvmsg = (ssize_t(*)(int, struct msghdr *, int))dlsym(RTLD_NEXT,
								    "recvmsg");
	real_recvmmsg =
		(int (*)(int, struct mmsghdr *, unsigned, int,
			 struct timespec *))dlsym(RTLD_NEXT, "recvmmsg");
}

static void tell(const char *name, long result)
{
	dprintf(STDERR_FILENO, "attack %s: %s\n", name,
		result < 0 ? strerror(errno) : "done");
}

static void read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	tell(path, fd);
	if (fd >= 0)
		close(fd);
}

static void files(void)
{
	char path[4096], name[64];
	char *all = strdup(getenv("ATTACK_FILES")), *rest = all, *one;
	const char *write_to = getenv("ATTACK_WRITE");

	while ((one = strsep(&rest, ":")))
		read_file(one);
	/* `all` is now the first of them */
	tell("create", open(write_to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	tell("mkdir", mkdir(write_to, 0700));
	tell("link", link(all, write_to));
	tell("symlink", symlink(all, write_to));
	tell("rename", rename(all, write_to));
	tell("unlink", unlink(all));
	tell("chmod", chmod(all, 0644));
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)getppid(),
			 i ? "environ" : "mem");
		snprintf(name, sizeof(name), "parent's %s",
			 i ? "environ" : "mem");
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		tell(name, fd);
	}
	free(all);
}

static void programs(void)
{
	char *const argv[] = {(char *)"true", NULL};
	int status = 0;
	pid_t pid = fork();

	tell("fork", pid);
	if (pid == 0) {
		execv("/bin/true", argv);
		_exit(99);
	}
	if (pid > 0) {
		waitpid(pid, &status, 0);
		errno = EACCES;
		tell("exec", WEXITSTATUS(status) == 0 ? 0 : -1);
		return;
	}
	tell("exec", execv("/bin/true", argv));
	tell("execveat",
	     syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, NULL, 0));
}

static void processes(void)
{
	char here[16];
	struct iovec local = {here, sizeof(here)},
		     remote = {(void *)&done, sizeof(here)};
	pid_t parent = getppid();
	long traced = ptrace(PTRACE_SEIZE, parent, NULL, NULL);

	tell("ptrace", traced);
	/* a process must stand still to be let go of: else the next signal, also
	 * one that it ignores, would stop it until we end */
	if (traced == 0 && ptrace(PTRACE_INTERRUPT, parent, NULL, NULL) == 0 &&
	    waitpid(parent, NULL, __WALL) == parent)
		ptrace(PTRACE_DETACH, parent, NULL, NULL);
	tell("process_vm_readv",
	     process_vm_readv(parent, &local, 1, &remote, 1, 0));
	tell("kill", kill(parent, 0));
	tell("pidfd_getfd", syscall(SYS_pidfd_getfd,
				    syscall(SYS_pidfd_open, parent, 0), 0, 0));
}

static void kernel(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	void *memory;

	tell("core dump", prctl(PR_GET_DUMPABLE) ? 0 : -1);
	tell("environment", getenv("OFFHOOK_TEST_SECRET") ? 0 : -1);
	tell("proxy", getenv("no_proxy") ? 0 : -1);
	tell("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
	tell("packet socket", socket(AF_PACKET, SOCK_RAW, 0));
	tell("namespace", unshare(CLONE_NEWUSER));
	tell("io_uring", syscall(SYS_io_uring_setup, 1, to.sun_path));
	tell("keyring", syscall(SYS_add_key, "user", "x", "x", 1L, -3L));
	tell("terminal", ioctl(STDIN_FILENO, TIOCSTI, "x"));
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tell("code in memory", memory == MAP_FAILED ? -1 : 0);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	tell("code from memory", mprotect(memory, 4096, PROT_READ | PROT_EXEC));
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t len = real_recvmsg(fd, msg, flags);
	int saved = errno;
	struct sockaddr_storage own = {0};
	socklen_t size = sizeof(own);

	if (engine && len > 0 &&
	    getsockname(fd, (struct sockaddr *)&own, &size) == 0 &&
	    own.ss_family == AF_INET && !atomic_flag_test_and_set(&done)) {
		programs();
		processes();
		kernel();
		files();
		tell("end", 0);
	}
	errno = saved;
	return len;
}

/* The thread that receives RTP. */
int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
	     struct timespec *timeout)
{
	int received = real_recvmmsg(fd, messages, count, flags, timeout);
	int saved = errno;

	if (engine && received > 0 && gettid() != getpid() &&
	    !atomic_flag_test_and_set(&done_by_thread))
		tell("keyring by a thread",
		     syscall(SYS_add_key, "user", "x", "x", 1L, -3L));
	errno = saved;
	return received;
}
