/*
 * Attempts of callbacks: which process holds one, and what happens if it dies.
 */
#include "base/str.h"
#include "control/server/api/resource_type.h"
#include "control/server/store/store.h"
#include "control/server/store/store_callback.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_secret.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HELD 1000 /* ms that a sender may hold an attempt */

struct fixture {
	struct temp temp;
	struct secrets *secrets;
	struct database *database;
	struct store *store;
};

/* A store with one callback, due at 100, whose request cannot be decrypted. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct db *db;
	int err;

	temp_make(&f->temp);
	*state = f;
	assert_int_equal(secrets_load(&f->secrets, temp_path(&f->temp, "key")),
			 0);
	assert_int_equal(database_open(&f->database, temp_path(&f->temp, "db"),
				       f->secrets),
			 0);
	assert_int_equal(store_new(&f->store, f->database), 0);
	assert_int_equal(store_write_begin(f->store, &db), 0);
	err = db_query(db,
		       "INSERT INTO callback (url, method, state, next_at, "
		       "request_box, created_at) VALUES ('http://x/', 'POST', "
		       "'waiting', 100, x'00', 100)",
		       NULL, 0, NULL, NULL);
	return store_write_end(f->store, err < 0 ? err : 0);
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

static int claim(struct fixture *f, int64_t now, struct callback_claim *ret)
{
	return store_callback_claim(f->store, now, now + HELD, ret);
}

static void end(struct fixture *f, const struct callback_claim *c,
		const char *error, bool final)
{
	struct callback_result r = {
		.ended_at = 5000, .final = final, .next_at = 9000};

	str_print(r.error, sizeof(r.error), "%s", error);
	assert_int_equal(store_callback_end(f->store, c, &r), 0);
}

static void expect(struct fixture *f, const char *state, int tries)
{
	json_t *row;

	assert_int_equal(record_get(f->store, callback_resource.table, 1, &row),
			 0);
	assert_string_equal(json_string_value(json_object_get(row, "state")),
			    state);
	assert_int_equal(json_integer_value(json_object_get(row, "try_count")),
			 tries);
	json_decref(row);
	assert_int_equal(store_callback_tries(f->store, 1, &row), 0);
	assert_int_equal(json_array_size(row), tries);
	json_decref(row);
}

static void test_one_sender_has_a_try(void **state)
{
	struct fixture *f = *state;
	struct callback_claim c, none;

	assert_int_equal(claim(f, 99, &c), 0);
	assert_int_equal(claim(f, 100, &c), 1);
	assert_int_equal(c.number, 1);
	assert_null(c.request); /* encrypted with another key file */
	expect(f, "sending", 1);
	assert_int_equal(claim(f, 100 + HELD - 1, &none), 0);
	end(f, &c, "", false);
	expect(f, "delivered", 1);
	assert_int_equal(claim(f, 1 << 30, &none), 0);
}

static void test_failed_try_comes_again_at_its_time(void **state)
{
	struct fixture *f = *state;
	struct callback_claim c;

	assert_int_equal(claim(f, 100, &c), 1);
	end(f, &c, "was answered 500", false);
	expect(f, "waiting", 1);
	assert_int_equal(claim(f, 8999, &c), 0);
	assert_int_equal(claim(f, 9000, &c), 1);
	assert_int_equal(c.number, 2);
	end(f, &c, "refused", true);
	expect(f, "failed", 2);
	assert_int_equal(claim(f, 1 << 30, &c), 0);
}

static void test_lapsed_try_belongs_to_the_next_sender(void **state)
{
	struct fixture *f = *state;
	struct callback_claim first, second;

	assert_int_equal(claim(f, 100, &first), 1);
	assert_int_equal(claim(f, 100 + HELD, &second), 1);
	assert_int_equal(second.number, 2);
	end(f, &first, "too late", true); /* only its result is stored */
	expect(f, "sending", 2);
	end(f, &second, "", false);
	expect(f, "delivered", 2);
}

static void test_five_lost_tries_are_all(void **state)
{
	struct fixture *f = *state;
	struct callback_claim c;
	int64_t now = 100;

	for (int i = 1; i <= CALLBACK_TRIES_MAX; i++, now += HELD) {
		assert_int_equal(claim(f, now, &c), 1);
		assert_int_equal(c.number, i);
	}
	assert_int_equal(claim(f, now, &c), 0);
	expect(f, "failed", CALLBACK_TRIES_MAX);
}

static void test_fifth_failure_is_the_last(void **state)
{
	struct fixture *f = *state;
	struct callback_claim c;
	int64_t now = 100;

	for (int i = 1; i <= CALLBACK_TRIES_MAX; i++, now = 9000) {
		assert_int_equal(claim(f, now, &c), 1);
		end(f, &c, "was answered 500", false);
	}
	expect(f, "failed", CALLBACK_TRIES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_one_sender_has_a_try),
		TEST(test_failed_try_comes_again_at_its_time),
		TEST(test_lapsed_try_belongs_to_the_next_sender),
		TEST(test_five_lost_tries_are_all),
		TEST(test_fifth_failure_is_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
