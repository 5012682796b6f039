/*
 * System calls of an engine's threads during calls, counted by ptrace.
 * Receiving and sending make only the calls for their sockets and for waiting.
 * The number of calls that the analysis makes depends on time, not on packets.
 */
#include "base/clock.h"
#include "base/sanitizer.h"
#include "media_rig.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SESSIONS    4
#define CALL_MS     3000
#define REPORT_MS   500
#define TICK_NS     (20 * NS_PER_MS) /* of the analysis, media/measure/measure.h */
#define THREADS_MAX 16
#define CALLS_MAX   512
#define NO_TRACE    77

/* Reported by the traced process. */
struct told {
	uint64_t sent; /* RTP packets */
	uint64_t received;
	int64_t elapsed_ns; /* while calls were up */
};

struct thread_calls {
	pid_t id;
	bool waited; /* it has started: calls made at the start are not
		      * counted */
	unsigned long all;
	unsigned long of[CALLS_MAX]; /* by system call number; higher ones
				      * are not counted */
};

struct trace {
	pid_t child;
	bool counting;
	size_t count;
	struct thread_calls threads[THREADS_MAX];
};

static struct trace trace;

/* ---- the traced process ---- */

/*
 * A system call that no other code makes: the first starts the counting, the
 * second ends it.
 */
static void mark(void)
{
	syscall(SYS_getsid, 0);
}

static void settle(struct rig_log *log, const struct rig_log *peer)
{
	const struct media_local *at = media_session_local(peer->session);
	struct media_negotiated n =
		rig_settle(&at->rtp, &at->rtcp, MEDIA_SENDRECV);

	assert_int_equal(media_session_apply(log->session, &n), 0);
}

static void calls_run(struct told *told)
{
	static struct rig rig;
	struct rig_log *logs[SESSIONS];

	rig_open(&rig, SESSIONS, REPORT_MS);
	for (size_t i = 0; i < SESSIONS; i++)
		logs[i] = rig_session(&rig, i);
	mark();
	told->elapsed_ns = -clock_mono_ns();
	for (size_t i = 0; i < SESSIONS; i++)
		settle(logs[i], logs[i ^ 1]);
	rig_run_ms(&rig, CALL_MS);
	rig_stop(&rig, SESSIONS);
	told->elapsed_ns += clock_mono_ns();
	mark();
	for (size_t i = 0; i < SESSIONS; i++) {
		told->received += logs[i]->total[0].packets;
		told->sent += logs[i]->total[1].packets;
	}
	rig_close(&rig);
}

static void child_main(struct told *told)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(NO_TRACE);
	raise(SIGSTOP);
	calls_run(told);
	_exit(0);
}

/* ---- the tracing one ---- */

static struct thread_calls *thread_of(pid_t id)
{
	for (size_t i = 0; i < trace.count; i++) {
		if (trace.threads[i].id == id)
			return &trace.threads[i];
	}
	assert_true(trace.count < THREADS_MAX);
	trace.threads[trace.count].id = id;
	return &trace.threads[trace.count++];
}

static void call_seen(pid_t id)
{
	struct thread_calls *t = thread_of(id);
	struct __ptrace_syscall_info info = {0};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, id, (void *)sizeof(info), &info) <=
		    0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	if (info.entry.nr == SYS_epoll_wait || info.entry.nr == SYS_ppoll ||
	    info.entry.nr == SYS_poll)
		t->waited = true;
	if (info.entry.nr == SYS_getsid) {
		trace.counting = !trace.counting;
	} else if (trace.counting && t->waited) {
		t->all++;
		if (info.entry.nr < CALLS_MAX)
			t->of[info.entry.nr]++;
	}
}

/* @return exit status of the traced process; -1: it was killed */
static int calls_count(pid_t child)
{
	for (;;) {
		int status;
		pid_t id = waitpid(-1, &status, __WALL);
		int signal = 0;

		assert_true(id > 0);
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (id == child)
				return WIFEXITED(status) ? WEXITSTATUS(status)
							 : -1;
			continue;
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			call_seen(id);
		else if (WSTOPSIG(status) != SIGTRAP &&
			 WSTOPSIG(status) != SIGSTOP)
			signal = WSTOPSIG(status);
		ptrace(PTRACE_SYSCALL, id, NULL, (void *)(intptr_t)signal);
	}
}

/* The thread that makes most of a system call. */
static const struct thread_calls *thread_that(unsigned long call)
{
	const struct thread_calls *found = NULL;

	for (size_t i = 0; i < trace.count; i++) {
		const struct thread_calls *t = &trace.threads[i];

		/* the test's own loop polls, too */
		if (t->id != trace.child &&
		    t->of[call] > (found ? found->of[call] : 0))
			found = t;
	}
	assert_non_null(found);
	return found;
}

/* Threads without work, as no audio is decoded, stay asleep. */
static void check_idle(void)
{
	const struct thread_calls *busy[] = {thread_that(SYS_epoll_wait),
					     thread_that(SYS_ppoll),
					     thread_that(SYS_poll)};

	for (size_t i = 0; i < trace.count; i++) {
		const struct thread_calls *t = &trace.threads[i];

		assert_true(t->id == trace.child || t == busy[0] ||
			    t == busy[1] || t == busy[2] || t->all <= 4);
	}
}

static void check_receiving(const struct told *told, uint64_t reports)
{
	const struct thread_calls *t = thread_that(SYS_epoll_wait);
	uint64_t datagrams = told->received + reports;

	/* no socket is read that has nothing */
	assert_true(t->of[SYS_recvmmsg] <= datagrams);
	/* waiting and reading; commands; the wait for late packets at the end */
	assert_true(t->all <= 2 * datagrams + 25 * SESSIONS);
	assert_int_equal(t->all - t->of[SYS_epoll_wait] - t->of[SYS_recvmmsg] -
				 t->of[SYS_epoll_ctl] - t->of[SYS_read] -
				 t->of[SYS_getsockopt],
			 0);
	assert_true(t->of[SYS_epoll_ctl] + t->of[SYS_getsockopt] <=
		    6 * SESSIONS);
}

static uint64_t check_sending(const struct told *told)
{
	const struct thread_calls *t = thread_that(SYS_ppoll);
	uint64_t sent = t->of[SYS_sendto];

	assert_true(sent >= told->sent);
	/* a wait may end a little early, and once more for a response */
	assert_true(t->all <= 3 * sent + 25 * SESSIONS);
	assert_int_equal(t->all - sent - t->of[SYS_ppoll] - t->of[SYS_read], 0);
	return sent - told->sent;
}

static void check_analysis(const struct told *told, uint64_t reports)
{
	const struct thread_calls *t = thread_that(SYS_poll);
	uint64_t ticks = (uint64_t)(told->elapsed_ns / TICK_NS);

	/* a tick waits and wakes the loop; a report wakes the sender */
	assert_true(t->all <= 2 * ticks + 2 * reports + 25 * SESSIONS);
	assert_int_equal(t->all - t->of[SYS_poll] - t->of[SYS_write], 0);
	/* while there are sessions no command signals it: it ticks */
	assert_int_equal(t->of[SYS_read], 0);
}

static void test_threads_make_the_calls_of_sockets_only(void **state)
{
	struct told *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t reports;
	int status;

	(void)state;
#ifdef SANITIZED_THREAD
	skip(); /* the sanitizer's runtime makes system calls */
#endif
	assert_ptr_not_equal(told, MAP_FAILED);
	trace.child = fork();
	assert_true(trace.child >= 0);
	if (trace.child == 0)
		child_main(told);
	assert_int_equal(waitpid(trace.child, &status, 0), trace.child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_TRACE)
		skip(); /* the system has no ptrace */
	assert_true(WIFSTOPPED(status));
	assert_int_equal(
		ptrace(PTRACE_SETOPTIONS, trace.child, NULL,
		       (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
				PTRACE_O_EXITKILL)),
		0);
	ptrace(PTRACE_SYSCALL, trace.child, NULL, NULL);
	assert_int_equal(calls_count(trace.child), 0);
	/* the calls did carry traffic */
	assert_true(told->sent > 50 * SESSIONS);
	assert_true(told->received > 50 * SESSIONS);
	reports = check_sending(told);
	assert_true(reports >= SESSIONS);
	assert_true(reports <=
		    SESSIONS * (3 + (uint64_t)told->elapsed_ns /
					    (REPORT_MS * NS_PER_MS)));
	check_receiving(told, reports);
	check_analysis(told, reports);
	check_idle();
	munmap(told, sizeof(*told));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_make_the_calls_of_sockets_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
