#include "media/lateness.h"

#include "base/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BOUND (20 * NS_PER_MS)

static struct lateness lateness;
static struct lateness_mark mark;

static void near_ms(double ms, double expected)
{
	assert_true(fabs(ms - expected) <= expected * 0.008);
}

static int clear(void **state)
{
	(void)state;
	lateness = (struct lateness){0};
	mark = (struct lateness_mark){0};
	return 0;
}

static void test_nothing_was_sent(void **state)
{
	struct lateness_figures f;

	(void)state;
	lateness_since(&lateness, &mark, BOUND, &f);
	assert_int_equal(f.n, 0);
	assert_int_equal(f.later, 0);
}

static void test_a_mark_moves_on(void **state)
{
	struct lateness_figures f;

	(void)state;
	for (int i = 0; i < 1000; i++)
		lateness_add(&lateness, NS_PER_MS);
	for (int i = 0; i < 30; i++)
		lateness_add(&lateness, 300 * NS_PER_MS);
	lateness_since(&lateness, &mark, BOUND, &f);
	assert_int_equal(f.n, 1030);
	assert_int_equal(f.later, 30);
	near_ms(f.p99_ms, 300);
	near_ms(f.max_ms, 300);

	for (int i = 0; i < 99; i++)
		lateness_add(&lateness, 2 * NS_PER_MS);
	lateness_add(&lateness, 40 * NS_PER_MS);
	lateness_since(&lateness, &mark, BOUND, &f);
	assert_int_equal(f.n, 100);
	assert_int_equal(f.later, 1);
	near_ms(f.p99_ms, 2);
	near_ms(f.max_ms, 40);

	lateness_since(&lateness, &mark, BOUND, &f);
	assert_int_equal(f.n, 0);
}

/* Two readers with a mark each see the same. */
static void test_marks_do_not_disturb_each_other(void **state)
{
	static struct lateness_mark other;
	struct lateness_figures f;

	(void)state;
	lateness_add(&lateness, 5 * NS_PER_MS);
	lateness_since(&lateness, &mark, BOUND, &f);
	lateness_add(&lateness, 50 * NS_PER_MS);
	lateness_since(&lateness, &mark, BOUND, &f);
	assert_int_equal(f.n, 1);
	lateness_since(&lateness, &other, BOUND, &f);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.later, 1);
}

static void test_exactly_the_bound_is_not_late(void **state)
{
	struct lateness_figures f;

	(void)state;
	lateness_add(&lateness, BOUND);
	lateness_add(&lateness, BOUND + BOUND / 50);
	lateness_since(&lateness, &mark, BOUND, &f);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.later, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nothing_was_sent, clear),
		cmocka_unit_test_setup(test_a_mark_moves_on, clear),
		cmocka_unit_test_setup(test_marks_do_not_disturb_each_other,
				       clear),
		cmocka_unit_test_setup(test_exactly_the_bound_is_not_late,
				       clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
