/* Runs' rows on a file of their own; the time is the test's. */
#include "control/server/run/run.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_lease_agent.h"
#include "control/server/store/store_lease_run.h"
#include "control/server/store/store_secret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T0 INT64_C(1700000000000)

struct bench {
	char dir[64];
	struct secrets *secrets;
	struct database *database;
	struct store *store;
	int64_t agents[2];
	int64_t run_id;
};

static int remove_one(const char *path, const struct stat *st, int flag,
		      struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void exec_sql(struct bench *b, const char *sql)
{
	struct db *db;

	assert_int_equal(store_write_begin(b->store, &db), 0);
	assert_true(store_write_end(b->store, db_query(db, sql, NULL, 0, NULL,
						       NULL)) >= 0);
}

static void set_up(struct bench *b, int64_t capacity)
{
	char path[96];
	struct db *db;
	uint8_t hash[SECRET_HASH_BYTES];

	memset(b, 0, sizeof(*b));
	strcpy(b->dir, "/tmp/offhook-lease-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(path, sizeof(path), "%s/key", b->dir);
	assert_int_equal(secrets_load(&b->secrets, path), 0);
	snprintf(path, sizeof(path), "%s/db", b->dir);
	assert_int_equal(database_open(&b->database, path, b->secrets), 0);
	assert_int_equal(store_new(&b->store, b->database), 0);
	secret_hash(b->secrets, "token", hash);
	const struct db_value params[] = {db_blob(hash, sizeof(hash))};
	assert_int_equal(store_write_begin(b->store, &db), 0);
	assert_int_equal(
		store_write_end(
			b->store,
			db_query(db,
				 "INSERT INTO agent_pool (id, name, "
				 "join_token_hash, created_at, updated_at) "
				 "VALUES (1, 'lab', $1, 0, 0)",
				 params, 1, NULL, NULL)),
		1);
	for (int i = 0; i < 2; i++) {
		struct agent_new agent = {.token = "token",
					  .name = i ? "two" : "one",
					  .version = "1",
					  .protocol = 1,
					  .capacity = capacity,
					  .now = T0};
		char secret[SECRET_TOKEN_BYTES];

		assert_int_equal(store_agent_enrol(b->store, &agent, secret,
						   &b->agents[i]),
				 0);
	}
}

static void tear_down(struct bench *b)
{
	store_free(b->store);
	database_close(b->database);
	secrets_free(b->secrets);
	nftw(b->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static json_t *spec_of(const char *role)
{
	return json_pack("{s:s, s:[[{s:s}]]}", "role", role, "steps", "type",
			 "answer");
}

static void add_run(struct bench *b)
{
	struct run_role roles[2] = {
		{.role = "callee",
		 .spec = spec_of("callee"),
		 .public_spec = spec_of("callee")},
		{.role = "caller",
		 .spec = spec_of("caller"),
		 .public_spec = spec_of("caller")},
	};
	char session[UUID_TEXT_BYTES];
	struct run_new run = {
		.session_id = session,
		.test = json_pack("{s:i, s:s, s:s, s:i, s:s, s:i, s:s, s:[], "
				  "s:s}",
				  "id", 1, "name", "t", "scenario", "s",
				  "project_id", 1, "project_name", "p",
				  "agentpool_id", 1, "agentpool_name", "lab",
				  "tags", "record", "none"),
		.conditions = json_array(),
		.report_mode = "full",
		.interval_s = 10,
		.max_duration_s = 60,
		.created_at = T0,
		.roles = roles,
		.role_count = 2,
	};

	uuid_make(session);
	assert_int_equal(store_run_create(b->store, &run, &b->run_id), 0);
	json_decref(run.test);
	json_decref(run.conditions);
	for (int i = 0; i < 2; i++) {
		json_decref(roles[i].spec);
		json_decref(roles[i].public_spec);
	}
}

static struct lease_times times_at(int64_t now)
{
	return (struct lease_times){.now = now,
				    .offer_ms = 30000,
				    .lease_ms = 60000,
				    .grace_ms = 900000};
}

static json_t *poll_at(struct bench *b, struct store *store, int agent,
		       int64_t free_jobs, int64_t now)
{
	const struct lease_times times = times_at(now);
	struct lease_poll poll = {.agent_id = b->agents[agent],
				  .free = free_jobs,
				  .arrived = now};
	json_t *jobs;
	bool spread;

	assert_int_equal(lease_poll(store, &poll, &times, &jobs, &spread), 0);
	return jobs;
}

static const char *lease_of(json_t *jobs, size_t i)
{
	return json_string_value(
		json_object_get(json_array_get(jobs, i), "lease_id"));
}

static int sweep_at(struct bench *b, int64_t now, int64_t grace_until)
{
	const struct sweep_times times = {.now = now,
					  .lease_ms = 60000,
					  .claim_timeout_ms = 30000,
					  .grace_until = grace_until};

	return run_advance(b->store, &times);
}

struct text {
	char value[512];
};

static int text_row(const struct db_value *row, size_t columns, void *arg)
{
	struct text *text = arg;

	(void)columns;
	snprintf(text->value, sizeof(text->value), "%s",
		 row[0].type == DB_TEXT ? (const char *)row[0].bytes : "");
	return 0;
}

static void expect(struct bench *b, const char *column, const char *value)
{
	struct text text = {""};
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT %s FROM run", column);
	assert_true(db_query(store_reader(b->store), sql, NULL, 0, text_row,
			     &text) >= 0);
	if (!strstr(text.value, value) || (!value[0] && text.value[0]))
		fail_msg("%s is '%s', not '%s'", column, text.value, value);
}

/* Give the whole run to agent 0 and confirm it. */
static json_t *start_all(struct bench *b, int64_t now)
{
	const struct lease_times times = times_at(now);
	json_t *jobs = poll_at(b, b->store, 0, 4, now);

	assert_int_equal(json_array_size(jobs), 2);
	expect(b, "phase", "dispatching");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(lease_start(b->store, b->agents[0],
					     lease_of(jobs, i), &times),
				 0);
	expect(b, "phase", "running");
	return jobs;
}

static void finish_one(struct bench *b, const char *lease, const char *outcome,
		       int64_t now)
{
	const struct lease_times times = times_at(now);
	const struct lease_end end = {outcome, "because", 0};
	json_t *missing = NULL;

	assert_int_equal(lease_finish(b->store, b->agents[0], lease, &end,
				      &times, &missing),
			 0);
}

static void test_run_lapsed_offer_waits_again(void **state)
{
	const struct lease_times late = times_at(T0 + 31000);
	struct bench b;
	json_t *jobs, *again;

	(void)state;
	set_up(&b, 4);
	add_run(&b);
	jobs = poll_at(&b, b.store, 0, 4, T0);
	assert_int_equal(json_array_size(jobs), 2);
	again = poll_at(&b, b.store, 0, 4, T0 + 1000); /* never twice */
	assert_int_equal(json_array_size(again), 0);
	json_decref(again);
	sweep_at(&b, T0 + 30000, 0);
	expect(&b, "phase", "dispatching");
	sweep_at(&b, T0 + 30001, 0);
	expect(&b, "phase", "queued");
	assert_int_equal(
		lease_start(b.store, b.agents[0], lease_of(jobs, 0), &late),
		-ESTALE);
	again = poll_at(&b, b.store, 1, 4, T0 + 31000);
	assert_int_equal(json_array_size(again), 2);
	assert_int_equal(
		lease_start(b.store, b.agents[0], lease_of(jobs, 0), &late),
		-ENOENT); /* another agent's now */
	json_decref(again);
	json_decref(jobs);
	tear_down(&b);
}

/* A parked poll whose agent has polled again is of a dead connection. */
static void test_poll_replaced_by_a_later_one(void **state)
{
	const struct lease_times times = times_at(T0 + 9000);
	struct bench b;
	json_t *jobs;
	bool spread;

	(void)state;
	set_up(&b, 4);
	jobs = poll_at(&b, b.store, 0, 4, T0 + 5000);
	json_decref(jobs);
	add_run(&b);
	struct lease_poll stale = {
		.agent_id = b.agents[0], .free = 4, .arrived = T0 + 4000};
	assert_int_equal(lease_poll(b.store, &stale, &times, &jobs, &spread),
			 0);
	assert_int_equal(json_array_size(jobs), 0);
	json_decref(jobs);
	stale.agent_id = 4711;
	assert_int_equal(lease_poll(b.store, &stale, &times, &jobs, &spread),
			 -ENOENT);
	jobs = poll_at(&b, b.store, 0, 4, T0 + 9000);
	assert_int_equal(json_array_size(jobs), 2);
	json_decref(jobs);
	tear_down(&b);
}

static void test_run_never_half_placed(void **state)
{
	struct bench b;
	json_t *jobs;

	(void)state;
	set_up(&b, 1);
	exec_sql(&b, "UPDATE agent SET disconnected = 1");
	add_run(&b);
	jobs = poll_at(&b, b.store, 0, 1, T0);
	assert_int_equal(json_array_size(jobs), 0);
	expect(&b, "phase", "queued");
	json_decref(jobs);
	jobs = poll_at(&b, b.store, 1, 1, T0 + 1); /* room for two together */
	assert_int_equal(json_array_size(jobs), 1);
	json_decref(jobs);
	jobs = poll_at(&b, b.store, 0, 1, T0 + 2);
	assert_int_equal(json_array_size(jobs), 1);
	json_decref(jobs);
	tear_down(&b);
}

/* An agent whose engine has ended counts the slot as free before we hear of the
 * end: it must not count twice. */
static void test_poll_knows_of_a_job_before_we_do(void **state)
{
	const struct lease_times later = times_at(T0 + 2000);
	struct bench b;
	struct lease_poll poll;
	json_t *first, *jobs;
	bool spread;

	(void)state;
	set_up(&b, 2);
	exec_sql(&b, "UPDATE agent SET disconnected = 1");
	add_run(&b);
	first = start_all(&b, T0);
	add_run(&b);
	finish_one(&b, lease_of(first, 0), "completed", T0 + 1500);
	poll = (struct lease_poll){
		.agent_id = b.agents[0], .free = 1, .arrived = T0 + 1000};
	assert_int_equal(lease_poll(b.store, &poll, &later, &jobs, &spread), 0);
	assert_int_equal(json_array_size(jobs), 0);
	json_decref(jobs);
	json_decref(first);
	tear_down(&b);
}

static void test_run_lease_expires(void **state)
{
	struct bench b;
	json_t *jobs;

	(void)state;
	set_up(&b, 4);
	add_run(&b);
	jobs = start_all(&b, T0);
	sweep_at(&b, T0 + 60000, 0);
	expect(&b, "phase", "running");
	sweep_at(&b, T0 + 60001, T0 + 70000); /* we were away ourselves */
	expect(&b, "phase", "running");
	sweep_at(&b, T0 + 70001, T0 + 70000);
	expect(&b, "phase", "done");
	expect(&b, "status", "errored");
	expect(&b, "result_description", "agent one stopped answering");
	json_decref(jobs);
	tear_down(&b);
}

static void test_run_renewed_lease_stays(void **state)
{
	struct lease_times times = times_at(T0 + 50000);
	struct bench b;
	json_t *jobs;
	bool cancel;

	(void)state;
	set_up(&b, 4);
	add_run(&b);
	jobs = start_all(&b, T0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(lease_renew(b.store, b.agents[0],
					     lease_of(jobs, i), 0.5, &times,
					     &cancel),
				 0);
	assert_false(cancel);
	sweep_at(&b, T0 + 110000, 0);
	expect(&b, "phase", "running");
	times.now = T0 + 110000;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(lease_renew(b.store, b.agents[0],
					     lease_of(jobs, i), 0.5, &times,
					     &cancel),
				 0);
	/* the maximum duration is 60 s, and 60 s to end by itself */
	sweep_at(&b, T0 + 120001, 0);
	expect(&b, "stop_reason", "error");
	expect(&b, "result_description", "maximum duration of 60 s");
	json_decref(jobs);
	tear_down(&b);
}

static void test_run_that_does_not_stop_is_taken_away(void **state)
{
	struct bench b;
	json_t *jobs;

	(void)state;
	set_up(&b, 4);
	add_run(&b);
	jobs = start_all(&b, T0);
	assert_int_equal(store_run_stop(b.store, b.run_id, T0 + 1), 0);
	assert_int_equal(store_run_stop(b.store, b.run_id, T0 + 2), -EALREADY);
	assert_int_equal(store_run_stop(b.store, 4711, T0 + 2), -ENOENT);
	for (int64_t at = T0 + 30000; at <= T0 + 300000; at += 30000) {
		const struct lease_times times = times_at(at);
		bool cancel = false;

		if (lease_renew(b.store, b.agents[0], lease_of(jobs, 0), 0.5,
				&times, &cancel) == 0)
			assert_true(cancel);
		sweep_at(&b, at, 0);
	}
	expect(&b, "phase", "done");
	expect(&b, "status", "stopped");
	json_decref(jobs);
	tear_down(&b);
}

static void test_run_no_agent(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, 4);
	exec_sql(&b, "UPDATE agent SET disconnected = 1, last_seen = 0");
	add_run(&b);
	sweep_at(&b, T0 + 29999, 0);
	expect(&b, "phase", "queued");
	sweep_at(&b, T0 + 30000, 0);
	expect(&b, "status", "errored");
	expect(&b, "result_description",
	       "no agent of pool lab was online for 30 s");
	tear_down(&b);
}

static void test_run_failed_outcome_wins_over_later_errors(void **state)
{
	struct bench b;
	json_t *jobs;

	(void)state;
	set_up(&b, 4);
	add_run(&b);
	jobs = start_all(&b, T0);
	finish_one(&b, lease_of(jobs, 0), "failed", T0 + 1);
	expect(&b, "phase", "stopping");
	finish_one(&b, lease_of(jobs, 1), "error", T0 + 2);
	sweep_at(&b, T0 + 3, 0);
	expect(&b, "status", "failed");
	expect(&b, "result_description", "callee: because");
	expect(&b,
	       "(SELECT count(*) || '' FROM lease WHERE secret_box IS NOT "
	       "NULL)",
	       "0");
	json_decref(jobs);
	tear_down(&b);
}

static void test_barrier_one_instant_for_all(void **state)
{
	struct lease_times times = times_at(T0);
	int64_t first, second;
	struct bench b;
	json_t *jobs;
	bool last;

	(void)state;
	set_up(&b, 4);
	add_run(&b);
	jobs = start_all(&b, T0);
	assert_int_equal(lease_ready(b.store, b.agents[0], lease_of(jobs, 0), 1,
				     &times, &first, &last),
			 -ERANGE);
	assert_int_equal(lease_ready(b.store, b.agents[0], lease_of(jobs, 0), 0,
				     &times, &first, &last),
			 -EAGAIN);
	times.now = T0 + 100;
	assert_int_equal(lease_ready(b.store, b.agents[0], lease_of(jobs, 1), 0,
				     &times, &second, &last),
			 0);
	assert_true(last);
	times.now = T0 + 160;
	assert_int_equal(lease_ready(b.store, b.agents[0], lease_of(jobs, 0), 0,
				     &times, &first, &last),
			 0);
	assert_false(last);
	assert_int_equal(T0 + 100 + second, T0 + 160 + first);
	times.now = T0 + 60000;
	assert_int_equal(lease_ready(b.store, b.agents[0], lease_of(jobs, 0), 0,
				     &times, &first, &last),
			 0);
	assert_int_equal(first, 0);
	json_decref(jobs);
	tear_down(&b);
}

struct racer {
	struct bench *bench;
	int agent;
	pthread_barrier_t *line;
	size_t got;
	bool moved;
};

static void *race_poll(void *arg)
{
	struct racer *r = arg;
	struct store *store;
	json_t *jobs;

	assert_int_equal(store_new(&store, r->bench->database), 0);
	pthread_barrier_wait(r->line);
	jobs = poll_at(r->bench, store, r->agent, 4, T0);
	r->got = json_array_size(jobs);
	json_decref(jobs);
	store_free(store);
	return NULL;
}

static void *race_advance(void *arg)
{
	const struct sweep_times times = {
		.now = T0 + 10, .lease_ms = 60000, .claim_timeout_ms = 30000};
	struct racer *r = arg;
	struct store *store;

	assert_int_equal(store_new(&store, r->bench->database), 0);
	pthread_barrier_wait(r->line);
	assert_true(run_advance(store, &times) >= 0);
	store_free(store);
	return NULL;
}

static void race(struct bench *b, void *(*body)(void *), struct racer racers[2])
{
	pthread_barrier_t line;
	pthread_t threads[2];

	pthread_barrier_init(&line, NULL, 2);
	for (int i = 0; i < 2; i++) {
		racers[i] =
			(struct racer){.bench = b, .agent = i, .line = &line};
		assert_int_equal(
			pthread_create(&threads[i], NULL, body, &racers[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&line);
}

static void test_race_two_agents_claim(void **state)
{
	(void)state;
	for (int round = 0; round < 10; round++) {
		struct racer racers[2];
		struct bench b;

		set_up(&b, 4);
		add_run(&b);
		race(&b, race_poll, racers);
		/* one has it whole, the other nothing */
		assert_int_equal(racers[0].got + racers[1].got, 2);
		assert_true(racers[0].got == 0 || racers[1].got == 0);
		tear_down(&b);
	}
}

static void test_race_two_judges(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		struct racer racers[2];
		struct bench b;
		json_t *jobs;

		set_up(&b, 4);
		add_run(&b);
		jobs = start_all(&b, T0);
		finish_one(&b, lease_of(jobs, 0), "completed", T0 + 1);
		finish_one(&b, lease_of(jobs, 1), "completed", T0 + 1);
		race(&b, race_advance, racers);
		expect(&b, "phase", "done");
		expect(&b, "status", "errored"); /* no evidence came */
		json_decref(jobs);
		tear_down(&b);
	}
}

static int count_event(const char *role, json_t *event, void *arg)
{
	int *count = arg;

	assert_string_equal(role, "callee");
	assert_true(json_is_object(event));
	++*count;
	return 0;
}

static void test_upload_counts_once(void **state)
{
	struct lease_times times = times_at(T0 + 1000);
	json_t *items =
		json_pack("[{s:I, s:s}]", "t", (json_int_t)1, "kind", "state");
	struct ingest_result result;
	struct bench b;
	json_t *jobs;
	int count = 0;

	(void)state;
	set_up(&b, 4);
	add_run(&b);
	jobs = start_all(&b, T0);
	struct ingest u = {.agent_id = b.agents[0],
			   .lease_id = lease_of(jobs, 0),
			   .kind = INGEST_EVENTS,
			   .seq = 2,
			   .items = items};
	assert_int_equal(store_ingest(b.store, &u, &times, &result), 0);
	assert_int_equal(result.next_seq, 1);
	assert_false(result.duplicate);
	assert_int_equal(store_ingest(b.store, &u, &times, &result), 0);
	assert_true(result.duplicate);
	u.seq = 1;
	assert_int_equal(store_ingest(b.store, &u, &times, &result), 0);
	assert_int_equal(result.next_seq, 3);
	assert_int_equal(store_run_events(b.store, b.run_id, NULL, INGEST_ALL,
					  count_event, &count),
			 0);
	assert_int_equal(count, 2);
	u.agent_id = b.agents[1];
	assert_int_equal(store_ingest(b.store, &u, &times, &result), -ENOENT);
	/* after the end of the lease for 15 minutes */
	u.agent_id = b.agents[0];
	u.seq = 3;
	finish_one(&b, u.lease_id, "completed", T0 + 2000);
	times.now = T0 + 2000 + 899999;
	assert_int_equal(store_ingest(b.store, &u, &times, &result), 0);
	times.now++;
	u.seq = 4;
	assert_int_equal(store_ingest(b.store, &u, &times, &result), -ESTALE);
	json_decref(items);
	json_decref(jobs);
	tear_down(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_lapsed_offer_waits_again),
		cmocka_unit_test(test_poll_replaced_by_a_later_one),
		cmocka_unit_test(test_run_never_half_placed),
		cmocka_unit_test(test_poll_knows_of_a_job_before_we_do),
		cmocka_unit_test(test_run_lease_expires),
		cmocka_unit_test(test_run_renewed_lease_stays),
		cmocka_unit_test(test_run_that_does_not_stop_is_taken_away),
		cmocka_unit_test(test_run_no_agent),
		cmocka_unit_test(
			test_run_failed_outcome_wins_over_later_errors),
		cmocka_unit_test(test_barrier_one_instant_for_all),
		cmocka_unit_test(test_race_two_agents_claim),
		cmocka_unit_test(test_race_two_judges),
		cmocka_unit_test(test_upload_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
