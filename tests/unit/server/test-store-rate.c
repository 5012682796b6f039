/*
 * Buckets of keys in a database: SQLite, or PostgreSQL if OFFHOOK_TEST_DATABASE has the
 * URI of an empty one.
 */
#include "control/server/store/store.h"
#include "control/server/store/store_rate.h"
#include "control/server/store/store_secret.h"
#include "tests/unit/temp.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define S  INT64_C(1000000)
#define T0 (1000 * S)

struct fixture {
	struct temp temp;
	struct secrets *secrets;
	struct database *database;
	struct store *store;
};

static int setup(void **state)
{
	const char *uri = getenv("OFFHOOK_TEST_DATABASE");
	struct fixture *f = calloc(1, sizeof(*f));

	temp_make(&f->temp);
	*state = f;
	assert_int_equal(secrets_load(&f->secrets, temp_path(&f->temp, "key")),
			 0);
	assert_int_equal(database_open(&f->database,
				       uri ? uri : temp_path(&f->temp, "db"),
				       f->secrets),
			 0);
	assert_int_equal(store_new(&f->store, f->database), 0);
	assert_int_equal(store_is_shared(f->store), uri != NULL);
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_free(f->store);
	database_close(f->database);
	secrets_free(f->secrets);
	temp_remove(&f->temp);
	free(f);
	return 0;
}

static void take(struct store *s, int64_t key, int64_t us, int64_t since_us)
{
	const struct store_rate taken = {key, us};

	assert_int_equal(store_rate_take(s, &taken, 1, since_us), 0);
}

static void test_buckets_are_added_up(void **state)
{
	const struct store_rate both[] = {{1, 2 * S}, {-3, S}};
	struct store *s = ((struct fixture *)*state)->store;
	struct store_rate got[4];

	assert_int_equal(store_rate_read(s, T0, T0, got, 4), 0);
	assert_int_equal(store_rate_take(s, both, 2, T0), 0);
	/* two controllers took from one key at the same time */
	take(s, 1, 3 * S, T0);
	assert_int_equal(store_rate_read(s, T0, T0, got, 4), 2);
	assert_int_equal(got[0].key_id, 1);
	assert_int_equal(got[0].us, 5 * S);
	assert_int_equal(got[1].key_id, -3);
	assert_int_equal(got[1].us, S);
	assert_int_equal(store_rate_read(s, T0, T0, got, 1), 1);
	assert_int_equal(got[0].key_id, 1);
	/* full for a second, and for so long nobody asks */
	assert_int_equal(store_rate_read(s, T0 + 2 * S, T0, got, 4), 2);
	assert_int_equal(got[1].us, -S);
	assert_int_equal(store_rate_read(s, T0 + 2 * S, T0 + S, got, 4), 1);
	/* it was full when these were taken */
	take(s, -3, S, T0 + 10 * S);
	assert_int_equal(store_rate_read(s, T0 + 10 * S, T0 + 10 * S, got, 4),
			 1);
	assert_int_equal(got[0].key_id, -3);
	assert_int_equal(got[0].us, S);
	/* rows of buckets that are full for long go */
	take(s, 8, S, T0 + (RATE_KEPT_S + 8) * S);
	assert_int_equal(store_rate_read(s, T0, 0, got, 4), 2);
	assert_int_equal(got[0].key_id, 8);
	assert_int_equal(got[1].key_id, -3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_buckets_are_added_up,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
