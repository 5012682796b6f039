/* Threads without the process's signals. */
#include "base/thread.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct seen {
	sigset_t blocked;
	char name[16];
	pthread_barrier_t named;
};

static void *look(void *arg)
{
	struct seen *seen = arg;

	pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
	pthread_barrier_wait(&seen->named);
	pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
	return NULL;
}

static void test_blocks_all_but_its_own_faults(void **state)
{
	static const int own[] = {SIGSYS, SIGSEGV, SIGBUS, SIGILL,
				  SIGFPE, SIGTRAP, SIGABRT};
	static const int others[] = {SIGTERM, SIGINT,  SIGHUP, SIGUSR1,
				     SIGCHLD, SIGPIPE, SIGALRM};
	struct seen seen = {.name = ""};
	sigset_t before, after;
	pthread_t id;
	(void)state;

	pthread_sigmask(SIG_SETMASK, NULL, &before);
	pthread_barrier_init(&seen.named, NULL, 2);
	assert_int_equal(thread_start(&id, "fifteen-letters", look, &seen), 0);
	pthread_barrier_wait(&seen.named);
	pthread_join(id, NULL);
	pthread_barrier_destroy(&seen.named);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		assert_int_equal(sigismember(&seen.blocked, own[i]), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(sigismember(&seen.blocked, others[i]), 1);
	assert_string_equal(seen.name, "fifteen-letters");
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (int s = 1; s < SIGRTMAX; s++)
		assert_int_equal(sigismember(&before, s),
				 sigismember(&after, s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_all_but_its_own_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
