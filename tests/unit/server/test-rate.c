#include "base/clock.h"
#include "control/server/http/rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define T0 (5 * NS_PER_S)

static int setup(void **state)
{
	return rate_new((struct rate **)state, 10, 20);
}

static int teardown(void **state)
{
	rate_free(*state);
	return 0;
}

static int64_t take(struct rate *r, int64_t key, int64_t now_ns)
{
	struct rate_left left;

	return rate_take(r, key, now_ns, &left);
}

static int taken(struct rate *r, int64_t key, int64_t now_ns)
{
	int n = 0;

	while (n < 1000 && take(r, key, now_ns) == 0)
		n++;
	return n;
}

static void test_burst_then_rate(void **state)
{
	struct rate *r = *state;

	assert_int_equal(taken(r, 1, T0), 20);
	assert_int_equal(take(r, 1, T0), 100 * NS_PER_MS);
	assert_int_equal(taken(r, 1, T0 + 99 * NS_PER_MS), 0);
	assert_int_equal(taken(r, 1, T0 + NS_PER_S), 10);
	assert_int_equal(taken(r, 1, T0 + 3600 * NS_PER_S), 20);
}

static void test_what_is_left(void **state)
{
	struct rate *r = *state;
	struct rate_left left;

	assert_int_equal(rate_take(r, 1, T0, &left), 0);
	assert_int_equal(left.tokens, 19);
	assert_int_equal(left.full_ns, 100 * NS_PER_MS);
	assert_int_equal(taken(r, 1, T0), 19);
	assert_true(rate_take(r, 1, T0, &left) > 0);
	assert_int_equal(left.tokens, 0);
	assert_int_equal(left.full_ns, 2 * NS_PER_S);
	/* half a token does not allow a request */
	assert_int_equal(rate_take(r, 1, T0 + 350 * NS_PER_MS, &left), 0);
	assert_int_equal(left.tokens, 2);
	assert_int_equal(left.full_ns, 1750 * NS_PER_MS);
}

static void test_keys_are_apart(void **state)
{
	struct rate *r = *state;

	assert_int_equal(taken(r, 1, T0), 20);
	assert_int_equal(taken(r, 2, T0), 20);
}

static void test_table_full(void **state)
{
	struct rate *r = *state;

	assert_int_equal(taken(r, 1, T0), 20);
	/* key 1 has the most tokens left, so the others are evicted first */
	for (int64_t key = 2; key < 3 * RATE_KEYS_MAX; key++)
		assert_int_equal(take(r, key, T0), 0);
	assert_int_equal(taken(r, 1, T0), 0);
}

/* ---- shared buckets ---- */

static void test_tokens_are_reported_once(void **state)
{
	struct rate_share got[RATE_KEYS_MAX];
	struct rate *r = *state;

	assert_int_equal(rate_unreported(r, got), 0);
	assert_int_equal(take(r, 7, T0), 0);
	assert_int_equal(take(r, 7, T0), 0);
	assert_int_equal(take(r, -2, T0), 0);
	assert_int_equal(rate_unreported(r, got), 2);
	assert_int_equal(got[0].key, 7);
	assert_int_equal(got[0].ns, 200 * NS_PER_MS);
	assert_int_equal(got[1].key, -2);
	assert_int_equal(got[1].ns, 100 * NS_PER_MS);
	/* taken before the report is confirmed: not part of it */
	assert_int_equal(take(r, 7, T0), 0);
	rate_reported(r, got, 2);
	assert_int_equal(rate_unreported(r, got), 1);
	assert_int_equal(got[0].key, 7);
	assert_int_equal(got[0].ns, 100 * NS_PER_MS);
	/* refused requests take nothing */
	while (take(r, 9, T0) == 0)
		;
	assert_true(take(r, 9, T0) > 0);
	assert_int_equal(rate_unreported(r, got), 2);
	assert_int_equal(got[1].ns, 20 * 100 * NS_PER_MS);
}

static void test_what_others_took_is_missing_here(void **state)
{
	const struct rate_share half = {1, NS_PER_S};
	struct rate *r = *state;
	struct rate_left left;

	rate_learn(r, &half, 1, T0, T0);
	assert_int_equal(taken(r, 1, T0), 10);
	/* what was taken here since the report comes on top */
	rate_learn(r, &half, 1, T0 + NS_PER_S, T0);
	assert_int_equal(taken(r, 1, T0 + NS_PER_S), 0);
	assert_int_equal(taken(r, 1, T0 + 2 * NS_PER_S), 10);
	/* a shared bucket that owes more than it holds is made up for */
	rate_learn(r, &(struct rate_share){2, 5 * NS_PER_S}, 1, T0, T0);
	assert_int_equal(rate_take(r, 2, T0, &left),
			 3 * NS_PER_S + 100 * NS_PER_MS);
	assert_int_equal(left.tokens, 0);
	assert_int_equal(left.full_ns, 5 * NS_PER_S);
	assert_int_equal(taken(r, 2, T0 + 3 * NS_PER_S), 0);
	assert_int_equal(taken(r, 2, T0 + 4 * NS_PER_S), 10);
}

/* A client within its rate is not refused because reports come late. */
static void test_refilled_before_the_report(void **state)
{
	const struct rate_share full = {1, -NS_PER_S};
	struct rate *r = *state;

	for (int i = 0; i < 10; i++)
		assert_int_equal(take(r, 1, T0 + i * 100 * NS_PER_MS), 0);
	rate_learn(r, &full, 1, T0 + NS_PER_S, T0);
	assert_int_equal(taken(r, 1, T0 + NS_PER_S), 20);
	/* the own bucket is never made fuller */
	rate_learn(r, &full, 1, T0 + NS_PER_S, T0 + NS_PER_S);
	assert_int_equal(taken(r, 1, T0 + NS_PER_S), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_burst_then_rate, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_what_is_left, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_keys_are_apart, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_table_full, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_tokens_are_reported_once,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_what_others_took_is_missing_here, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refilled_before_the_report,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
