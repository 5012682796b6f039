#include "base/clock.h"
#include "control/server/session/password.h"
#include "control/server/session/throttle.h"
#include "control/server/store/store.h"
#include "control/server/store/store_login_failure.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct throttle *throttle;
	struct temp temp;
	struct secrets *secrets;
	struct database *database;
	struct store *store; /* NULL: failures are kept in the process */
};

static int setup_own(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	return throttle_new(&f->throttle);
}

/* The same in a database: SQLite, or PostgreSQL if OFFHOOK_TEST_DATABASE has the URI of
 * one. */
static int setup_shared(void **state)
{
	const char *uri = getenv("OFFHOOK_TEST_DATABASE");
	struct fixture *f;

	assert_int_equal(setup_own(state), 0);
	f = *state;
	temp_make(&f->temp);
	assert_int_equal(secrets_load(&f->secrets, temp_path(&f->temp, "key")),
			 0);
	assert_int_equal(database_open(&f->database,
				       uri ? uri : temp_path(&f->temp, "db"),
				       f->secrets),
			 0);
	return store_new(&f->store, f->database);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->store) {
		store_free(f->store);
		database_close(f->database);
		secrets_free(f->secrets);
		temp_remove(&f->temp);
	}
	throttle_free(f->throttle);
	free(f);
	return 0;
}

static struct guess guess(const struct fixture *f, const char *name,
			  const char *address, int64_t now_ns)
{
	return (struct guess){f->store, name, address, now_ns};
}

static int64_t wait_of(struct fixture *f, const char *name, const char *address,
		       int64_t now_ns)
{
	const struct guess g = guess(f, name, address, now_ns);
	int64_t wait_ns = -1;

	assert_int_equal(throttle_wait(f->throttle, &g, &wait_ns), 0);
	return wait_ns;
}

static void refuse(struct fixture *f, const char *name, const char *address,
		   int64_t now_ns)
{
	const struct guess g = guess(f, name, address, now_ns);

	assert_int_equal(throttle_failed(f->throttle, &g), 0);
}

static void test_waits_grow(void **state)
{
	struct fixture *f = *state;
	int64_t now = 2 * THROTTLE_ADDRESS_NS, wait = 0, last = 0;
	struct guess right;

	for (int i = 0; i < THROTTLE_FREE; i++) {
		assert_int_equal(wait_of(f, "n", "a", now), 0);
		refuse(f, "n", "a", now);
	}
	for (int i = 0; i < 20; i++) {
		wait = wait_of(f, "n", "a", now);
		assert_true(wait > last || wait == THROTTLE_ADDRESS_NS);
		last = wait;
		now += wait;
		assert_int_equal(wait_of(f, "n", "a", now), 0);
		refuse(f, "n", "a", now);
	}
	/*
	 * the same name from another address, and other names from this address
	 */
	assert_int_equal(wait_of(f, "n", "b", now), THROTTLE_NAME_NS);
	assert_int_equal(wait_of(f, "m", "a", now), THROTTLE_ADDRESS_NS);
	assert_int_equal(wait_of(f, "m", "b", now), 0);
	right = guess(f, "n", "b", now);
	assert_int_equal(throttle_passed(f->throttle, &right), 0);
	assert_int_equal(wait_of(f, "n", "b", now), 0);
	assert_int_equal(wait_of(f, "n", "a", now), THROTTLE_ADDRESS_NS);
	/* a clock that was set back does not make it longer */
	assert_int_equal(wait_of(f, "m", "a", now - 500 * NS_PER_S),
			 THROTTLE_ADDRESS_NS);
	/* forgotten after a while without failures */
	now += THROTTLE_ADDRESS_NS + NS_PER_S;
	refuse(f, "n", "a", now);
	assert_int_equal(wait_of(f, "n", "a", now), 0);
}

static void test_table_is_bounded(void **state)
{
	struct fixture *f = *state;
	char name[20];

	for (int i = 0; i < 3 * THROTTLE_ENTRIES; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		refuse(f, name, "a", i * NS_PER_MS);
	}
	assert_true(wait_of(f, "x", "a", 3 * THROTTLE_ENTRIES * NS_PER_MS) > 0);
}

/* A client that takes another address of its /64 for each guess is one client. */
static void test_addresses_of_a_network(void **state)
{
	struct fixture *f = *state;
	char address[40];

	for (int i = 0; i < THROTTLE_FREE; i++) {
		snprintf(address, sizeof(address), "2001:db8::%x:%x", i, i + 1);
		assert_int_equal(wait_of(f, "n", address, NS_PER_S), 0);
		refuse(f, address, address, NS_PER_S);
	}
	assert_true(wait_of(f, "n", "2001:db8::ffff", NS_PER_S) > 0);
	assert_int_equal(wait_of(f, "n", "2001:db8:0:1::1", NS_PER_S), 0);
	assert_int_equal(wait_of(f, "n", "::ffff:192.0.2.1", NS_PER_S), 0);
	for (int i = 0; i < THROTTLE_FREE; i++)
		refuse(f, "of IPv4", "::ffff:192.0.2.1", NS_PER_S);
	assert_true(wait_of(f, "n", "::ffff:192.0.2.1", NS_PER_S) > 0);
	assert_int_equal(wait_of(f, "n", "::ffff:192.0.2.2", NS_PER_S), 0);
}

/* Of names whose failures were long ago nothing is left, nor of more than the table
 * may have. */
static void test_shared_table_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct login_subject subjects[30];
	struct login_failures left;
	int kept = 0;

	for (int i = 0; i < 30; i++) {
		char name[20];

		snprintf(name, sizeof(name), "n%d", i);
		subjects[i] = login_subject(f->store, "name", name);
		assert_int_equal(store_login_failed(f->store, &subjects[i], 1,
						    1000 + i, 15, 10),
				 0);
	}
	for (int i = 0; i < 30; i++) {
		assert_int_equal(
			store_login_failures(f->store, &subjects[i], &left), 0);
		assert_int_equal(left.failures, i >= 20);
		kept += (int)left.failures;
	}
	assert_int_equal(kept, 10);
	/* the last one is 20 ms old: all others are older than 15 */
	assert_int_equal(
		store_login_failed(f->store, &subjects[29], 1, 1049, 15, 10),
		0);
	for (int i = 20; i < 30; i++) {
		assert_int_equal(
			store_login_failures(f->store, &subjects[i], &left), 0);
		assert_int_equal(left.failures, i == 29);
	}
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
		cmocka_unit_test_setup_teardown(test_waits_grow, setup_own,
						teardown),
		cmocka_unit_test_setup_teardown(test_addresses_of_a_network,
						setup_own, teardown),
		cmocka_unit_test_setup_teardown(test_addresses_of_a_network,
						setup_shared, teardown),
		cmocka_unit_test_setup_teardown(test_table_is_bounded,
						setup_own, teardown),
		cmocka_unit_test_setup_teardown(test_shared_table_is_bounded,
						setup_shared, teardown),
		cmocka_unit_test_setup_teardown(test_waits_grow, setup_shared,
						teardown),
		cmocka_unit_test(test_hashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
