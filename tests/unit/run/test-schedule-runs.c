/*
 * Schedules and the runs that they have started: in SQLite, or in PostgreSQL if
 * OFFHOOK_TEST_DATABASE has the URI of a database, which is emptied.
 */
#include "lease_bench.h"

#include "control/server/store/store_db.h"
#include "control/server/store/store_removal.h"
#include "control/server/store/store_schedule.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PROJECT_RUN "11111111-1111-4111-8111-111111111111"

struct fixture {
	struct bench b;
	int64_t next_at; /* of the schedule */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	bench_open_either(&f->b, 4);
	f->next_at = 1;
	bench_sql(
		&f->b,
		"INSERT INTO schedule (id, name, report_mode, cron, timezone, "
		"overlap, missed, enabled, next_at, created_at, updated_at) "
		"VALUES (1, 's', 'full', '* * * * *', 'UTC', 'skip', 'skip', "
		"1, 1, 0, 0)");
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bench_close(&f->b);
	free(f);
	return 0;
}

static struct schedule_turn turn_of(struct fixture *f)
{
	const int64_t due_at = f->next_at++;

	return (struct schedule_turn){
		.id = 1, .due_at = due_at, .next_at = due_at + 1};
}

/* A turn starts the last run of the bench, or a project run. */
static void take(struct fixture *f, const char *project_run)
{
	const struct schedule_turn turn = turn_of(f);
	struct db *db;

	assert_int_equal(store_write_begin(f->b.store, &db), 0);
	assert_int_equal(
		store_write_end(
			f->b.store,
			schedule_take(db, &turn,
				      project_run ? NULL : f->b.session_id,
				      project_run, T0)),
		0);
}

static void skip_turns(struct fixture *f, int turns)
{
	for (int i = 0; i < turns; i++) {
		const struct schedule_turn turn = turn_of(f);

		assert_int_equal(store_schedule_pass(f->b.store, &turn,
						     "skipped", "it is busy",
						     T0),
				 0);
	}
}

/* @param session_id  of the run that is in progress; NULL: none */
static void expect_busy(struct fixture *f, const char *session_id)
{
	char found[UUID_TEXT_BYTES];

	assert_int_equal(store_schedule_busy(f->b.store, 1, found),
			 session_id ? 1 : 0);
	if (session_id)
		assert_string_equal(found, session_id);
}

static void expect_events(struct fixture *f, size_t count)
{
	json_t *events;

	assert_int_equal(store_schedule_history(f->b.store, 1, 1000, &events),
			 0);
	assert_int_equal(json_array_size(events), count);
	json_decref(events);
}

/* The last run has failed, and its further attempt is in progress. */
static void run_again(struct fixture *f)
{
	bench_sql(&f->b, "UPDATE run SET phase = 'done', status = 'failed', "
			 "retry_state = 'started' WHERE phase <> 'done'");
	bench_run(&f->b);
	bench_sql(&f->b,
		  "UPDATE run SET retry_of = (SELECT session_id FROM run r "
		  "WHERE r.id = run.id - 1) WHERE phase <> 'done'");
	expect_busy(f, f->b.session_id);
}

static void test_run_is_found_after_many_skipped_turns(void **state)
{
	struct fixture *f = *state;

	bench_run(&f->b);
	take(f, NULL);
	skip_turns(f, SCHEDULE_EVENTS_MAX + 1);
	expect_busy(f, f->b.session_id);
	expect_events(f, SCHEDULE_EVENTS_MAX + 1);
	bench_sql(&f->b, "UPDATE run SET phase = 'done', status = 'passed'");
	expect_busy(f, NULL);
	skip_turns(f, 1);
	expect_events(f, SCHEDULE_EVENTS_MAX);
}

static void test_attempt_is_found_after_many_skipped_turns(void **state)
{
	struct fixture *f = *state;

	bench_run(&f->b);
	take(f, NULL);
	run_again(f);
	skip_turns(f, SCHEDULE_EVENTS_MAX + 1);
	expect_busy(f, f->b.session_id);
	bench_sql(&f->b, "UPDATE run SET phase = 'done', status = 'failed', "
			 "retry_state = 'due' WHERE phase <> 'done'");
	skip_turns(f, 1);
	expect_busy(f, f->b.session_id);
}

static void test_project_run_is_found_after_many_skipped_turns(void **state)
{
	struct fixture *f = *state;

	bench_sql(&f->b,
		  "INSERT INTO project_run (uuid, project_id, project_name, "
		  "report_mode, created_at, callback_state, status) VALUES ("
		  "'" PROJECT_RUN "', 1, 'p', 'full', 0, 'none', 'running')");
	take(f, PROJECT_RUN);
	skip_turns(f, SCHEDULE_EVENTS_MAX + 1);
	expect_busy(f, PROJECT_RUN);
	bench_sql(&f->b, "UPDATE project_run SET status = 'passed'");
	skip_turns(f, 1);
	expect_busy(f, NULL);
	expect_events(f, SCHEDULE_EVENTS_MAX);
}

static char *event_run(struct fixture *f)
{
	json_t *events;
	char *session_id;

	assert_int_equal(store_schedule_history(f->b.store, 1, 1, &events), 0);
	session_id = strdup(json_string_value(
		json_object_get(json_array_get(events, 0), "session_id")));
	json_decref(events);
	return session_id;
}

/* Whichever is deleted first, the schedule knows of the attempt in progress. */
static void test_earlier_attempts_are_deleted(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		int64_t ended[2];
		char *session_id;

		bench_run(&f->b);
		take(f, NULL);
		for (int k = 0; k < 2; k++) {
			ended[k] = f->b.run_id;
			run_again(f);
		}
		for (int k = 0; k < 2; k++) {
			assert_int_equal(
				store_run_delete(f->b.store, ended[i ^ k]), 0);
			expect_busy(f, f->b.session_id);
		}
		session_id = event_run(f);
		assert_string_equal(session_id, f->b.session_id);
		free(session_id);
		bench_sql(&f->b,
			  "UPDATE run SET phase = 'done', status = 'passed' "
			  "WHERE phase <> 'done'");
		assert_int_equal(store_run_delete(f->b.store, f->b.run_id), 0);
		expect_busy(f, NULL);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_run_is_found_after_many_skipped_turns),
		CASE(test_attempt_is_found_after_many_skipped_turns),
		CASE(test_project_run_is_found_after_many_skipped_turns),
		CASE(test_earlier_attempts_are_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
