/* The claim of an Idempotency-Key, and the run that its request starts. */
#include "lease_bench.h"

#include "control/server/store/store_idempotency.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int claim(struct bench *b, struct idempotency *i, int64_t now)
{
	json_t *response = NULL;
	unsigned status = 0;

	*i = (struct idempotency){.key_id = 1, .name = "k", .hash = {1}};
	return store_idempotency_claim(b->store, i, now, &status, &response);
}

static void test_key_that_started_nothing_is_free_again(void **state)
{
	struct idempotency first, second;
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	assert_int_equal(claim(&b, &first, T0), 0);
	assert_int_equal(claim(&b, &second, T0 + 1), -EBUSY);
	assert_int_equal(store_idempotency_drop(b.store, &first), 0);
	assert_int_equal(claim(&b, &second, T0 + 2), 0);
	bench_close(&b);
}

/* The answer to the COMMIT was lost: the request failed, but its run was started. */
static void test_key_of_a_started_run_is_kept(void **state)
{
	struct idempotency first, second;
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	assert_int_equal(claim(&b, &first, T0), 0);
	bench_run(&b);
	assert_int_equal(store_idempotency_drop(b.store, &first), 0);
	assert_int_equal(claim(&b, &second, T0 + 1), 2);
	bench_expect(&b, "session_id", second.started);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_key_that_started_nothing_is_free_again),
		cmocka_unit_test(test_key_of_a_started_run_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
