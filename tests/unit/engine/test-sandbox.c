/* Landlock and seccomp as an engine uses them, each in a process of its own. */
#include "agent/engine/file_rules.h"
#include "agent/engine/syscall_filter.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* The sanitizer's own work at the end of a process is not part of a test. */
#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			dprintf(STDERR_FILENO, "line %d: %s (%s)\n", __LINE__, \
				#condition, strerror(errno));                  \
			_exit(1);                                              \
		}                                                              \
	} while (0)

struct place {
	char folder[64]; /* ours and theirs are in it */
	char ours[96];
	char theirs[96];
};

static void file_make(const char *folder, const char *name)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("text", f);
	fclose(f);
}

static int place_make(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->folder, "/tmp/offhook-test-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	snprintf(p->ours, sizeof(p->ours), "%s/ours", p->folder);
	snprintf(p->theirs, sizeof(p->theirs), "%s/theirs", p->folder);
	assert_int_equal(mkdir(p->ours, 0700), 0);
	assert_int_equal(mkdir(p->theirs, 0700), 0);
	file_make(p->ours, "a");
	file_make(p->theirs, "a");
	*state = p;
	return 0;
}

static int place_remove(void **state)
{
	struct place *p = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", p->folder);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

/* Run a function in a child. @param said  what it wrote to standard error; NULL: let it
 * through */
static void in_child(void (*run)(const struct place *), void **state,
		     char *said, size_t size)
{
	int pipes[2], status = 0;
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (said)
			dup2(pipes[1], STDERR_FILENO);
		run(*state);
		_exit(0);
	}
	close(pipes[1]);
	while (said && (n = read(pipes[0], said + used, size - 1 - used)) > 0)
		used += (size_t)n;
	if (said)
		said[used] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status && said)
		print_error("%s\n", said);
	assert_int_equal(status, 0);
}

/* @return descriptor; -errno */
static int opened(const char *folder, const char *name, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* ---- files ---- */

static void rules_enforce(const struct place *p, unsigned what)
{
	struct file_rules *rules = NULL;

	CHECK(file_rules_new(&rules) == 0);
	CHECK(file_rules_allow(rules, p->ours, what) == 0);
	CHECK(file_rules_allow(rules, "/nonexistent/file", what) == 0);
	CHECK(file_rules_enforce(rules) == 0);
	file_rules_free(rules);
}

static void read_only(const struct place *p)
{
	rules_enforce(p, FILE_RULE_READ);
	CHECK(opened(p->ours, "a", O_RDONLY) >= 0);
	CHECK(opened(p->ours, "a", O_WRONLY) == -EACCES);
	CHECK(opened(p->ours, "a", O_RDONLY | O_TRUNC) == -EACCES ||
	      file_rules_version() < 3);
	CHECK(opened(p->ours, "b", O_WRONLY | O_CREAT) == -EACCES);
	CHECK(opened(p->ours, "../theirs/a", O_RDONLY) == -EACCES);
	CHECK(opened(p->theirs, "a", O_RDONLY) == -EACCES);
	CHECK(opened(p->folder, "theirs", O_RDONLY | O_DIRECTORY) == -EACCES);
}

static void test_files_others_are_refused(void **state)
{
	if (!file_rules_version())
		skip();
	in_child(read_only, state, NULL, 0);
}

static void write_and_remove(const struct place *p)
{
	char path[128], outside[128];

	snprintf(path, sizeof(path), "%s/b", p->ours);
	snprintf(outside, sizeof(outside), "%s/b", p->theirs);
	rules_enforce(p, FILE_RULE_READ | FILE_RULE_WRITE);
	CHECK(opened(p->ours, "b", O_WRONLY | O_CREAT | O_TRUNC) >= 0);
	CHECK(symlink("/etc/passwd", path) < 0 && errno == EEXIST);
	CHECK(rename(path, outside) < 0 && errno == EACCES);
	CHECK(link(path, outside) < 0 && errno == EACCES);
	CHECK(unlink(path) == 0);
	CHECK(symlink("/etc/passwd", path) < 0 && errno == EACCES);
	CHECK(mkdir(path, 0700) < 0 && errno == EACCES);
	CHECK(opened(p->theirs, "b", O_WRONLY | O_CREAT) == -EACCES);
}

static void test_files_are_written_but_not_moved_out(void **state)
{
	if (!file_rules_version())
		skip();
	in_child(write_and_remove, state, NULL, 0);
}

static void other_process(const struct place *p)
{
	pid_t parent = getppid();

	CHECK(kill(parent, 0) == 0);
	rules_enforce(p, FILE_RULE_READ);
	CHECK(file_rules_version() < 6 ||
	      (kill(parent, 0) < 0 && errno == EPERM));
	CHECK(kill(getpid(), 0) == 0);
	CHECK(execl("/bin/true", "true", NULL) < 0 && errno == EACCES);
}

static void test_files_neither_programs_nor_signals(void **state)
{
	if (!file_rules_version())
		skip();
	in_child(other_process, state, NULL, 0);
}

/* ---- system calls ---- */

static void refused_calls(const struct place *p)
{
	log_setup(LOG_LEVEL_INFO, "test");
	CHECK(opened(p->theirs, "a", O_RDONLY) >= 0);
	CHECK(syscall_filter_install(false, "run=r role=caller") == 0);
	for (int i = 0; i < 3; i++) {
		errno = 0;
		CHECK(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
	}
	CHECK(execl("/bin/true", "true", NULL) < 0 && errno == EPERM);
	CHECK(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EACCES);
	CHECK(socket(AF_INET, SOCK_DGRAM, 0) >= 0);
	CHECK(syscall(1000) < 0 && errno == EPERM);
	CHECK(opened(p->ours, "a", O_RDONLY) >= 0);
}

static unsigned occurrences(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

static void test_calls_are_refused_and_named_once(void **state)
{
	char said[4096];

	if (!syscall_filter_supported())
		skip();
	in_child(refused_calls, state, said, sizeof(said));
	assert_int_equal(occurrences(said, "run=r role=caller: the sandbox "
					   "refused system call unshare ("),
			 1);
	assert_int_equal(occurrences(said, "system call execve ("), 1);
	assert_int_equal(occurrences(said, "system call socket ("), 1);
	assert_int_equal(occurrences(said, "system call 1000"), 1);
	assert_int_equal(occurrences(said, "the sandbox refused"), 4);
}

static sem_t installed, tried;
static int thread_errno;

static void *thread_try(void *arg)
{
	sem_wait(&installed);
	errno = 0;
	thread_errno = unshare(CLONE_NEWUSER) < 0 ? errno : 0;
	sem_post(&tried);
	return arg;
}

static void threads(const struct place *p)
{
	pthread_t before, after;

	(void)p;
	sem_init(&installed, 0, 0);
	sem_init(&tried, 0, 0);
	CHECK(pthread_create(&before, NULL, thread_try, NULL) == 0);
	CHECK(syscall_filter_install(false, "run=r role=caller") == 0);
	sem_post(&installed);
	sem_wait(&tried);
	CHECK(thread_errno == EPERM);
	sem_post(&installed);
	CHECK(pthread_create(&after, NULL, thread_try, NULL) == 0);
	CHECK(pthread_join(before, NULL) == 0);
	CHECK(pthread_join(after, NULL) == 0);
}

static void test_calls_of_threads_before_and_after(void **state)
{
	char said[4096];

	if (!syscall_filter_supported())
		skip();
	in_child(threads, state, said, sizeof(said));
	assert_int_equal(occurrences(said, "system call unshare"), 1);
}

static void programs(const struct place *p)
{
	int status = -1;
	pid_t pid;

	(void)p;
	CHECK(syscall_filter_install(true, "run=r role=caller") == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(9);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(unshare(CLONE_NEWUSER) < 0 && errno == EPERM);
	CHECK(symlink("/etc/passwd", "x") < 0 && errno == EPERM);
}

static void test_calls_of_programs(void **state)
{
	char said[4096];

	if (!syscall_filter_supported())
		skip();
	in_child(programs, state, said, sizeof(said));
	assert_int_equal(occurrences(said, "system call unshare"), 1);
	assert_int_equal(occurrences(said, "system call"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_others_are_refused),
		cmocka_unit_test(test_files_are_written_but_not_moved_out),
		cmocka_unit_test(test_files_neither_programs_nor_signals),
		cmocka_unit_test(test_calls_are_refused_and_named_once),
		cmocka_unit_test(test_calls_of_threads_before_and_after),
		cmocka_unit_test(test_calls_of_programs),
	};

	return cmocka_run_group_tests(tests, place_make, place_remove);
}
