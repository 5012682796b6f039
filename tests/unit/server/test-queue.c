#include "control/server/http/queue.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#define HOUR_NS (3600 * NS_PER_S)

static int setup(void **state)
{
	return http_queue_new((struct queue **)state, 2);
}

static int teardown(void **state)
{
	http_queue_free(*state);
	return 0;
}

static void test_first_in_first_out(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0}, b = {0}, c = {0};

	assert_int_equal(http_queue_push(q, &a), 0);
	assert_int_equal(http_queue_push(q, &b), 0);
	assert_int_equal(http_queue_push(q, &c), -EAGAIN);
	assert_ptr_equal(http_queue_take(q), &a);
	assert_int_equal(http_queue_push(q, &c), 0);
	assert_ptr_equal(http_queue_take(q), &b);
	assert_ptr_equal(http_queue_take(q), &c);
	assert_false(a.expired);
}

static void test_parked_is_woken(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0}, b = {0};

	http_queue_push(q, &a);
	http_queue_take(q);
	http_queue_park(q, &a, PARKED_FOR_JOB, clock_mono_ns(), HOUR_NS);
	http_queue_push(q, &b);
	assert_ptr_equal(http_queue_take(q), &b); /* a stays parked */
	http_queue_wake(q, PARKED_ALL);
	assert_ptr_equal(http_queue_take(q), &a);
	assert_false(a.expired);
}

static void test_wake_before_parking_is_not_lost(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0};

	http_queue_push(q, &a);
	http_queue_take(q);
	http_queue_wake(q, PARKED_ALL); /* while its handler runs */
	http_queue_park(q, &a, PARKED_FOR_JOB, clock_mono_ns(), HOUR_NS);
	assert_ptr_equal(http_queue_take(q), &a);
	assert_false(a.expired);
}

static void test_deadline_expires(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0};

	http_queue_push(q, &a);
	http_queue_take(q);
	http_queue_park(q, &a, PARKED_FOR_JOB, clock_mono_ns(), 20 * NS_PER_MS);
	assert_ptr_equal(http_queue_take(q), &a); /* returned at the deadline */
	assert_true(a.expired);
	assert_true(clock_mono_ns() >= a.deadline_ns);
}

static void test_later_parking_keeps_the_deadline(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0};
	int64_t now = clock_mono_ns(), deadline;

	http_queue_push(q, &a);
	http_queue_take(q);
	http_queue_park(q, &a, PARKED_FOR_JOB, now, HOUR_NS);
	deadline = a.deadline_ns;
	assert_int_equal(deadline, now + HOUR_NS);
	http_queue_wake(q, PARKED_ALL);
	http_queue_take(q);
	http_queue_park(q, &a, PARKED_FOR_JOB, now + 1, HOUR_NS);
	assert_int_equal(a.deadline_ns, deadline);
	http_queue_wake(q, PARKED_ALL);
	http_queue_take(q);
}

static void test_parked_ones_count(void **state)
{
	struct queue *q = *state;
	struct queue_item items[3] = {{0}};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(http_queue_push(q, &items[i]), 0);
		http_queue_take(q);
		http_queue_park(q, &items[i], PARKED_FOR_JOB, clock_mono_ns(),
				HOUR_NS);
	}
	assert_int_equal(http_queue_push(q, &items[2]), -EAGAIN);
	http_queue_wake(q, PARKED_ALL);
	http_queue_take(q);
	http_queue_take(q);
}

#define CROWD 300

/* Fill the queue with items parked for 1 to CROWD hours, in a mixed order. */
static void park_crowd(struct queue *q, struct queue_item items[CROWD],
		       int64_t now)
{
	for (int i = 0; i < CROWD; i++) {
		/* 7 has no factor in common with CROWD: each once */
		int64_t hours = 1 + 7 * i % CROWD;

		assert_int_equal(http_queue_push(q, &items[i]), 0);
		assert_ptr_equal(http_queue_take(q), &items[i]);
		http_queue_park(q, &items[i], PARKED_FOR_JOB, now,
				hours * HOUR_NS);
	}
}

/* @param arg  when the crowd was parked */
static bool is_odd(const struct queue_item *item, const void *arg)
{
	const int64_t *now = arg;

	return (item->deadline_ns - *now) / HOUR_NS % 2 != 0;
}

static void test_deadlines_come_in_order(void **state)
{
	struct queue_item items[CROWD] = {{0}};
	const int64_t now = clock_mono_ns();
	int64_t before = 0;
	struct queue *q;

	(void)state;
	assert_int_equal(http_queue_new(&q, CROWD), 0);
	park_crowd(q, items, now);
	http_queue_close(q);
	for (int i = 0; i < CROWD; i++) {
		const struct queue_item *item = http_queue_take(q);

		assert_true(item->expired);
		assert_true(item->deadline_ns > before);
		before = item->deadline_ns;
	}
	http_queue_free(q);
}

static void test_end_takes_those_that_match(void **state)
{
	struct queue_item items[CROWD] = {{0}};
	const int64_t now = clock_mono_ns();
	int64_t before = 0;
	struct queue *q;

	(void)state;
	assert_int_equal(http_queue_new(&q, CROWD), 0);
	park_crowd(q, items, now);
	http_queue_end(q, PARKED_FOR_STEP, is_odd,
		       &now); /* of the other kind */
	http_queue_end(q, PARKED_FOR_JOB, is_odd, &now);
	for (int i = 0; i < CROWD / 2; i++) {
		const struct queue_item *item = http_queue_take(q);

		assert_true(item->expired);
		assert_true(is_odd(item, &now));
	}
	assert_int_equal(http_queue_count(q), CROWD / 2);
	http_queue_close(q); /* the rest comes in the order of its deadlines */
	for (int i = 0; i < CROWD / 2; i++) {
		const struct queue_item *item = http_queue_take(q);

		assert_false(is_odd(item, &now));
		assert_true(item->deadline_ns > before);
		before = item->deadline_ns;
	}
	http_queue_free(q);
}

static void test_end_before_parking_is_not_lost(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0};
	const int64_t now = clock_mono_ns();

	http_queue_push(q, &a);
	http_queue_take(q);
	http_queue_end(q, PARKED_FOR_JOB, is_odd, &now); /* its handler runs */
	http_queue_park(q, &a, PARKED_FOR_JOB, clock_mono_ns(), HOUR_NS);
	assert_ptr_equal(http_queue_take(q), &a);
	assert_false(a.woken);
}

static void test_kinds_are_woken_by_themselves(void **state)
{
	struct queue *q = *state;
	struct queue_item poll = {0}, barrier = {0};

	http_queue_push(q, &poll);
	http_queue_take(q);
	http_queue_push(q, &barrier);
	http_queue_take(q);
	http_queue_wake(q, PARKED_BIT(PARKED_FOR_STEP)); /* while both run */
	http_queue_park(q, &poll, PARKED_FOR_JOB, clock_mono_ns(), HOUR_NS);
	http_queue_park(q, &barrier, PARKED_FOR_STEP, clock_mono_ns(), HOUR_NS);
	assert_ptr_equal(http_queue_take(q), &barrier);
	assert_false(barrier.woken); /* not since it was parked */
	http_queue_park(q, &barrier, PARKED_FOR_STEP, clock_mono_ns(), HOUR_NS);
	http_queue_wake(q, PARKED_BIT(PARKED_FOR_STEP));
	assert_ptr_equal(http_queue_take(q), &barrier);
	assert_true(barrier.woken);
	assert_int_equal(http_queue_count(q), 1);
	http_queue_wake(q, PARKED_BIT(PARKED_FOR_JOB));
	assert_ptr_equal(http_queue_take(q), &poll);
	assert_true(poll.woken);
	assert_false(poll.expired);
}

static void test_close_expires_and_ends(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0}, b = {0}, c = {0};

	http_queue_push(q, &a);
	http_queue_take(q);
	http_queue_park(q, &a, PARKED_FOR_JOB, clock_mono_ns(), HOUR_NS);
	http_queue_push(q, &b);
	http_queue_close(q);
	assert_int_equal(http_queue_push(q, &c), -ESHUTDOWN);
	assert_ptr_equal(http_queue_take(q), &b);
	assert_ptr_equal(http_queue_take(q), &a);
	assert_true(a.expired);
	/* an item taken and parked after the close is returned at once */
	http_queue_park(q, &b, PARKED_FOR_JOB, clock_mono_ns(), HOUR_NS);
	assert_ptr_equal(http_queue_take(q), &b);
	assert_true(b.expired);
	assert_null(http_queue_take(q));
	assert_null(http_queue_take(q));
}

static void *take(void *arg)
{
	return http_queue_take(arg);
}

static void test_sleeping_workers_end(void **state)
{
	struct queue *q = *state;
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take, q), 0);
	http_queue_close(q);
	for (int i = 0; i < 3; i++) {
		void *item = q;

		pthread_join(threads[i], &item);
		assert_null(item);
	}
}

#define JOBS    4000
#define WORKERS 4

struct job {
	struct queue_item item; /* must be first */
	int turns;              /* how often it is parked before it is done */
};

struct crowd {
	struct queue *q;
	struct job jobs[JOBS];
	/* relaxed: counters only; joining the threads publishes the rest */
	atomic_int next, done;
};

static void *push_jobs(void *arg)
{
	struct crowd *crowd = arg;
	int i;

	while ((i = atomic_fetch_add_explicit(&crowd->next, 1,
					      memory_order_relaxed)) < JOBS) {
		crowd->jobs[i].turns = i % 3 ? 0 : i % 5;
		while (http_queue_push(crowd->q, &crowd->jobs[i].item) ==
		       -EAGAIN)
			sched_yield();
	}
	return NULL;
}

static void *do_jobs(void *arg)
{
	struct crowd *crowd = arg;
	struct job *job;

	while ((job = (struct job *)http_queue_take(crowd->q)) != NULL) {
		if (job->turns-- > 0 && !job->item.expired)
			http_queue_park(crowd->q, &job->item,
					(enum parked)(job->turns % 2),
					clock_mono_ns(), NS_PER_MS);
		else
			atomic_fetch_add_explicit(&crowd->done, 1,
						  memory_order_relaxed);
	}
	return NULL;
}

/*
 * If a wake-up were lost, a job would stay undone and this test would not end.
 */
static void test_no_job_is_left(void **state)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	pthread_t workers[WORKERS], pushers[2];

	(void)state;
	assert_non_null(crowd);
	assert_int_equal(http_queue_new(&crowd->q, 8), 0);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(
			pthread_create(&workers[i], NULL, do_jobs, crowd), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&pushers[i], NULL, push_jobs, crowd), 0);
	while (atomic_load_explicit(&crowd->done, memory_order_relaxed) <
	       JOBS / 2) {
		http_queue_wake(crowd->q, PARKED_ALL);
		sched_yield();
	}
	while (atomic_load_explicit(&crowd->done, memory_order_relaxed) < JOBS)
		sched_yield();
	for (int i = 0; i < 2; i++)
		pthread_join(pushers[i], NULL);
	http_queue_close(crowd->q);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	assert_int_equal(http_queue_count(crowd->q), 0);
	http_queue_free(crowd->q);
	free(crowd);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_first_in_first_out),
		CASE(test_parked_is_woken),
		CASE(test_wake_before_parking_is_not_lost),
		CASE(test_deadline_expires),
		CASE(test_later_parking_keeps_the_deadline),
		CASE(test_parked_ones_count),
		CASE(test_deadlines_come_in_order),
		CASE(test_end_takes_those_that_match),
		CASE(test_end_before_parking_is_not_lost),
		CASE(test_kinds_are_woken_by_themselves),
		CASE(test_close_expires_and_ends),
		CASE(test_sleeping_workers_end),
		CASE(test_no_job_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
