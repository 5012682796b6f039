/*
 * The scheduling class of a thread: set where permitted, reported as it is,
 * given up by a thread that never waits. Each test runs in a child process.
 */
#include "media/scheduling.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY      65534
#define MS          INT64_C(1000000)
#define NOT_ALLOWED 200 /* by this system, for this user */

/*
 * @param refused  run without permission for another class
 * @return exit status of `run` in a child
 */
static int child_run(bool refused, int (*run)(void))
{
	const struct rlimit none = {0, 0};
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		/* whatever priority the suite runs at */
		if (getpriority(PRIO_PROCESS, 0) < 0 &&
		    setpriority(PRIO_PROCESS, 0, 0))
			_exit(255);
		if (refused && (setrlimit(RLIMIT_RTPRIO, &none) ||
				setrlimit(RLIMIT_NICE, &none) ||
				(geteuid() == 0 && setuid(NOBODY))))
			_exit(255);
		_exit(run());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* @return the class, if the kernel reports the same */
static int take(int priority)
{
	struct scheduling s = {0};
	enum media_scheduling class;

	scheduling_take(&s, priority);
	class = scheduling_read(&s);
	if ((sched_getscheduler(0) == SCHED_FIFO) !=
	    (class == MEDIA_SCHEDULING_REALTIME))
		return 100;
	if ((getpriority(PRIO_PROCESS, 0) < 0) !=
	    (class == MEDIA_SCHEDULING_NICE))
		return 101;
	return (int)class;
}

static int take_realtime(void)
{
	return take(SCHEDULING_PRIORITY_TX);
}

static int take_nice(void)
{
	return take(SCHEDULING_NICE_ONLY);
}

static int try_realtime(void)
{
	const struct sched_param p = {.sched_priority = SCHEDULING_PRIORITY_TX};

	return sched_setscheduler(0, SCHED_FIFO, &p) ? NOT_ALLOWED : 0;
}

static int try_nice(void)
{
	return setpriority(PRIO_PROCESS, 0, -1) ? NOT_ALLOWED : 0;
}

static void test_scheduling_refused_is_normal(void **state)
{
	(void)state;
	assert_int_equal(child_run(true, take_realtime),
			 MEDIA_SCHEDULING_NORMAL);
	assert_int_equal(child_run(true, take_nice), MEDIA_SCHEDULING_NORMAL);
}

static void test_scheduling_takes_real_time(void **state)
{
	(void)state;
	if (child_run(false, try_realtime) == NOT_ALLOWED)
		skip();
	assert_int_equal(child_run(false, take_realtime),
			 MEDIA_SCHEDULING_REALTIME);
}

static void test_scheduling_takes_a_nice_value(void **state)
{
	(void)state;
	if (child_run(false, try_nice) == NOT_ALLOWED)
		skip();
	assert_int_equal(child_run(false, take_nice), MEDIA_SCHEDULING_NICE);
}

static int spin(void)
{
	struct scheduling s = {0};
	int64_t now_ns = 5000 * MS;

	scheduling_take(&s, SCHEDULING_PRIORITY_RX);
	if (scheduling_read(&s) != MEDIA_SCHEDULING_REALTIME)
		return NOT_ALLOWED;
	/* repeatedly busy for less than the limit */
	for (int i = 0; i < 5; i++) {
		scheduling_watch(&s, true, now_ns);
		scheduling_watch(&s, false, now_ns += 2000 * MS);
		scheduling_watch(&s, false, now_ns += SCHEDULING_BUSY_MAX_NS);
		if (scheduling_read(&s) != MEDIA_SCHEDULING_REALTIME)
			return 101;
	}
	scheduling_watch(&s, false, now_ns + MS);
	if (scheduling_read(&s) != MEDIA_SCHEDULING_OVERRUN ||
	    sched_getscheduler(0) != SCHED_OTHER)
		return 102;
	scheduling_watch(&s, true, now_ns + 2 * MS);
	return scheduling_read(&s) == MEDIA_SCHEDULING_OVERRUN ? 0 : 103;
}

static void test_scheduling_is_given_back_by_who_never_waits(void **state)
{
	int status = child_run(false, spin);

	(void)state;
	if (status == NOT_ALLOWED)
		skip();
	assert_int_equal(status, 0);
}

/* Until the real-time class is taken back, or `s` seconds have passed.
 * @return seconds */
static unsigned wait_quietly(struct scheduling *s, int64_t *now_ns,
			     unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		*now_ns += 1000 * MS;
		scheduling_watch(s, false, *now_ns);
		if (sched_getscheduler(0) == SCHED_FIFO)
			return i;
	}
	return seconds;
}

static void overrun(struct scheduling *s, int64_t *now_ns)
{
	scheduling_watch(s, false, *now_ns += MS);
	scheduling_watch(s, false, *now_ns += SCHEDULING_BUSY_MAX_NS + MS);
}

static int spin_and_rest(void)
{
	struct scheduling s = {0};
	int64_t now_ns = 5000 * MS;

	scheduling_take(&s, SCHEDULING_PRIORITY_RX);
	if (scheduling_read(&s) != MEDIA_SCHEDULING_REALTIME)
		return NOT_ALLOWED;
	overrun(&s, &now_ns);
	if (sched_getscheduler(0) != SCHED_OTHER)
		return 101;
	/* the first second begins with the first look */
	if (wait_quietly(&s, &now_ns, 20) != SCHEDULING_QUIET_S)
		return 102;
	if (scheduling_read(&s) != MEDIA_SCHEDULING_OVERRUN)
		return 103;
	overrun(&s, &now_ns); /* twice as long now */
	if (sched_getscheduler(0) != SCHED_OTHER)
		return 104;
	return wait_quietly(&s, &now_ns, 40) == 2 * SCHEDULING_QUIET_S ? 0
								       : 105;
}

static void test_scheduling_comes_back_after_quiet_seconds(void **state)
{
	int status = child_run(false, spin_and_rest);

	(void)state;
	if (status == NOT_ALLOWED)
		skip();
	assert_int_equal(status, 0);
}

static void test_scheduling_a_busy_second_begins_the_count_anew(void **state)
{
	struct scheduling s = {.quiet_wanted_s = 3};
	int64_t now_ns = 1000 * MS;
	int64_t cpu_ns = 0;

	(void)state;
	assert_false(scheduling_quiet(&s, now_ns, cpu_ns));
	for (unsigned i = 0; i < 50; i++) {
		/* two quiet seconds, then one of half a processor */
		cpu_ns += i % 3 == 2 ? 500 * MS : 499 * MS;
		assert_false(scheduling_quiet(&s, now_ns += 1000 * MS, cpu_ns));
	}
	now_ns += 1000 * MS;
	assert_false(scheduling_quiet(&s, now_ns, cpu_ns += 900 * MS));
	assert_false(scheduling_quiet(&s, now_ns += 1000 * MS, cpu_ns));
	assert_false(scheduling_quiet(&s, now_ns += 1000 * MS, cpu_ns));
	assert_true(scheduling_quiet(&s, now_ns += 1000 * MS, cpu_ns));
}

static void test_scheduling_names(void **state)
{
	(void)state;
	assert_string_equal(media_scheduling_name(MEDIA_SCHEDULING_NORMAL),
			    "normal");
	assert_string_equal(media_scheduling_name(MEDIA_SCHEDULING_NICE),
			    "nice");
	assert_string_equal(media_scheduling_name(MEDIA_SCHEDULING_REALTIME),
			    "realtime");
	assert_string_equal(media_scheduling_name(MEDIA_SCHEDULING_OVERRUN),
			    "overrun");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scheduling_refused_is_normal),
		cmocka_unit_test(test_scheduling_takes_real_time),
		cmocka_unit_test(test_scheduling_takes_a_nice_value),
		cmocka_unit_test(
			test_scheduling_is_given_back_by_who_never_waits),
		cmocka_unit_test(
			test_scheduling_comes_back_after_quiet_seconds),
		cmocka_unit_test(
			test_scheduling_a_busy_second_begins_the_count_anew),
		cmocka_unit_test(test_scheduling_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
