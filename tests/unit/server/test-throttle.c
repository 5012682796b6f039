#include "base/clock.h"
#include "control/server/session/password.h"
#include "control/server/session/throttle.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_waits_grow(void **state)
{
	struct throttle *t;
	int64_t now = NS_PER_S, wait = 0, last = 0;

	(void)state;
	assert_int_equal(throttle_new(&t), 0);
	for (int i = 0; i < THROTTLE_FREE; i++) {
		assert_int_equal(throttle_wait(t, "n", "a", now), 0);
		throttle_failed(t, "n", "a", now);
	}
	for (int i = 0; i < 20; i++) {
		wait = throttle_wait(t, "n", "a", now);
		assert_true(wait > last || wait == THROTTLE_ADDRESS_NS);
		last = wait;
		now += wait;
		assert_int_equal(throttle_wait(t, "n", "a", now), 0);
		throttle_failed(t, "n", "a", now);
	}
	/*
	 * the same name from another address, and other names from this address
	 */
	assert_int_equal(throttle_wait(t, "n", "b", now), THROTTLE_NAME_NS);
	assert_int_equal(throttle_wait(t, "m", "a", now), THROTTLE_ADDRESS_NS);
	assert_int_equal(throttle_wait(t, "m", "b", now), 0);
	throttle_passed(t, "n");
	assert_int_equal(throttle_wait(t, "n", "b", now), 0);
	assert_int_equal(throttle_wait(t, "n", "a", now), THROTTLE_ADDRESS_NS);
	/* forgotten after a while without failures */
	now += THROTTLE_ADDRESS_NS + 1;
	throttle_failed(t, "n", "a", now);
	assert_int_equal(throttle_wait(t, "n", "a", now), 0);
	throttle_free(t);
}

static void test_table_is_bounded(void **state)
{
	struct throttle *t;
	char name[20];

	(void)state;
	assert_int_equal(throttle_new(&t), 0);
	for (int i = 0; i < 3 * THROTTLE_ENTRIES; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		throttle_failed(t, name, "a", i + 1);
	}
	assert_true(throttle_wait(t, "x", "a", 3 * THROTTLE_ENTRIES) > 0);
	throttle_free(t);
}

static void test_hashes(void **state)
{
	char hash[USER_PASSWORD_BYTES];

	(void)state;
	assert_int_equal(password_hash("correct horse", hash), 0);
	assert_memory_equal(hash, "$argon2id$", 10);
	assert_true(password_matches(hash, "correct horse"));
	assert_false(password_matches(hash, "correct horsf"));
	assert_false(password_matches(NULL, "correct horse"));
	assert_null(password_refused("n", "0123456789"));
	assert_non_null(password_refused("n", "012345678"));
	assert_non_null(password_refused("0123456789", "0123456789"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_grow),
		cmocka_unit_test(test_table_is_bounded),
		cmocka_unit_test(test_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
