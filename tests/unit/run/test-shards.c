/* Shards of a role: where they are placed, that they begin together, what happens when one is lost. */
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

static json_t *shards_of(struct bench *b)
{
	json_t *shards;

	assert_int_equal(store_report_shards(b->store, b->run_id, &shards), 0);
	return shards;
}

static const json_t *of_shard(const json_t *shards, size_t i,
			      const char *member)
{
	return json_object_get(json_array_get(shards, i), member);
}

/* Both shards would fit on one agent; they go to two. */
static void test_shards_are_on_different_agents(void **state)
{
	json_t *jobs[2], *shards;
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	bench_run_shards(&b, 2, 2);
	jobs[0] = bench_poll(&b, b.store, 0, 4, T0);
	assert_int_equal(json_array_size(jobs[0]), 1);
	bench_expect(&b, "phase", "dispatching");
	jobs[1] = bench_poll(&b, b.store, 1, 4, T0 + 1);
	assert_int_equal(json_array_size(jobs[1]), 1);
	shards = shards_of(&b);
	assert_int_equal(json_array_size(shards), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(
			json_integer_value(of_shard(shards, i, "shard")),
			i + 1);
		assert_true(
			json_is_null(of_shard(shards, i, "start_offset_ms")));
		json_decref(jobs[i]);
	}
	assert_string_not_equal(
		json_string_value(of_shard(shards, 0, "agent")),
		json_string_value(of_shard(shards, 1, "agent")));
	json_decref(shards);
	bench_close(&b);
}

/* With one agent that takes jobs nothing is offered, however much room it has. */
static void test_shards_wait_for_another_agent(void **state)
{
	const struct waiting_times waiting = {.now = T0 + 2, .lease_ms = 60000};
	char text[WAITING_TEXT_BYTES];
	json_t *jobs;
	struct bench b;

	(void)state;
	bench_open(&b, 8);
	bench_sql(&b, "UPDATE agent SET draining = 1 WHERE name = 'two'");
	bench_run_shards(&b, 3, 2);
	jobs = bench_poll(&b, b.store, 0, 8, T0);
	assert_int_equal(json_array_size(jobs), 0);
	json_decref(jobs);
	bench_expect(&b, "phase", "queued");
	assert_int_equal(store_waiting_for(b.store, b.run_id, &waiting, text),
			 1);
	assert_string_equal(
		text, "the role caller needs 2 different agents of the pool "
		      "lab, 1 online can carry it out: start more, or lower "
		      "its parameter agents");
	assert_int_equal(bench_sweep(&b, T0 + 40000, 0), 1);
	bench_expect(&b, "result_description", "needs 2 different agents");
	bench_close(&b);
}

/* The least number of agents, and more shards than these: they are spread. */
static void test_shards_are_spread(void **state)
{
	json_t *jobs[2];
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	bench_run_shards(&b, 5, 2);
	jobs[0] = bench_poll(&b, b.store, 0, 4, T0);
	jobs[1] = bench_poll(&b, b.store, 1, 4, T0 + 1);
	assert_int_equal(json_array_size(jobs[0]), 3);
	assert_int_equal(json_array_size(jobs[1]), 2);
	json_decref(jobs[0]);
	json_decref(jobs[1]);
	bench_close(&b);
}

/* An offer that was not confirmed goes to an agent that has no shard of the role. */
static void test_shard_offered_again_stays_alone(void **state)
{
	struct lease_times times = bench_times(T0);
	json_t *first, *jobs;
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	bench_run_shards(&b, 2, 2);
	first = bench_poll(&b, b.store, 0, 4, T0);
	assert_int_equal(lease_start(b.store, b.agents[0],
				     bench_lease(first, 0), 0, &times),
			 0);
	jobs = bench_poll(&b, b.store, 1, 4, T0 + 1);
	assert_int_equal(json_array_size(jobs), 1);
	json_decref(jobs);
	assert_int_equal(bench_sweep(&b, T0 + 31000, 0), 1);
	jobs = bench_poll(&b, b.store, 0, 3, T0 + 31001);
	assert_int_equal(json_array_size(jobs), 0);
	json_decref(jobs);
	jobs = bench_poll(&b, b.store, 1, 4, T0 + 31002);
	assert_int_equal(json_array_size(jobs), 1);
	json_decref(jobs);
	json_decref(first);
	bench_close(&b);
}

/* Start both shards, one on each agent. */
static void start_shards(struct bench *b, json_t *jobs[static 2])
{
	struct lease_times times = bench_times(T0);

	bench_run_shards(b, 2, 2);
	for (int i = 0; i < 2; i++) {
		jobs[i] = bench_poll(b, b->store, i, 4, T0 + i);
		assert_int_equal(lease_start(b->store, b->agents[i],
					     bench_lease(jobs[i], 0), 0,
					     &times),
				 0);
	}
	bench_expect(b, "phase", "running");
}

static void test_shards_begin_together(void **state)
{
	const struct lease_began worse = {(T0 + 1) * 1000 + 100, 251};
	const struct lease_began better = {(T0 + 1) * 1000 + 3500, 125};
	struct lease_times times = bench_times(T0);
	struct lease_ready ready = {.step = 0};
	const char *command;
	int64_t go_in_ms;
	json_t *jobs[2], *shards;
	struct bench b;
	bool last;

	(void)state;
	bench_open(&b, 4);
	start_shards(&b, jobs);
	assert_int_equal(lease_ready(b.store, b.agents[0],
				     bench_lease(jobs[0], 0), &ready, &times,
				     &go_in_ms, &last),
			 -EAGAIN);
	assert_int_equal(lease_ready(b.store, b.agents[1],
				     bench_lease(jobs[1], 0), &ready, &times,
				     &go_in_ms, &last),
			 0);
	assert_true(last);
	assert_int_equal(go_in_ms, 1250);
	/* each says when it began, as far as it knows */
	for (int i = 0; i < 2; i++) {
		ready = (struct lease_ready){
			.step = 1, .began = {(T0 + 1) * 1000 + 2500 * i, 250}};
		(void)lease_ready(b.store, b.agents[i], bench_lease(jobs[i], 0),
				  &ready, &times, &go_in_ms, &last);
	}
	/* known worse, it is not kept; better, it is */
	assert_int_equal(lease_renew(b.store, b.agents[0],
				     bench_lease(jobs[0], 0), 0.5, &worse,
				     &times, &command),
			 0);
	assert_int_equal(lease_renew(b.store, b.agents[1],
				     bench_lease(jobs[1], 0), 0.5, &better,
				     &times, &command),
			 0);
	shards = shards_of(&b);
	for (size_t i = 0; i < 2; i++) {
		bool one =
			strcmp(json_string_value(of_shard(shards, i, "agent")),
			       "one") == 0;
		const double expected = one ? 0 : 3.5;
		const double error = one ? 0.25 : 0.125;

		assert_float_equal(json_number_value(of_shard(
					   shards, i, "start_offset_ms")),
				   expected, 1e-9);
		assert_float_equal(json_number_value(of_shard(
					   shards, i, "clock_error_ms")),
				   error, 1e-9);
		json_decref(jobs[i]);
	}
	json_decref(shards);
	bench_close(&b);
}

static void test_shard_that_is_lost_is_named(void **state)
{
	struct lease_times times = bench_times(T0 + 50000);
	json_t *jobs[2];
	struct bench b;
	const char *command;

	(void)state;
	bench_open(&b, 4);
	start_shards(&b, jobs);
	assert_int_equal(lease_renew(b.store, b.agents[0],
				     bench_lease(jobs[0], 0), 0.5, NULL, &times,
				     &command),
			 0);
	assert_int_equal(bench_sweep(&b, T0 + 60100, 0), 1);
	bench_expect(&b, "stop_reason", "error");
	bench_expect(&b, "result_description",
		     " of 2): agent two stopped answering in mid-run");
	bench_expect(&b, "result_description", "caller (shard ");
	json_decref(jobs[0]);
	json_decref(jobs[1]);
	bench_close(&b);
}

/* Renew the lease of an agent at T0 + 50 s, and let that of the other one end. */
static void lose_other(struct bench *b, int agent, json_t *const jobs[2])
{
	struct lease_times times = bench_times(T0 + 50000);
	const char *command;

	assert_int_equal(lease_renew(b->store, b->agents[agent],
				     bench_lease(jobs[agent], 0), 0.5, NULL,
				     &times, &command),
			 0);
	assert_int_equal(bench_sweep(b, T0 + 60100, 0), 1);
}

static void expect_lost(struct bench *b, int agent, const char *reason)
{
	json_t *shards = shards_of(b);
	size_t lost = 0;

	for (size_t i = 0; i < 2; i++) {
		const char *name =
			json_string_value(of_shard(shards, i, "agent"));
		const char *why =
			json_string_value(of_shard(shards, i, "reason"));

		if (strcmp(json_string_value(of_shard(shards, i, "state")),
			   "lost") != 0) {
			assert_null(why);
			continue;
		}
		lost++;
		assert_string_equal(name, agent ? "two" : "one");
		assert_non_null(strstr(why, reason));
	}
	assert_int_equal(lost, 1);
	json_decref(shards);
}

/* The other shard waits at a barrier: it goes on when the lost one cannot come. */
static void test_run_goes_on_without_a_lost_shard(void **state)
{
	struct lease_times times = bench_times(T0 + 40000);
	const struct lease_ready ready = {.step = 0};
	json_t *jobs[2];
	int64_t go_in_ms;
	struct bench b;
	bool last;

	(void)state;
	bench_open(&b, 4);
	b.allow_reduced = true;
	start_shards(&b, jobs);
	assert_int_equal(lease_ready(b.store, b.agents[0],
				     bench_lease(jobs[0], 0), &ready, &times,
				     &go_in_ms, &last),
			 -EAGAIN);
	lose_other(&b, 0, jobs);
	bench_expect(&b, "phase", "running");
	bench_expect(&b, "CAST(shards_lost AS TEXT)", "1");
	bench_expect(&b, "stop_reason", "");
	expect_lost(&b, 1, " of 2): agent two stopped answering in mid-run");
	times = bench_times(T0 + 60100);
	assert_int_equal(lease_ready(b.store, b.agents[0],
				     bench_lease(jobs[0], 0), &ready, &times,
				     &go_in_ms, &last),
			 0);
	assert_int_equal(go_in_ms, 1250);
	/* the one that was lost cannot come back */
	assert_int_equal(lease_ready(b.store, b.agents[1],
				     bench_lease(jobs[1], 0), &ready, &times,
				     &go_in_ms, &last),
			 -ESTALE);
	bench_finish(&b, bench_lease(jobs[0], 0), "completed", T0 + 61000);
	assert_int_equal(bench_sweep(&b, T0 + 61000, 0), 1);
	bench_expect(&b, "phase", "done");
	bench_expect(&b, "result_description",
		     "; the run went on without caller (shard ");
	json_decref(jobs[0]);
	json_decref(jobs[1]);
	bench_close(&b);
}

static void test_run_ends_with_its_last_shard(void **state)
{
	json_t *jobs[2];
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	b.allow_reduced = true;
	start_shards(&b, jobs);
	lose_other(&b, 0, jobs);
	bench_expect(&b, "phase", "running");
	bench_finish(&b, bench_lease(jobs[0], 0), "error", T0 + 61000);
	bench_expect(&b, "stop_reason", "error");
	bench_expect(&b, "CAST(shards_lost AS TEXT)", "1");
	bench_expect(&b, "result_description",
		     "the agent could not carry on: because");
	json_decref(jobs[0]);
	json_decref(jobs[1]);
	bench_close(&b);
}

/* An engine that has crashed is a lost shard, too; a failure of the system under test is none. */
static void test_shard_that_cannot_carry_on_is_lost(void **state)
{
	static const char *const outcomes[] = {"error", "stopped", "failed"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const bool lost = i < 2;
		json_t *jobs[2];
		struct bench b;

		bench_open(&b, 4);
		b.allow_reduced = true;
		start_shards(&b, jobs);
		bench_finish(&b, bench_lease(jobs[0], 0), outcomes[i],
			     T0 + 1000);
		bench_expect(&b, "CAST(shards_lost AS TEXT)", lost ? "1" : "0");
		bench_expect(&b, "stop_reason", lost ? "" : "failed");
		if (lost)
			expect_lost(&b, 0, "could not carry on: because");
		json_decref(jobs[0]);
		json_decref(jobs[1]);
		bench_close(&b);
	}
}

static int count_object(const char *role, json_t *object, void *arg)
{
	int *count = arg;

	(void)role;
	(void)object;
	++*count;
	return 0;
}

static int count_text(const char *role, struct json_text object, void *arg)
{
	(void)object;
	return count_object(role, NULL, arg);
}

static void upload(struct bench *b, int agent, json_t *const jobs[2],
		   enum ingest_kind kind, const char *items)
{
	struct lease_times times = bench_times(T0 + 1000);
	struct ingest_result result;
	const struct ingest upload = {
		.agent_id = b->agents[agent],
		.lease_id = bench_lease(jobs[agent], 0),
		.seq = kind == INGEST_EVENTS ? 1 : 2,
		.kind = kind,
		.items = json_loads(items, 0, NULL),
	};

	assert_int_equal(store_ingest(b->store, &upload, &times, &result), 0);
	json_decref(upload.items);
}

/* What it had uploaded is kept, and is not judged. */
static void test_results_of_a_lost_shard_are_not_judged(void **state)
{
	int stored = 0, judged = 0, texts = 0, messages = 0;
	json_t *jobs[2];
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	b.allow_reduced = true;
	start_shards(&b, jobs);
	for (int i = 0; i < 2; i++) {
		upload(&b, i, jobs, INGEST_EVENTS,
		       "[{\"t\":1,\"kind\":\"call\",\"call\":\"x\"}]");
		upload(&b, i, jobs, INGEST_SIP,
		       "[{\"t\":1,\"dir\":\"sent\",\"data\":\"x\"}]");
	}
	lose_other(&b, 0, jobs);
	assert_int_equal(
		store_run_events(b.store, b.run_id, count_object, &stored), 0);
	assert_int_equal(
		store_judged_events(b.store, b.run_id, count_object, &judged),
		0);
	assert_int_equal(store_judged_event_texts(b.store, b.run_id, "call",
						  INGEST_ALL, count_text,
						  &texts),
			 0);
	assert_int_equal(store_judged_messages(b.store, b.run_id, count_object,
					       &messages),
			 0);
	assert_int_equal(stored, 2);
	assert_int_equal(judged, 1);
	assert_int_equal(texts, 1);
	assert_int_equal(messages, 1);
	json_decref(jobs[0]);
	json_decref(jobs[1]);
	bench_close(&b);
}

static void finish_shard(struct bench *b, int agent, json_t *const jobs[2],
			 const char *outcome)
{
	const struct lease_times times = bench_times(T0 + 2000);
	const struct lease_end end = {outcome, "because", 0};
	json_t *missing = NULL;

	assert_int_equal(lease_finish(b->store, b->agents[agent],
				      bench_lease(jobs[agent], 0), &end, &times,
				      &missing),
			 0);
}

static void test_shard_that_was_cancelled_is_not_lost(void **state)
{
	json_t *jobs[2], *shards;
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	b.allow_reduced = true;
	start_shards(&b, jobs);
	assert_int_equal(store_run_stop(b.store, b.run_id, T0 + 1000), 0);
	for (int i = 0; i < 2; i++) {
		finish_shard(&b, i, jobs, "stopped");
		bench_expect(&b, "CAST(shards_lost AS TEXT)", "0");
	}
	shards = shards_of(&b);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(
			json_string_value(of_shard(shards, i, "state")),
			"finished");
		json_decref(jobs[i]);
	}
	json_decref(shards);
	assert_int_equal(bench_sweep(&b, T0 + 3000, 0), 1);
	bench_expect(&b, "status", "stopped");
	bench_close(&b);
}

/* It was cancelled because another one failed; the fault of the tester that it had
 * reported counts. */
static void test_results_of_a_cancelled_shard_are_judged(void **state)
{
	json_t *jobs[2];
	struct bench b;

	(void)state;
	bench_open(&b, 4);
	b.allow_reduced = true;
	start_shards(&b, jobs);
	finish_shard(&b, 1, jobs, "failed");
	bench_expect(&b, "phase", "stopping");
	upload(&b, 0, jobs, INGEST_EVENTS,
	       "[{\"t\":1,\"kind\":\"flaw\",\"name\":\"disk_full\","
	       "\"count\":1,\"text\":\"the disk is full\"}]");
	finish_shard(&b, 0, jobs, "stopped");
	assert_int_equal(bench_sweep(&b, T0 + 3000, 0), 1);
	bench_expect(&b, "status", "errored");
	bench_expect(&b, "result_description", "the disk is full");
	bench_expect(&b, "CAST(shards_lost AS TEXT)", "0");
	json_decref(jobs[0]);
	json_decref(jobs[1]);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shards_are_on_different_agents),
		cmocka_unit_test(test_shards_wait_for_another_agent),
		cmocka_unit_test(test_shards_are_spread),
		cmocka_unit_test(test_shard_offered_again_stays_alone),
		cmocka_unit_test(test_shards_begin_together),
		cmocka_unit_test(test_shard_that_is_lost_is_named),
		cmocka_unit_test(test_run_goes_on_without_a_lost_shard),
		cmocka_unit_test(test_run_ends_with_its_last_shard),
		cmocka_unit_test(test_shard_that_cannot_carry_on_is_lost),
		cmocka_unit_test(test_results_of_a_lost_shard_are_not_judged),
		cmocka_unit_test(test_shard_that_was_cancelled_is_not_lost),
		cmocka_unit_test(test_results_of_a_cancelled_shard_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
