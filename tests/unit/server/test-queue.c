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
	http_queue_park(q, &a, clock_mono_ns(), HOUR_NS);
	http_queue_push(q, &b);
	assert_ptr_equal(http_queue_take(q), &b); /* a stays parked */
	http_queue_wake(q);
	assert_ptr_equal(http_queue_take(q), &a);
	assert_false(a.expired);
}

static void test_wake_before_parking_is_not_lost(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0};

	http_queue_push(q, &a);
	http_queue_take(q);
	http_queue_wake(q); /* while its handler runs */
	http_queue_park(q, &a, clock_mono_ns(), HOUR_NS);
	assert_ptr_equal(http_queue_take(q), &a);
	assert_false(a.expired);
}

static void test_deadline_expires(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0};

	http_queue_push(q, &a);
	http_queue_take(q);
	http_queue_park(q, &a, clock_mono_ns(), 20 * NS_PER_MS);
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
	http_queue_park(q, &a, now, HOUR_NS);
	deadline = a.deadline_ns;
	assert_int_equal(deadline, now + HOUR_NS);
	http_queue_wake(q);
	http_queue_take(q);
	http_queue_park(q, &a, now + 1, HOUR_NS);
	assert_int_equal(a.deadline_ns, deadline);
	http_queue_wake(q);
	http_queue_take(q);
}

static void test_parked_ones_count(void **state)
{
	struct queue *q = *state;
	struct queue_item items[3] = {{0}};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(http_queue_push(q, &items[i]), 0);
		http_queue_take(q);
		http_queue_park(q, &items[i], clock_mono_ns(), HOUR_NS);
	}
	assert_int_equal(http_queue_push(q, &items[2]), -EAGAIN);
	http_queue_wake(q);
	http_queue_take(q);
	http_queue_take(q);
}

static void test_close_expires_and_ends(void **state)
{
	struct queue *q = *state;
	struct queue_item a = {0}, b = {0}, c = {0};

	http_queue_push(q, &a);
	http_queue_take(q);
	http_queue_park(q, &a, clock_mono_ns(), HOUR_NS);
	http_queue_push(q, &b);
	http_queue_close(q);
	assert_int_equal(http_queue_push(q, &c), -ESHUTDOWN);
	assert_ptr_equal(http_queue_take(q), &b);
	assert_ptr_equal(http_queue_take(q), &a);
	assert_true(a.expired);
	/* an item taken and parked after the close is returned at once */
	http_queue_park(q, &b, clock_mono_ns(), HOUR_NS);
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
			http_queue_park(crowd->q, &job->item, clock_mono_ns(),
					NS_PER_MS);
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
		http_queue_wake(crowd->q);
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
		CASE(test_close_expires_and_ends),
		CASE(test_sleeping_workers_end),
		CASE(test_no_job_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
