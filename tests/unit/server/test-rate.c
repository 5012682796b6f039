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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
