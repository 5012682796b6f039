#include "sip/mono_timer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "sip/ua.h"

#define PATIENCE_S 20 /* then the process ends: a timer did not run */
#define HOUR_S     3600

static int wall_step_s;

/* The time that libre sees: a wall clock that can be set. */
int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec now;

	(void)tz;
	clock_gettime(CLOCK_REALTIME, &now);
	tv->tv_sec = now.tv_sec + wall_step_s;
	tv->tv_usec = now.tv_nsec / NS_PER_US;
	return 0;
}

struct timed {
	struct mono_timer timer;
	struct rig *rig;
	char name;
	int64_t ran_ns;
};

struct rig {
	struct timed a, b, c;
	char ran[16];
	int64_t begin_ns;
};

static void note(struct timed *t)
{
	size_t len = strlen(t->rig->ran);

	t->ran_ns = clock_mono_ns();
	assert_true(len + 1 < sizeof(t->rig->ran));
	t->rig->ran[len] = t->name;
}

static void handler(void *arg)
{
	note(arg);
}

static void stop_handler(void *arg)
{
	note(arg);
	sip_loop_stop();
}

static int setup(void **state)
{
	static struct rig rig;

	wall_step_s = 0;
	rig = (struct rig){.begin_ns = clock_mono_ns()};
	rig.a = (struct timed){.rig = &rig, .name = 'a'};
	rig.b = (struct timed){.rig = &rig, .name = 'b'};
	rig.c = (struct timed){.rig = &rig, .name = 'c'};
	*state = &rig;
	alarm(PATIENCE_S);
	return sip_loop_init();
}

static int teardown(void **state)
{
	(void)state;
	sip_loop_close();
	alarm(0);
	return 0;
}

static void test_mono_timer_runs_in_order_and_never_early(void **state)
{
	struct rig *r = *state;

	mono_timer_start(&r->c.timer, 40, stop_handler, &r->c);
	mono_timer_start(&r->b.timer, 20, handler, &r->b);
	mono_timer_start(&r->a.timer, 0, handler, &r->a);
	assert_string_equal(r->ran, ""); /* a handler is never called from
					  * within the function */
	assert_int_equal(sip_loop_run(), 0);
	assert_string_equal(r->ran, "abc");
	assert_true(r->b.ran_ns - r->begin_ns >= 20 * NS_PER_MS);
	assert_true(r->c.ran_ns - r->begin_ns >= 40 * NS_PER_MS);
	assert_false(mono_timer_running(&r->c.timer));
}

static void cancel_handler(void *arg)
{
	struct timed *t = arg;

	note(t);
	mono_timer_cancel(&t->rig->b.timer);
}

/* The timerfd was armed for the cancelled timer. */
static void test_mono_timer_cancelled_does_not_run(void **state)
{
	struct rig *r = *state;

	mono_timer_start(&r->a.timer, 5, cancel_handler, &r->a);
	mono_timer_start(&r->b.timer, 10, handler, &r->b);
	mono_timer_start(&r->c.timer, 30, stop_handler, &r->c);
	assert_true(mono_timer_running(&r->b.timer));
	assert_int_equal(sip_loop_run(), 0);
	assert_string_equal(r->ran, "ac");
}

static void again_handler(void *arg)
{
	struct timed *t = arg;

	note(t);
	if (strlen(t->rig->ran) < 5)
		mono_timer_start(&t->timer, 0, again_handler, t);
	else
		mono_timer_start(&t->timer, 1, stop_handler, t);
}

static void test_mono_timer_restarts_in_its_handler(void **state)
{
	struct rig *r = *state;

	mono_timer_start(&r->a.timer, 1, again_handler, &r->a);
	assert_int_equal(sip_loop_run(), 0);
	assert_string_equal(r->ran, "aaaaaa");
}

static void test_mono_timer_far_times(void **state)
{
	struct rig *r = *state;

	mono_timer_start(&r->a.timer, UINT64_MAX, handler, &r->a);
	mono_timer_start(&r->b.timer, UINT64_C(86400000) * 365, handler, &r->b);
	mono_timer_start(&r->c.timer, 10, stop_handler, &r->c);
	assert_int_equal(sip_loop_run(), 0);
	assert_string_equal(r->ran, "c");
	mono_timer_cancel(&r->a.timer);
	mono_timer_cancel(&r->b.timer);
}

static void set_back_handler(void *arg)
{
	note(arg);
	wall_step_s = -HOUR_S;
}

/*
 * With the wall clock libre's own timer would wait for another hour, or expire
 * at once.
 */
static void test_mono_timer_does_not_follow_the_wall_clock(void **state)
{
	struct rig *r = *state;

	mono_timer_start(&r->a.timer, 1, set_back_handler, &r->a);
	mono_timer_start(&r->c.timer, 30, stop_handler, &r->c);
	assert_int_equal(sip_loop_run(), 0);
	assert_string_equal(r->ran, "ac");
	wall_step_s = HOUR_S;
	r->begin_ns = clock_mono_ns();
	mono_timer_start(&r->c.timer, 30, stop_handler, &r->c);
	assert_int_equal(sip_loop_run(), 0);
	assert_true(r->c.ran_ns - r->begin_ns >= 30 * NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_mono_timer_runs_in_order_and_never_early, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_mono_timer_cancelled_does_not_run, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_mono_timer_restarts_in_its_handler, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_mono_timer_far_times,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_mono_timer_does_not_follow_the_wall_clock, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
