/* How long a stopped session continues to receive, on a simulated clock. */
#include "media/rx/rx_linger.h"

#include "base/clock.h"
#include "media/rx/rx_session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define T0 (1000 * NS_PER_S)
#define MS NS_PER_MS

struct world {
	struct rx_linger linger;
	struct rx_session *sessions[3];
};

static int world_open(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	for (size_t i = 0; i < 3; i++) {
		w->sessions[i] = aligned_alloc(_Alignof(struct rx_session),
					       sizeof(struct rx_session));
		assert_non_null(w->sessions[i]);
		memset(w->sessions[i], 0, sizeof(struct rx_session));
	}
	*state = w;
	return 0;
}

static int world_close(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 3; i++)
		free(w->sessions[i]);
	free(w);
	return 0;
}

/* It ends exactly at this time, not a nanosecond before. */
static void expect_over(struct world *w, size_t i, int64_t at_ns)
{
	int64_t next_ns;

	assert_true(rx_linger_next(&w->linger, &next_ns));
	assert_int_equal(next_ns, at_ns);
	assert_null(rx_linger_over(&w->linger, at_ns - 1));
	assert_ptr_equal(rx_linger_over(&w->linger, at_ns), w->sessions[i]);
}

static void expect_none(struct world *w)
{
	int64_t next_ns;

	assert_false(rx_linger_next(&w->linger, &next_ns));
	assert_null(rx_linger_over(&w->linger, INT64_MAX));
}

static void test_peer_without_rtcp(void **state)
{
	struct world *w = *state;

	expect_none(w);
	rx_linger_start(&w->linger, w->sessions[0], T0);
	expect_over(w, 0, T0 + 120 * MS);
	expect_none(w);
}

static void test_peer_whose_bye_does_not_come(void **state)
{
	struct world *w = *state;

	rx_linger_rtcp(&w->linger, w->sessions[0], false, T0 - NS_PER_S);
	rx_linger_start(&w->linger, w->sessions[0], T0);
	rx_linger_rtcp(&w->linger, w->sessions[0], false, T0 + 50 * MS);
	expect_over(w, 0, T0 + 200 * MS);
	expect_none(w);
}

static void test_bye_after_the_stop(void **state)
{
	struct world *w = *state;

	rx_linger_rtcp(&w->linger, w->sessions[0], false, T0 - NS_PER_S);
	rx_linger_start(&w->linger, w->sessions[0], T0);
	rx_linger_rtcp(&w->linger, w->sessions[0], true, T0 + 50 * MS);
	/* a BYE of another session does not prolong it */
	rx_linger_rtcp(&w->linger, w->sessions[0], true, T0 + 60 * MS);
	expect_over(w, 0, T0 + 70 * MS);
	expect_none(w);
}

static void test_bye_before_the_stop(void **state)
{
	struct world *w = *state;

	rx_linger_rtcp(&w->linger, w->sessions[0], true, T0 - 5 * MS);
	rx_linger_start(&w->linger, w->sessions[0], T0);
	expect_over(w, 0, T0 + 20 * MS);
	expect_none(w);
}

static void test_bye_of_a_source_that_was_replaced(void **state)
{
	struct world *w = *state;

	rx_linger_rtcp(&w->linger, w->sessions[0], true, T0 - 30 * NS_PER_S);
	rx_linger_start(&w->linger, w->sessions[0], T0);
	expect_over(w, 0, T0 + 200 * MS);
	expect_none(w);
}

/*
 * Several sessions end at their own times; the middle one moves to another
 * queue.
 */
static void test_several_end_each_in_its_time(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 3; i++)
		rx_linger_start(&w->linger, w->sessions[i],
				T0 + (int64_t)i * MS);
	rx_linger_rtcp(&w->linger, w->sessions[1], true, T0 + 90 * MS);
	expect_over(w, 1, T0 + 110 * MS);
	expect_over(w, 0, T0 + 120 * MS);
	expect_over(w, 2, T0 + 122 * MS);
	expect_none(w);
}

/* A session that has ended may be started again: its slot is reused. */
static void test_churn_beside_one_that_waits(void **state)
{
	struct world *w = *state;

	rx_linger_rtcp(&w->linger, w->sessions[0], false, T0);
	rx_linger_start(&w->linger, w->sessions[0], T0);
	for (int64_t i = 0; i < 1000; i++) {
		int64_t now = T0 + i * 100;

		rx_linger_start(&w->linger, w->sessions[1], now);
		rx_linger_rtcp(&w->linger, w->sessions[1], true, now);
		assert_ptr_equal(rx_linger_over(&w->linger, now + 20 * MS),
				 w->sessions[1]);
	}
	expect_over(w, 0, T0 + 200 * MS);
	expect_none(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_peer_without_rtcp,
						world_open, world_close),
		cmocka_unit_test_setup_teardown(
			test_peer_whose_bye_does_not_come, world_open,
			world_close),
		cmocka_unit_test_setup_teardown(test_bye_after_the_stop,
						world_open, world_close),
		cmocka_unit_test_setup_teardown(test_bye_before_the_stop,
						world_open, world_close),
		cmocka_unit_test_setup_teardown(
			test_bye_of_a_source_that_was_replaced, world_open,
			world_close),
		cmocka_unit_test_setup_teardown(
			test_several_end_each_in_its_time, world_open,
			world_close),
		cmocka_unit_test_setup_teardown(
			test_churn_beside_one_that_waits, world_open,
			world_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
