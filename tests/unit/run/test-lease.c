/* Runs in a database of their own; the time is a parameter. */
#include "lease_bench.h"

#include "control/server/run/run.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_report.h"
#include "control/server/store/store_waiting.h"

#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_run_lapsed_offer_waits_again(void **state)
{
	const struct lease_times late = bench_times(T0 + 31000);
	struct bench b;
	json_t *jobs, *again;

	(void)state;
	bench_open(&b, 4);
	bench_run(&b);
	jobs = bench_poll(&b, b.store, 0, 4, T0);
	assert_int_equal(json_array_size(jobs), 2);
	again = bench_poll(&b, b.store, 0, 4, T0 + 1000); /* not twice */
	assert_int_equal(json_array_size(again), 0);
	json_decref(again);
	bench_sweep(&b, T0 + 30000, 0);
	bench_expect(&b, "phase", "dispatching");
	bench_sweep(&b, T0 + 30001, 0);
	bench_expect(&b, "phase", "queued");
	assert_int_equal(lease_start(b.store, b.agents[0], bench_lease(jobs, 0),
				     0, &late),
			 -ESTALE);
	again = bench_poll(&b, b.store, 1, 4, T0 + 31000);
	assert_int_equal(json_array_size(again), 2);
	assert_int_equal(lease_start(b.store, b.agents[0], bench_lease(jobs, 0),
				     0, &late),
			 -ENOENT); /* it is another agent's lease now */
	json_decref(again);
	json_decref(jobs);
	bench_close(&b);
}

/*
 * A parked poll belongs to a dead connection once its agent has polled again.
 */
static void test_poll_replaced_by_a_later_one(void **state)
{
	const struct lease_times times = bench_times(T0 + 9000);
	struct bench b;
	json_t *jobs;
	bool spread;

	(void)state;
	bench_open(&b, 4);
	jobs = bench_poll(&b, b.store, 0, 4, T0 + 5000);
	json_decref(jobs);
	bench_run(&b);
	struct lease_poll stale = {
		.agent_id = b.agents[0], .free = 4, .arrived = T0 + 4000};
	assert_int_equal(lease_poll(b.store, &stale, &times, &jobs, &spread),
			 -ESTALE);
	stale.agent_id = 4711;
	assert_int_equal(lease_poll(b.store, &stale, &times, &jobs, &spread),
			 -ENOENT);
	jobs = bench_poll(&b, b.store, 0, 4, T0 + 9000);
	assert_int_equal(json_array_size(jobs), 2);
	json_decref(jobs);
	bench_close(&b);
}

static void expect_idle(struct bench *b, int agent, int64_t arrived, bool idle)
{
	const struct lease_poll poll = {
		.agent_id = b->agents[agent], .free = 1, .arrived = arrived};
	bool found;

	assert_int_equal(lease_poll_idle(b->store, &poll, &found), 0);
	assert_int_equal(found, idle);
}

/*
 * A waiting poll is handled again only if there may be a job for its agent.
 */
static void test_poll_with_nothing_to_do(void **state)
{
	const struct lease_times times = bench_times(T0 + 4);
	struct bench b;
	json_t *jobs;
	bool deleted;

	(void)state;
	bench_open(&b, 1);
	const struct lease_leave leave = {.agent_id = b.agents[0],
					  .instance = ""};
	bench_sql(&b,
		  "INSERT INTO agent_pool (id, name, join_token_hash, "
		  "created_at, updated_at) VALUES (2, 'other', x'00', 0, 0)");
	json_decref(bench_poll(&b, b.store, 0, 1, T0));
	json_decref(bench_poll(&b, b.store, 1, 1, T0));
	expect_idle(&b, 0, T0, true);
	bench_run(&b);
	expect_idle(&b, 0, T0, false);
	bench_sql(&b, "UPDATE agent SET pool_id = 2 WHERE name = 'one'");
	expect_idle(&b, 0, T0, true);
	expect_idle(&b, 1, T0, false);
	bench_sql(&b, "UPDATE agent SET pool_id = 1");
	jobs = bench_poll(&b, b.store, 0, 1, T0 + 2); /* a role for each */
	assert_int_equal(json_array_size(jobs), 1);
	expect_idle(&b, 0, T0 + 2, true);
	expect_idle(&b, 1, T0, false);
	/* it has polled again, so that this one is to be answered */
	expect_idle(&b, 0, T0 + 1, false);
	json_decref(jobs);
	jobs = bench_poll(&b, b.store, 1, 1, T0 + 3);
	assert_int_equal(json_array_size(jobs), 1);
	json_decref(jobs);
	expect_idle(&b, 1, T0 + 3, true);
	assert_int_equal(lease_disconnect(b.store, &leave, &times, &deleted),
			 0);
	assert_false(deleted);
	expect_idle(&b, 1, T0 + 3, false); /* the role of the other one */
	bench_close(&b);
}

static void test_run_never_half_placed(void **state)
{
	struct bench b;
	json_t *jobs;

	(void)state;
	bench_open(&b, 1);
	bench_sql(&b, "UPDATE agent SET disconnected = 1");
	bench_run(&b);
	jobs = bench_poll(&b, b.store, 0, 1, T0);
	assert_int_equal(json_array_size(jobs), 0);
	bench_expect(&b, "phase", "queued");
	json_decref(jobs);
	jobs = bench_poll(&b, b.store, 1, 1,
			  T0 + 1); /* enough capacity for both roles together */
	assert_int_equal(json_array_size(jobs), 1);
	json_decref(jobs);
	jobs = bench_poll(&b, b.store, 0, 1, T0 + 2);
	assert_int_equal(json_array_size(jobs), 1);
	json_decref(jobs);
	bench_close(&b);
}

/*
 * An agent whose engine has ended counts the slot as free before we learn of
 * the end: the slot must not be counted twice.
 */
static void test_poll_knows_of_a_job_before_we_do(void **state)
{
	const struct lease_times later = bench_times(T0 + 2000);
	struct bench b;
	struct lease_poll poll;
	json_t *first, *jobs;
	bool spread;

	(void)state;
	bench_open(&b, 2);
	bench_sql(&b, "UPDATE agent SET disconnected = 1");
	bench_run(&b);
	first = bench_start(&b, T0);
	bench_run(&b);
	bench_finish(&b, bench_lease(first, 0), "completed", T0 + 1500);
	poll = (struct lease_poll){
		.agent_id = b.agents[0], .free = 1, .arrived = T0 + 1000};
	assert_int_equal(lease_poll(b.store, &poll, &later, &jobs, &spread), 0);
	assert_int_equal(json_array_size(jobs), 0);
	json_decref(jobs);
	json_decref(first);
	bench_close(&b);
}

static void test_run_lease_expires(void **state)
{
	struct bench b;
	json_t *jobs;

	(void)state;
	bench_open(&b, 4);
	bench_run(&b);
	jobs = bench_start(&b, T0);
	bench_sweep(&b, T0 + 60000, 0);
	bench_expect(&b, "phase", "running");
	bench_sweep(&b, T0 + 60001, T0 + 70000); /* the controller itself was
						  * down */
	bench_expect(&b, "phase", "running");
	bench_sweep(&b, T0 + 70001, T0 + 70000);
	bench_expect(&b, "phase", "done");
	bench_expect(&b, "status", "errored");
	bench_expect(&b, "result_description", "agent one stopped answering");
	bench_expect(&b,
		     "(SELECT max(reason) FROM lease WHERE length(reason) = "
		     "length(result_description))",
		     "agent one stopped answering");
	json_decref(jobs);
	bench_close(&b);
}

static void test_run_renewed_lease_stays(void **state)
{
	struct lease_times times = bench_times(T0 + 50000);
	struct bench b;
	json_t *jobs;
	const char *command;

	(void)state;
	bench_open(&b, 4);
	bench_run(&b);
	jobs = bench_start(&b, T0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(lease_renew(b.store, b.agents[0],
					     bench_lease(jobs, i), 0.5, NULL,
					     &times, &command),
				 0);
	assert_string_equal(command, "continue");
	bench_sweep(&b, T0 + 110000, 0);
	bench_expect(&b, "phase", "running");
	times.now = T0 + 110000;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(lease_renew(b.store, b.agents[0],
					     bench_lease(jobs, i), 0.5, NULL,
					     &times, &command),
				 0);
	/* the maximum duration is 60 s, and 60 s to end by itself */
	bench_sweep(&b, T0 + 120001, 0);
	bench_expect(&b, "stop_reason", "error");
	bench_expect(&b, "result_description", "maximum duration of 60 s");
	json_decref(jobs);
	bench_close(&b);
}

/* The calls of a run are enough: its agents are told, and it goes on until they have ended. A user who stops it
 * goes first. */
static void test_run_with_enough_calls(void **state)
{
	const struct lease_times times = bench_times(T0 + 1000);
	const char *command;
	struct run_case c;
	struct bench b;
	json_t *jobs;

	(void)state;
	bench_open(&b, 4);
	bench_run(&b);
	assert_int_equal(store_run_enough(b.store, b.run_id, "enough"), 0);
	jobs = bench_start(&b, T0);
	assert_int_equal(store_run_to_watch(b.store, 0, &c), 0);
	bench_sql(&b, "UPDATE run SET conditions_json = "
		      "'[{\"options\":[\"stop_early\"]}]'");
	assert_int_equal(store_run_to_watch(b.store, b.run_id, &c), 0);
	assert_int_equal(store_run_to_watch(b.store, 0, &c), 1);
	assert_int_equal(c.id, b.run_id);
	run_case_release(&c);
	assert_int_equal(store_run_enough(b.store, b.run_id, "enough"), 1);
	assert_int_equal(store_run_enough(b.store, b.run_id, "again"), 0);
	assert_int_equal(store_run_to_watch(b.store, 0, &c), 0);
	bench_expect(&b, "phase", "running");
	bench_expect(&b, "result_description", "enough");
	assert_int_equal(lease_renew(b.store, b.agents[0], bench_lease(jobs, 0),
				     0.5, NULL, &times, &command),
			 0);
	assert_string_equal(command, "enough");
	assert_int_equal(store_run_stop(b.store, b.run_id, T0 + 1), 0);
	bench_expect(&b, "stop_reason", "user");
	assert_int_equal(lease_renew(b.store, b.agents[0], bench_lease(jobs, 0),
				     0.5, NULL, &times, &command),
			 0);
	assert_string_equal(command, "cancel");
	json_decref(jobs);
	bench_close(&b);
}

static void test_run_that_does_not_stop_is_taken_away(void **state)
{
	struct bench b;
	json_t *jobs;

	(void)state;
	bench_open(&b, 4);
	bench_run(&b);
	jobs = bench_start(&b, T0);
	assert_int_equal(store_run_stop(b.store, b.run_id, T0 + 1), 0);
	assert_int_equal(store_run_stop(b.store, b.run_id, T0 + 2), -EALREADY);
	assert_int_equal(store_run_stop(b.store, 4711, T0 + 2), -ENOENT);
	for (int64_t at = T0 + 30000; at <= T0 + 300000; at += 30000) {
		const struct lease_times times = bench_times(at);
		const char *command = "";

		if (lease_renew(b.store, b.agents[0], bench_lease(jobs, 0), 0.5,
				NULL, &times, &command) == 0)
			assert_string_equal(command, "cancel");
		bench_sweep(&b, at, 0);
	}
	bench_expect(&b, "phase", "done");
	bench_expect(&b, "status", "stopped");
	json_decref(jobs);
	bench_close(&b);
}

static void test_run_no_agent(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	bench_sql(&b, "UPDATE agent SET disconnected = 1, last_seen = 0");
	bench_run(&b);
	bench_sweep(&b, T0 + 29999, 0);
	bench_expect(&b, "phase", "queued");
	bench_sweep(&b, T0 + 30000, 0);
	bench_expect(&b, "status", "errored");
	bench_expect(&b, "result_description",
		     "no agent of pool lab was online for 30 s");
	bench_close(&b);
}

/*
 * The controller did not run, or did not reach its database: agents are there, but
 * were not seen.
 */
static void test_run_no_agent_was_seen(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 4); /* agents that were seen at T0 */
	bench_run(&b);
	bench_sweep(&b, T0 + 90000, T0 + 150000);
	bench_expect(&b, "phase", "queued");
	bench_sweep(&b, T0 + 150000, T0 + 150000);
	bench_expect(&b, "status", "errored");
	bench_close(&b);
}

static void poll_for(struct bench *b, int agent, int64_t free_jobs, int64_t now,
		     size_t jobs)
{
	json_t *got = bench_poll(b, b->store, agent, free_jobs, now);

	assert_int_equal(json_array_size(got), jobs);
	json_decref(got);
}

/* One of two agents is seen again before the other one: together they take the run. */
static void test_run_of_two_agents_not_seen(void **state)
{
	struct bench b;

	(void)state;
	for (int shards = 0; shards < 2; shards++) {
		bench_open(&b, 1);
		if (shards)
			bench_run_shards(&b, 2, 2);
		else
			bench_run(&b);
		poll_for(&b, 0, 1, T0 + 95000, 0);
		bench_sweep(&b, T0 + 95001, T0 + 150000);
		bench_expect(&b, "phase", "queued");
		poll_for(&b, 1, 1, T0 + 100000, 1);
		poll_for(&b, 0, 1, T0 + 100001, 1);
		bench_close(&b);
	}
}

static void disconnect(struct bench *b, int agent, int64_t now)
{
	const struct lease_times times = bench_times(now);
	const struct lease_leave leave = {.agent_id = b->agents[agent],
					  .instance = "before"};
	bool deleted;

	assert_int_equal(lease_disconnect(b->store, &leave, &times, &deleted),
			 0);
}

/* Agent 0 is busy with a run, the next one needs both agents. @return its jobs */
static json_t *occupy_agent(struct bench *b, bool shards)
{
	const struct lease_times times = bench_times(T0 + 100000);
	json_t *jobs;

	if (shards)
		bench_run(b);
	else
		bench_run_alone(b);
	jobs = bench_poll(b, b->store, 0, 2, T0 + 100000);
	assert_int_equal(json_array_size(jobs), b->role_count);
	for (size_t i = 0; i < b->role_count; i++)
		assert_int_equal(lease_start(b->store, b->agents[0],
					     bench_lease(jobs, i), 0, &times),
				 0);
	if (shards)
		bench_run_shards(b, 2, 2);
	else
		bench_run(b);
	return jobs;
}

/* A run waits for a busy agent while the other one is restarted. */
static void test_run_waits_for_an_agent_that_restarts(void **state)
{
	const struct lease_times times = bench_times(T0 + 130000);

	(void)state;
	for (int i = 0; i < 4; i++) {
		const bool shards = i & 1, comes_back = i & 2;
		const char *command;
		struct bench b;
		json_t *busy;

		bench_open(&b, shards ? 2 : 1);
		busy = occupy_agent(&b, shards);
		poll_for(&b, 1, 1, T0 + 100001, 0);
		bench_sweep(&b, T0 + 100002, 0);
		bench_expect(&b, "phase", "queued");
		disconnect(&b, 1, T0 + 101000);
		bench_sweep(&b, T0 + 101001, 0);
		bench_expect(&b, "phase", "queued");
		assert_int_equal(lease_renew(b.store, b.agents[0],
					     bench_lease(busy, 0), 0.5, NULL,
					     &times, &command),
				 0);
		bench_sweep(&b, T0 + 130999, 0);
		bench_expect(&b, "phase", "queued");
		if (comes_back)
			poll_for(&b, 1, 1, T0 + 130999, 0);
		bench_sweep(&b, T0 + 131000, 0);
		bench_expect(&b, "status", comes_back ? "running" : "errored");
		bench_expect(&b, "result_description",
			     comes_back ? ""
			     : shards   ? "needs 2 different agents"
					: "can take 1 jobs together");
		json_decref(busy);
		bench_close(&b);
	}
}

/* An agent that its operator lets drain does not come back by itself. */
static void test_run_does_not_wait_for_an_agent_that_is_held(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, 1);
	bench_run(&b);
	bench_sql(&b, "UPDATE agent SET held = 1 WHERE name = 'two'");
	poll_for(&b, 0, 1, T0 + 30000, 0);
	poll_for(&b, 1, 1, T0 + 30000, 0);
	bench_sweep(&b, T0 + 30000, T0 + 60000);
	bench_expect(&b, "result_description", "can take 1 jobs together");
	bench_close(&b);
}

static void test_run_failed_outcome_wins_over_later_errors(void **state)
{
	struct bench b;
	json_t *jobs;

	(void)state;
	bench_open(&b, 4);
	bench_run(&b);
	jobs = bench_start(&b, T0);
	bench_finish(&b, bench_lease(jobs, 0), "failed", T0 + 1);
	bench_expect(&b, "phase", "stopping");
	bench_finish(&b, bench_lease(jobs, 1), "error", T0 + 2);
	bench_sweep(&b, T0 + 3, 0);
	bench_expect(&b, "status", "failed");
	bench_expect(&b, "result_description", "callee: because");
	bench_expect(
		&b,
		"(SELECT count(*) || '' FROM lease WHERE secret_box IS NOT "
		"NULL)",
		"0");
	json_decref(jobs);
	bench_close(&b);
}

static void test_barrier_one_instant_for_all(void **state)
{
	struct lease_times times = bench_times(T0);
	int64_t first, second;
	struct bench b;
	json_t *jobs;
	bool last;

	(void)state;
	bench_open(&b, 4);
	bench_run(&b);
	jobs = bench_start(&b, T0);
	assert_int_equal(lease_ready(b.store, b.agents[0], bench_lease(jobs, 0),
				     &(struct lease_ready){.step = 1}, &times,
				     &first, &last),
			 -ERANGE);
	assert_int_equal(lease_ready(b.store, b.agents[0], bench_lease(jobs, 0),
				     &(struct lease_ready){.step = 0}, &times,
				     &first, &last),
			 -EAGAIN);
	times.now = T0 + 100;
	assert_int_equal(lease_ready(b.store, b.agents[0], bench_lease(jobs, 1),
				     &(struct lease_ready){.step = 0}, &times,
				     &second, &last),
			 0);
	assert_true(last);
	times.now = T0 + 160;
	assert_int_equal(lease_ready(b.store, b.agents[0], bench_lease(jobs, 0),
				     &(struct lease_ready){.step = 0}, &times,
				     &first, &last),
			 0);
	assert_false(last);
	assert_int_equal(T0 + 100 + second, T0 + 160 + first);
	times.now = T0 + 60000;
	assert_int_equal(lease_ready(b.store, b.agents[0], bench_lease(jobs, 0),
				     &(struct lease_ready){.step = 0}, &times,
				     &first, &last),
			 0);
	assert_int_equal(first, 0);
	json_decref(jobs);
	bench_close(&b);
}

static void test_barrier_of_one_role_does_not_wait(void **state)
{
	struct lease_times times = bench_times(T0);
	struct bench b;
	json_t *jobs;
	int64_t go_in_ms = -1;
	bool last;

	(void)state;
	bench_open(&b, 4);
	bench_run_alone(&b);
	jobs = bench_start(&b, T0);
	assert_int_equal(json_array_size(jobs), 1);
	assert_int_equal(lease_ready(b.store, b.agents[0], bench_lease(jobs, 0),
				     &(struct lease_ready){.step = 0}, &times,
				     &go_in_ms, &last),
			 0);
	assert_true(last);
	assert_int_equal(go_in_ms, 0);
	json_decref(jobs);
	bench_close(&b);
}

static int count_event(const char *role, json_t *event, void *arg)
{
	int *count = arg;

	assert_string_equal(role, "callee");
	assert_true(json_is_object(event));
	++*count;
	return 0;
}

struct texts {
	char text[512];
	size_t used;
};

static int add_text(const char *role, struct json_text object, void *arg)
{
	struct texts *texts = arg;
	int n = str_print(texts->text + texts->used,
			  sizeof(texts->text) - texts->used, "%s %.*s\n", role,
			  (int)object.len, object.at);

	assert_true(n > 0);
	texts->used += (size_t)n;
	return 0;
}

/*
 * An upload is stored byte for byte: whitespace, digits and escapes. An upload
 * without text is printed.
 */
static void test_upload_is_stored_as_it_came(void **state)
{
	static const char text[] =
		"[{\"t\":1, \"kind\":\"call\",\"ms\":3.60},"
		"{\"kind\":\"call\",\"t\":2,\"x\":\"\\u0041}\"} ]";
	struct lease_times times = bench_times(T0 + 1000);
	json_t *items = json_loads(text, 0, NULL);
	struct ingest_result result;
	struct texts texts = {.used = 0};
	struct bench b;
	json_t *jobs;

	(void)state;
	bench_open(&b, 4);
	bench_run(&b);
	jobs = bench_start(&b, T0);
	struct ingest u = {.agent_id = b.agents[0],
			   .lease_id = bench_lease(jobs, 0),
			   .kind = INGEST_EVENTS,
			   .seq = 1,
			   .items = items,
			   .text = {text, strlen(text)}};
	assert_int_equal(store_ingest(b.store, &u, &times, &result), 0);
	u.seq = 2;
	u.text.at = NULL;
	assert_int_equal(store_ingest(b.store, &u, &times, &result), 0);
	assert_int_equal(store_run_event_texts(b.store, b.run_id, "call", 3,
					       add_text, &texts),
			 0);
	assert_string_equal(
		texts.text,
		"callee {\"t\":1, \"kind\":\"call\",\"ms\":3.60}\n"
		"callee {\"kind\":\"call\",\"t\":2,\"x\":\"\\u0041}\"}\n"
		"callee {\"t\":1,\"kind\":\"call\",\"ms\":"
		"3.6000000000000001}\n");
	json_decref(items);
	json_decref(jobs);
	bench_close(&b);
}

static void test_upload_counts_once(void **state)
{
	struct lease_times times = bench_times(T0 + 1000);
	json_t *items =
		json_pack("[{s:I, s:s}]", "t", (json_int_t)1, "kind", "state");
	struct ingest_result result;
	struct bench b;
	json_t *jobs;
	int count = 0;

	(void)state;
	bench_open(&b, 4);
	bench_run(&b);
	jobs = bench_start(&b, T0);
	struct ingest u = {.agent_id = b.agents[0],
			   .lease_id = bench_lease(jobs, 0),
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
	assert_int_equal(
		store_run_events(b.store, b.run_id, count_event, &count), 0);
	assert_int_equal(count, 2);
	u.agent_id = b.agents[1];
	assert_int_equal(store_ingest(b.store, &u, &times, &result), -ENOENT);
	/* uploads are accepted until 15 minutes after the end of the lease */
	u.agent_id = b.agents[0];
	u.seq = 3;
	bench_finish(&b, u.lease_id, "completed", T0 + 2000);
	times.now = T0 + 2000 + 899999;
	assert_int_equal(store_ingest(b.store, &u, &times, &result), 0);
	times.now++;
	u.seq = 4;
	assert_int_equal(store_ingest(b.store, &u, &times, &result), -ESTALE);
	json_decref(items);
	json_decref(jobs);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_lapsed_offer_waits_again),
		cmocka_unit_test(test_poll_replaced_by_a_later_one),
		cmocka_unit_test(test_poll_with_nothing_to_do),
		cmocka_unit_test(test_run_never_half_placed),
		cmocka_unit_test(test_poll_knows_of_a_job_before_we_do),
		cmocka_unit_test(test_run_lease_expires),
		cmocka_unit_test(test_run_renewed_lease_stays),
		cmocka_unit_test(test_run_with_enough_calls),
		cmocka_unit_test(test_run_that_does_not_stop_is_taken_away),
		cmocka_unit_test(test_run_no_agent),
		cmocka_unit_test(test_run_no_agent_was_seen),
		cmocka_unit_test(test_run_of_two_agents_not_seen),
		cmocka_unit_test(test_run_waits_for_an_agent_that_restarts),
		cmocka_unit_test(
			test_run_does_not_wait_for_an_agent_that_is_held),
		cmocka_unit_test(
			test_run_failed_outcome_wins_over_later_errors),
		cmocka_unit_test(test_barrier_one_instant_for_all),
		cmocka_unit_test(test_barrier_of_one_role_does_not_wait),
		cmocka_unit_test(test_upload_is_stored_as_it_came),
		cmocka_unit_test(test_upload_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
