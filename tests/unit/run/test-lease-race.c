/*
 * Races of two: agents that poll for the same run, controllers that judge it.
 */
#include "lease_bench.h"

#include "control/server/run/run.h"
#include "control/server/store/store.h"

#include <pthread.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

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
	jobs = bench_poll(r->bench, store, r->agent, 4, T0);
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

		bench_open(&b, 4);
		bench_run(&b);
		race(&b, race_poll, racers);
		/* one agent gets the whole run, the other nothing */
		assert_int_equal(racers[0].got + racers[1].got, 2);
		assert_true(racers[0].got == 0 || racers[1].got == 0);
		bench_close(&b);
	}
}

static void test_race_two_judges(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		struct racer racers[2];
		struct bench b;
		json_t *jobs;

		bench_open(&b, 4);
		bench_run(&b);
		jobs = bench_start(&b, T0);
		bench_finish(&b, bench_lease(jobs, 0), "completed", T0 + 1);
		bench_finish(&b, bench_lease(jobs, 1), "completed", T0 + 1);
		race(&b, race_advance, racers);
		bench_expect(&b, "phase", "done");
		bench_expect(&b, "status", "errored"); /* no evidence was
						        * uploaded */
		json_decref(jobs);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_race_two_agents_claim),
		cmocka_unit_test(test_race_two_judges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
