#include "base/buf.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_removal.h"
#include "control/server/store/store_run_list.h"
#include "control/server/store/store_secret.h"
#include "tests/unit/temp.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Two threads' stores of one database: they share what they read. */
struct fixture {
	struct temp temp;
	struct secrets *secrets;
	struct database *database;
	struct store *stores[2];
};

static void change(struct fixture *f, const char *sql)
{
	struct db *db;

	assert_int_equal(store_write_begin(f->stores[0], &db), 0);
	assert_true(store_write_end(f->stores[0], db_query(db, sql, NULL, 0,
							   NULL, NULL)) >= 0);
}

/* Runs 1 to 100; every third is in progress. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_make(&f->temp);
	*state = f;
	assert_int_equal(secrets_load(&f->secrets, temp_path(&f->temp, "key")),
			 0);
	assert_int_equal(database_open(&f->database, temp_path(&f->temp, "db"),
				       f->secrets),
			 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(store_new(&f->stores[i], f->database), 0);
	change(f, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 "
		  "FROM n WHERE i < 100) INSERT INTO run (id, session_id, "
		  "test_name, testcase_name, project_name, agentpool_id, "
		  "agentpool_name, tags_json, phase, status, conditions_json, "
		  "record, interval_s, max_duration_s, created_at) SELECT i, "
		  "'s' || i, '', '', '', 1, '', '[]', CASE WHEN i % 3 = 0 THEN "
		  "'running' ELSE 'done' END, 'passed', '[]', 'sip', 1, 1, 1 "
		  "FROM n");
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < 2; i++)
		store_free(f->stores[i]);
	database_close(f->database);
	secrets_free(f->secrets);
	temp_remove(&f->temp);
	free(f);
	return 0;
}

/* List a page, newest first. @return new reference */
static json_t *list(struct store *s, int64_t start, int64_t count,
		    int64_t *total)
{
	const struct run_query query = {
		.order_by = "id",
		.descending = true,
		.page = {.start = start, .count = count},
	};
	struct buf text;
	json_t *runs;

	buf_init(&text, 1 << 20);
	assert_int_equal(store_run_list(s, &query, &text, total), 0);
	runs = json_loads(text.data, 0, NULL);
	assert_non_null(runs);
	buf_release(&text);
	return runs;
}

static int64_t id_at(const json_t *runs, size_t i)
{
	return json_integer_value(
		json_object_get(json_array_get(runs, i), "id"));
}

static const char *status_at(const json_t *runs, size_t i)
{
	return json_string_value(
		json_object_get(json_array_get(runs, i), "session_status"));
}

/* A page of the list has the same order if the cache holds some of its runs. */
static void test_order_with_some_cached(void **state)
{
	struct fixture *f = *state;
	int64_t total;
	json_t *some = list(f->stores[0], 30, 20, &total), *all;

	assert_int_equal(json_array_size(some), 20);
	assert_int_equal(id_at(some, 0), 70);
	assert_int_equal(total, 100);
	for (size_t k = 0; k < 4; k++) {
		all = list(f->stores[k % 2], 0, 200, &total);
		assert_int_equal(json_array_size(all), 100);
		assert_int_equal(total, 100);
		for (size_t i = 0; i < 100; i++) {
			assert_int_equal(id_at(all, i), 100 - i);
			assert_string_equal(status_at(all, i),
					    (100 - i) % 3 ? "passed"
							  : "running");
		}
		json_decref(all);
	}
	json_decref(some);
}

/* What is in progress is read anew, by either thread. */
static void test_a_run_that_ends(void **state)
{
	struct fixture *f = *state;
	int64_t total;
	json_t *runs = list(f->stores[1], 0, 100, &total);

	assert_string_equal(status_at(runs, 1), "running");
	json_decref(runs);
	change(f, "UPDATE run SET phase = 'done', status = 'failed' "
		  "WHERE id = 99");
	for (size_t k = 0; k < 2; k++) {
		runs = list(f->stores[k], 0, 100, &total);
		assert_string_equal(status_at(runs, 1), "failed");
		json_decref(runs);
	}
}

static void test_a_run_that_is_deleted(void **state)
{
	struct fixture *f = *state;
	struct db *db;
	int64_t total;

	json_decref(list(f->stores[0], 0, 100, &total));
	assert_int_equal(store_write_begin(f->stores[0], &db), 0);
	assert_int_equal(
		store_write_end(f->stores[0], run_mark_deleted(db, 50)), 0);
	for (size_t k = 0; k < 2; k++) {
		json_t *runs = list(f->stores[k], 0, 100, &total);

		assert_int_equal(total, 99);
		assert_int_equal(json_array_size(runs), 99);
		assert_int_equal(id_at(runs, 49), 51);
		assert_int_equal(id_at(runs, 50), 49);
		json_decref(runs);
	}
}

/* Locked by the same thread, which waits as another one would. */
static void test_another_thread_is_waited_for_so_long(void **state)
{
	struct fixture *f = *state;
	const struct run_query query = {.order_by = "id", .page = {0, 10}};
	struct buf text;
	int64_t total;
	void *kept;

	buf_init(&text, 1 << 20);
	assert_int_equal(
		store_shared_lock(f->stores[0], STORE_SHARED_COUNT, &kept), 0);
	assert_null(kept);
	assert_int_equal(store_run_list(f->stores[1], &query, &text, &total),
			 -EBUSY);
	store_shared_unlock(f->stores[0], STORE_SHARED_COUNT);
	buf_release(&text);
	json_decref(list(f->stores[1], 0, 10, &total));
	assert_int_equal(total, 100);
}

/* Read the list often, in one of two threads. A check of cmocka that fails in the
 * second thread would end the program, so the caller checks.
 * @return NULL if each list was as expected */
static void *list_often(void *arg)
{
	void *failed = NULL;
	int64_t total;

	for (int64_t i = 0; i < 100; i++) {
		const struct run_query query = {.order_by = "id",
						.page = {i, 40}};
		struct buf text;

		buf_init(&text, 1 << 20);
		if (store_run_list(arg, &query, &text, &total) || total != 100)
			failed = arg;
		buf_release(&text);
	}
	return failed;
}

/* For ThreadSanitizer. */
static void test_two_threads_at_once(void **state)
{
	struct fixture *f = *state;
	pthread_t other;
	void *failed, *other_failed;

	assert_int_equal(pthread_create(&other, NULL, list_often, f->stores[1]),
			 0);
	failed = list_often(f->stores[0]);
	pthread_join(other, &other_failed);
	assert_null(failed);
	assert_null(other_failed);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_order_with_some_cached),
		CASE(test_a_run_that_ends),
		CASE(test_a_run_that_is_deleted),
		CASE(test_another_thread_is_waited_for_so_long),
		CASE(test_two_threads_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
