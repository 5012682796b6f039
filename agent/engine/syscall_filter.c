#include "agent/engine/syscall_filter.h"

#include "base/log.h"
#include "base/sanitizer.h"
#include "base/str.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(SANITIZED_ADDRESS) || defined(SANITIZED_THREAD)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define NAMESPACES                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | \
	 CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#ifdef __s390__
#define CLONE_FLAGS SCMP_A1
#else
#define CLONE_FLAGS SCMP_A0
#endif

/* Numbers above are logged without a name. */
#define NUMBERS 512

/* What an engine needs: libre, OpenSSL, libsndfile and the C library, of Debian 12 and 13.
 * Names that an architecture does not have are left out. Whatever opens or changes a file is
 * here only as file_rules.h says which. */
static const char *const allowed[] = {
	/* descriptors */
	"read", "write", "readv", "writev", "pread64", "pwrite64", "preadv",
	"pwritev", "preadv2", "pwritev2", "close", "close_range", "lseek",
	"_llseek", "dup", "dup3", "pipe2", "fcntl", "fcntl64", "fsync",
	"fdatasync", "ftruncate", "ftruncate64", "fallocate", "fadvise64",
	/* files */
	"open", "openat", "openat2", "stat", "stat64", "lstat", "lstat64",
	"fstat", "fstat64", "fstatat64", "newfstatat", "statx", "access",
	"faccessat", "faccessat2", "readlink", "readlinkat", "getcwd",
	"getdents64", "unlink", "unlinkat", "rmdir", "statfs", "statfs64",
	"fstatfs", "fstatfs64", "umask",
	/* waiting */
	"poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6",
	"pselect6_time64", "epoll_create1", "epoll_ctl", "epoll_wait",
	"epoll_pwait", "epoll_pwait2", "eventfd2", "timerfd_create",
	"timerfd_settime", "timerfd_settime64", "timerfd_gettime",
	"timerfd_gettime64", "signalfd4",
	/* memory */
	"munmap", "mremap", "madvise", "brk", "mincore", "membarrier",
	/* signals */
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending",
	"rt_sigtimedwait", "rt_sigsuspend", "sigreturn", "sigaltstack",
	"restart_syscall",
	/* threads */
	"futex", "futex_time64", "futex_waitv", "set_robust_list",
	"get_robust_list", "rseq", "set_tid_address", "gettid", "getpid",
	"getppid", "exit", "exit_group", "sched_yield", "sched_getaffinity",
	"sched_setscheduler", "sched_getscheduler", "sched_getparam",
	"sched_setparam", "sched_get_priority_max", "sched_get_priority_min",
	"setpriority", "getpriority", "getcpu",
	/* the process */
	"getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid",
	"getrlimit", "ugetrlimit", "setrlimit", "getrusage", "sysinfo", "uname",
	"times", "getpgrp", "getpgid",
	/* time, random numbers */
	"clock_gettime", "clock_gettime64", "clock_getres",
	"clock_getres_time64", "clock_nanosleep", "clock_nanosleep_time64",
	"nanosleep", "gettimeofday", "time", "getrandom",
	/* sockets; which kinds: sockets_allow() */
	"bind", "connect", "listen", "accept", "accept4", "getsockname",
	"getpeername", "getsockopt", "setsockopt", "sendto", "recvfrom", "recv",
	"send", "sendmsg", "recvmsg", "sendmmsg", "recvmmsg", "recvmmsg_time64",
	"shutdown", NULL};

/* More, to start a program and to be one. */
static const char *const of_programs[] = {
	"fork",    "vfork",     "execve",          "wait4",
	"waitid",  "kill",      "pidfd_open",      "pidfd_send_signal",
	"setpgid", "setsid",    "getsid",          "chdir",
	"dup2",    "pipe",      "mkdir",           "mkdirat",
	"chmod",   "fchmod",    "fchmodat",        "arch_prctl",
	"tgkill",  "getgroups", "epoll_create",    "eventfd",
	"alarm",   "setitimer", "set_thread_area", NULL};

/* More, of the sanitizers: AddressSanitizer looks for leaks from a process that traces this
 * one. Neither file_rules.h nor the kernel lets it trace another. */
static const char *const of_sanitizers[] = {
	"getdents",    "clone",  "ptrace",
	"wait4",       "waitid", "kill",
	"tkill",       "tgkill", "process_vm_readv",
	"personality", "prctl",  "rename",
	"dup2",        "pipe",   NULL};

/* Calls that no program of ours makes, and that a program which was taken over does make:
 * they are logged where others are refused in silence. */
static const char *const of_attackers[] = {"ptrace",
					   "process_vm_readv",
					   "process_vm_writev",
					   "execveat",
					   "pidfd_getfd",
					   "kcmp",
					   "mount",
					   "umount2",
					   "pivot_root",
					   "chroot",
					   "unshare",
					   "setns",
					   "bpf",
					   "perf_event_open",
					   "userfaultfd",
					   "keyctl",
					   "add_key",
					   "request_key",
					   "init_module",
					   "finit_module",
					   "delete_module",
					   "kexec_load",
					   "reboot",
					   "io_uring_setup",
					   "open_by_handle_at",
					   NULL};

/* Written by syscall_filter_install(), read by the handler of SIGSYS, which gets no
 * argument: the only reason for static variables. */
static char *names[NUMBERS];
static char process_name[128];
static atomic_uint_least64_t said[NUMBERS / 64];

/* ---- what was refused ---- */

/* Make the system call return an error. @return false: unknown on this architecture */
static bool result_set(ucontext_t *context, int err)
{
#if defined(__x86_64__)
	context->uc_mcontext.gregs[REG_RAX] = -err;
	return true;
#elif defined(__aarch64__)
	context->uc_mcontext.regs[0] = (unsigned long long)-err;
	return true;
#else
	(void)context;
	(void)err;
	return false;
#endif
}

/* Relaxed: the bit guards nothing but a second line of the log. */
static bool first_time(unsigned number)
{
	uint64_t bit = UINT64_C(1) << number % 64;

	return !(atomic_fetch_or_explicit(&said[number / 64], bit,
					  memory_order_relaxed) &
		 bit);
}

/* The signal is of this thread's own system call, so it comes between two instructions of a
 * wrapper of the C library; log_error() neither allocates nor locks. */
static void refused(int sig, siginfo_t *info, void *context)
{
	unsigned number = (unsigned)info->si_syscall;
	int saved = errno;

	(void)sig;
	if (number >= NUMBERS)
		log_error("%s: the sandbox refused system call %u",
			  process_name, number);
	else if (first_time(number))
		log_error("%s: the sandbox refused system call %s (%u)",
			  process_name, names[number] ? names[number] : "?",
			  number);
	errno = saved;
	(void)result_set(context, EPERM);
}

/* A filter's default: a signal, whose handler names the call, where it can make it return
 * an error. */
static uint32_t refusal(void)
{
	ucontext_t none = {0};

	return result_set(&none, EPERM) ? SCMP_ACT_TRAP : SCMP_ACT_ERRNO(EPERM);
}

static int handler_install(void)
{
	struct sigaction action = {.sa_sigaction = refused,
				   .sa_flags = SA_SIGINFO | SA_NODEFER};

	for (int i = 0; i < NUMBERS; i++) {
		if (!names[i])
			names[i] = seccomp_syscall_resolve_num_arch(
				SCMP_ARCH_NATIVE, i);
	}
	sigemptyset(&action.sa_mask);
	return sigaction(SIGSYS, &action, NULL) ? -errno : 0;
}

/* ---- the rules ---- */

/* @return 0; -errno. A call that this architecture does not have is no error. */
static int rules_add(scmp_filter_ctx filter, uint32_t action,
		     const char *const *list)
{
	int err = 0;

	for (; !err && *list; list++) {
		int number = seccomp_syscall_resolve_name(*list);

		if (number != __NR_SCMP_ERROR)
			err = seccomp_rule_add(filter, action, number, 0);
		if (err == -EDOM || err == -EEXIST)
			err = 0;
	}
	return err;
}

static int sockets_allow(scmp_filter_ctx filter)
{
	static const int families[] = {AF_INET, AF_INET6, AF_NETLINK};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(families) / sizeof(*families);
	     i++)
		err = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
			SCMP_A0(SCMP_CMP_EQ, (uint64_t)families[i], 0));
	/* the C library asks the name service cache daemon, and does without it */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES),
				       SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW,
				       SCMP_SYS(socketpair), 1,
				       SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
	return err;
}

/* Memory is writable or executable. */
static int memory_allow(scmp_filter_ctx filter)
{
	const int calls[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2)};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(calls) / sizeof(*calls); i++) {
		err = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, calls[i], 1,
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
		if (!err)
			err = seccomp_rule_add(
				filter, SCMP_ACT_ALLOW, calls[i], 1,
				SCMP_A2(SCMP_CMP_MASKED_EQ,
					PROT_EXEC | PROT_WRITE, PROT_EXEC));
	}
	return err ? err
		   : seccomp_rule_add(
			     filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
			     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

/* Threads, and with `programs` processes, but none in a namespace of its own. The flags of
 * clone3() are in memory, where a filter cannot see them: without it the C library takes
 * clone(). */
static int clone_allow(scmp_filter_ctx filter, bool programs)
{
	const uint64_t thread = CLONE_VM | CLONE_THREAD;
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
				   SCMP_SYS(clone3), 0);

	if (err)
		return err;
	return programs
		       ? seccomp_rule_add(
				 filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				 CLONE_FLAGS(SCMP_CMP_MASKED_EQ, NAMESPACES, 0))
		       : seccomp_rule_add(
				 filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				 CLONE_FLAGS(SCMP_CMP_MASKED_EQ,
					     NAMESPACES | thread, thread));
}

/* The C library blocks all signals while it makes a process: posix_spawn() does, and
 * since glibc 2.41 fork(), too. The kernel kills a process that blocks the signal of a
 * refused call, so these are refused without one. */
static int processes_refuse(scmp_filter_ctx filter)
{
	return seccomp_rule_add(
		filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
		CLONE_FLAGS(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

static int first_argument_allow(scmp_filter_ctx filter, int call, uint64_t is)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				SCMP_A0(SCMP_CMP_EQ, is, 0));
}

static int prctl_allow(scmp_filter_ctx filter)
{
	static const int options[] = {PR_SET_NAME,         PR_GET_NAME,
				      PR_SET_TIMERSLACK,   PR_SET_PDEATHSIG,
				      PR_GET_NO_NEW_PRIVS, PR_GET_DUMPABLE,
				      PR_SET_VMA};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(options) / sizeof(*options); i++)
		err = first_argument_allow(filter, SCMP_SYS(prctl),
					   (uint64_t)options[i]);
	return err;
}

/* None that puts text into a terminal (TIOCSTI, TIOCLINUX). */
static int ioctl_allow(scmp_filter_ctx filter)
{
	static const unsigned long requests[] = {
		FIONREAD,      FIONBIO,     TCGETS,       TCSETS,
		TCSETSW,       TCSETSF,     TIOCGPTN,     TIOCSPTLCK,
		TIOCGPTPEER,   TIOCGWINSZ,  SIOCGIFCONF,  SIOCGIFADDR,
		SIOCGIFFLAGS,  SIOCGIFNAME, SIOCGIFINDEX, SIOCGIFMTU,
		SIOCGIFNETMASK};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(requests) / sizeof(*requests);
	     i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl),
				       1, SCMP_A1(SCMP_CMP_EQ, requests[i], 0));
	return err;
}

static int arguments_allow(scmp_filter_ctx filter, bool programs)
{
	const uint64_t self = (uint64_t)getpid();
	int err = sockets_allow(filter);

	if (!err)
		err = memory_allow(filter);
	if (!err)
		err = clone_allow(filter, programs);
	/* with programs all refusals are without a signal */
	if (!err && !programs && !SANITIZED && refusal() == SCMP_ACT_TRAP)
		err = processes_refuse(filter);
	if (!err)
		err = prctl_allow(filter);
	if (!err)
		err = ioctl_allow(filter);
	/* abort() */
	if (!err)
		err = first_argument_allow(filter, SCMP_SYS(tgkill), self);
	/* limits: its own */
	if (!err)
		err = first_argument_allow(filter, SCMP_SYS(prlimit64), 0);
	return err;
}

static int filter_fill(scmp_filter_ctx filter, bool programs)
{
	int err = rules_add(filter, SCMP_ACT_ALLOW, allowed);

	if (!err && programs)
		err = rules_add(filter, SCMP_ACT_ALLOW, of_programs);
	if (!err && SANITIZED)
		err = rules_add(filter, SCMP_ACT_ALLOW, of_sanitizers);
	if (!err && programs && refusal() == SCMP_ACT_TRAP)
		err = rules_add(filter, SCMP_ACT_TRAP, of_attackers);
	if (!err)
		err = arguments_allow(filter, programs);
	/* all threads of the process; and the kernel finds a call by halves */
	if (!err)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!err)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return err;
}

bool syscall_filter_supported(void)
{
	/* with a filter that cannot be read the kernel gets as far as EFAULT */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 &&
	       errno == EFAULT;
}

int syscall_filter_install(bool programs, const char *who)
{
	/* Our handler of SIGSYS logs a refused call. A program that we start does not
	 * have it, and the signal would kill it, so its calls just fail with EPERM. */
	scmp_filter_ctx filter =
		seccomp_init(programs ? SCMP_ACT_ERRNO(EPERM) : refusal());
	int err;

	if (!filter)
		return -ENOMEM;
	(void)str_copy(process_name, sizeof(process_name), who);
	err = filter_fill(filter, programs);
	if (!err)
		err = handler_install();
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
