#include "base/timer_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MANY 2000

struct world;

/* A timer that logs its number and may start or cancel another. */
struct item {
	struct timer_entry timer;
	struct world *world;
	int number;
	int64_t again_ns; /* its handler restarts it for this time; 0: no */
	struct item *starts;
	int64_t starts_ns;
	struct item *cancels;
};

struct world {
	struct timer_queue q;
	struct item items[MANY];
	int ran[4 * MANY];
	size_t count;
};

static void handler(void *arg)
{
	struct item *item = arg;
	struct world *w = item->world;

	assert_false(timer_queue_runs(&item->timer));
	w->ran[w->count++] = item->number;
	if (item->again_ns)
		timer_queue_start(&w->q, &item->timer, item->again_ns, handler,
				  item);
	item->again_ns = 0;
	if (item->starts)
		timer_queue_start(&w->q, &item->starts->timer, item->starts_ns,
				  handler, item->starts);
	if (item->cancels)
		timer_queue_cancel(&item->cancels->timer);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	for (int i = 0; i < MANY; i++) {
		w->items[i].world = w;
		w->items[i].number = i;
	}
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void start(struct world *w, int number, int64_t due_ns)
{
	timer_queue_start(&w->q, &w->items[number].timer, due_ns, handler,
			  &w->items[number]);
}

/*
 * Run the timers that are due, and expect these numbers in this order. The list
 * ends with -1.
 */
static void due(struct world *w, int64_t now_ns, const int *numbers)
{
	w->count = 0;
	while (timer_queue_run_one(&w->q, now_ns))
		assert_true(w->count < sizeof(w->ran) / sizeof(w->ran[0]));
	for (size_t i = 0; numbers[i] >= 0; i++) {
		assert_true(i < w->count);
		assert_int_equal(w->ran[i], numbers[i]);
		assert_true(numbers[i + 1] >= 0 || i + 1 == w->count);
	}
	if (numbers[0] < 0)
		assert_int_equal(w->count, 0);
}

#define DUE(w, now_ns, ...) due(w, now_ns, (const int[]){__VA_ARGS__, -1})
#define NONE_DUE(w, now_ns) due(w, now_ns, (const int[]){-1})

static void test_timer_queue_empty(void **state)
{
	struct world *w = *state;

	assert_true(timer_queue_next_ns(&w->q) == INT64_MAX);
	assert_false(timer_queue_run_one(&w->q, INT64_MAX));
	timer_queue_cancel(&w->items[0].timer);
	assert_false(timer_queue_runs(&w->items[0].timer));
}

static void test_timer_queue_runs_in_order_of_time(void **state)
{
	struct world *w = *state;

	start(w, 3, 400);
	start(w, 0, 100);
	start(w, 2, 300);
	start(w, 1, 200);
	assert_true(timer_queue_next_ns(&w->q) == 100);
	NONE_DUE(w, 99);
	DUE(w, 100, 0);
	assert_true(timer_queue_next_ns(&w->q) == 200);
	NONE_DUE(w, 199);
	DUE(w, 350, 1, 2);
	DUE(w, 1000, 3);
	assert_true(timer_queue_next_ns(&w->q) == INT64_MAX);
}

static void test_timer_queue_equal_times_run_as_started(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 7; i++)
		start(w, i, 500);
	start(w, 2, 500); /* restarted: after the others */
	DUE(w, 500, 0, 1, 3, 4, 5, 6, 2);
}

static void test_timer_queue_cancelled_does_not_run(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < 6; i++)
		start(w, i, 100 * (i + 1));
	timer_queue_cancel(&w->items[0].timer); /* the first */
	timer_queue_cancel(&w->items[3].timer);
	timer_queue_cancel(&w->items[5].timer); /* the last */
	timer_queue_cancel(&w->items[5].timer); /* twice */
	assert_false(timer_queue_runs(&w->items[3].timer));
	assert_true(timer_queue_runs(&w->items[4].timer));
	assert_true(timer_queue_next_ns(&w->q) == 200);
	DUE(w, 10000, 1, 2, 4);
}

static void test_timer_queue_restart_moves_a_timer(void **state)
{
	struct world *w = *state;

	start(w, 0, 100);
	start(w, 1, 200);
	start(w, 2, 300);
	start(w, 0, 250); /* later */
	start(w, 2, 50);  /* earlier */
	assert_true(timer_queue_next_ns(&w->q) == 50);
	DUE(w, 225, 2, 1);
	DUE(w, 250, 0);
}

static void test_timer_queue_handler_restarts_its_own(void **state)
{
	struct world *w = *state;

	w->items[0].again_ns = 150; /* is due by then */
	w->items[1].again_ns = 300;
	start(w, 0, 100);
	start(w, 1, 100);
	start(w, 2, 200);
	DUE(w, 200, 0, 1, 0, 2);
	NONE_DUE(w, 299);
	DUE(w, 300, 1);
}

static void test_timer_queue_handler_cancels_another(void **state)
{
	struct world *w = *state;

	w->items[0].cancels = &w->items[1]; /* due at the same time */
	w->items[2].cancels = &w->items[2]; /* itself: nothing */
	for (int i = 0; i < 4; i++)
		start(w, i, 100);
	DUE(w, 100, 0, 2, 3);
	NONE_DUE(w, INT64_MAX);
}

static void test_timer_queue_handler_starts_another(void **state)
{
	struct world *w = *state;

	w->items[0].starts = &w->items[5];
	w->items[0].starts_ns = 50; /* in the past: next of all */
	w->items[1].starts = &w->items[2];
	w->items[1].starts_ns = 900; /* one that was due now */
	start(w, 0, 100);
	start(w, 1, 100);
	start(w, 2, 100);
	DUE(w, 100, 0, 5, 1);
	DUE(w, 900, 2);
}

static void test_timer_queue_far_times(void **state)
{
	struct world *w = *state;

	start(w, 0, INT64_MAX);
	start(w, 1, INT64_MAX - 1);
	start(w, 2, INT64_MIN);
	start(w, 3, 0);
	assert_true(timer_queue_next_ns(&w->q) == INT64_MIN);
	DUE(w, INT64_MAX - 2, 2, 3);
	DUE(w, INT64_MAX, 1, 0);
}

/* A handler may free the memory of its timer. */
static void release_handler(void *arg)
{
	memset(arg, 0xff, sizeof(struct timer_entry));
	free(arg);
}

static void test_timer_queue_handler_releases_its_own(void **state)
{
	struct world *w = *state;
	struct timer_entry *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	start(w, 0, 100);
	start(w, 1, 300);
	timer_queue_start(&w->q, t, 200, release_handler, t);
	DUE(w, 1000, 0, 1);
}

/* ---- comparison with a plain list ---- */

static uint32_t draw(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) +
		 UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

struct plain {
	bool runs;
	int64_t due_ns;
	uint64_t order;
};

/* @return index of the entry that is due first, or -1 */
static int plain_first(const struct plain *list)
{
	int first = -1;

	for (int i = 0; i < MANY; i++) {
		if (list[i].runs &&
		    (first < 0 || list[i].due_ns < list[first].due_ns ||
		     (list[i].due_ns == list[first].due_ns &&
		      list[i].order < list[first].order)))
			first = i;
	}
	return first;
}

static void test_timer_queue_agrees_with_a_list(void **state)
{
	static struct plain list[MANY];
	struct world *w = *state;
	uint64_t seed = (uint64_t)time(NULL);
	uint64_t random = seed;
	int64_t now_ns = 0;

	printf("seed %llu\n", (unsigned long long)seed);
	for (uint64_t n = 0; n < 20000; n++) {
		int i = (int)(draw(&random) % MANY);
		uint32_t what = draw(&random) % 8;

		if (what < 4) { /* few values: many are equal */
			list[i] = (struct plain){
				.runs = true,
				.due_ns = now_ns + draw(&random) % 500,
				.order = n,
			};
			start(w, i, list[i].due_ns);
		} else if (what < 6) {
			list[i].runs = false;
			timer_queue_cancel(&w->items[i].timer);
		} else {
			int first = plain_first(list);

			now_ns += draw(&random) % 3;
			w->count = 0;
			if (first >= 0 && list[first].due_ns <= now_ns) {
				assert_true(timer_queue_run_one(&w->q, now_ns));
				assert_int_equal(w->count, 1);
				assert_int_equal(w->ran[0], first);
				list[first].runs = false;
			} else {
				assert_false(
					timer_queue_run_one(&w->q, now_ns));
			}
		}
		assert_true(timer_queue_runs(&w->items[i].timer) ==
			    list[i].runs);
	}
}

/* A delay between 0 and 2^56 ns (two years), short ones as often as long ones. */
static int64_t delay_draw(uint64_t *random)
{
	uint64_t bits = (uint64_t)draw(random) << 31 | draw(random);

	return (int64_t)(bits >> (6 + draw(random) % 57));
}

/* @return the earliest time in the list; INT64_MAX: none runs */
static int64_t plain_next_ns(const struct plain *list)
{
	int first = plain_first(list);

	return first < 0 ? INT64_MAX : list[first].due_ns;
}

/* Run what is due, in the order of the list. */
static void expect_due(struct world *w, struct plain *list, int64_t now_ns)
{
	int first;

	while ((first = plain_first(list)) >= 0 &&
	       list[first].due_ns <= now_ns) {
		w->count = 0;
		assert_true(timer_queue_run_one(&w->q, now_ns));
		assert_int_equal(w->count, 1);
		assert_int_equal(w->ran[0], first);
		list[first].runs = false;
		assert_true(timer_queue_next_ns(&w->q) == plain_next_ns(list));
	}
	assert_false(timer_queue_run_one(&w->q, now_ns));
}

/* Delays of all lengths, with time that stands, walks and leaps, to the timer
 * that is next, the moment before it, or anywhere. */
static void test_timer_queue_agrees_with_a_list_over_years(void **state)
{
	static struct plain list[MANY];
	struct world *w = *state;
	uint64_t seed = (uint64_t)time(NULL);
	uint64_t random = seed;
	int64_t now_ns = delay_draw(&random) - delay_draw(&random);

	printf("seed %llu\n", (unsigned long long)seed);
	memset(list, 0, sizeof(list));
	for (uint64_t n = 0; n < 10000; n++) {
		int i = (int)(draw(&random) % MANY);
		int64_t due_ns = now_ns + delay_draw(&random);
		int64_t next_ns = plain_next_ns(list);
		uint32_t what = draw(&random) % 16;

		if (what == 0 && plain_first(list) >= 0)
			due_ns = next_ns; /* equal times */
		if (what < 8) {
			list[i] = (struct plain){true, due_ns, n};
			start(w, i, due_ns);
		} else if (what < 13) {
			list[i].runs = false;
			timer_queue_cancel(&w->items[i].timer);
		} else {
			if (what == 15)
				now_ns += delay_draw(&random) >> 12;
			else if (next_ns < INT64_MAX && next_ns > now_ns)
				now_ns = what == 14 ? next_ns : next_ns - 1;
			expect_due(w, list, now_ns);
		}
		assert_true(timer_queue_next_ns(&w->q) == plain_next_ns(list));
	}
	expect_due(w, list, INT64_MAX);
	assert_true(timer_queue_next_ns(&w->q) == INT64_MAX);
}

/* Timers of one long delay are cancelled in any order, as those of transactions
 * are. */
static void test_timer_queue_far_ones_are_cancelled(void **state)
{
	struct world *w = *state;
	int64_t far_ns = INT64_C(32000000000);

	for (int i = 0; i < MANY; i++)
		start(w, i, far_ns + i);
	NONE_DUE(w, far_ns / 2);
	for (int i = 0; i < MANY; i += 2) /* one neighbour or both stay */
		timer_queue_cancel(&w->items[i].timer);
	assert_true(timer_queue_next_ns(&w->q) == far_ns + 1);
	for (int i = MANY - 1; i > 3; i -= 2)
		timer_queue_cancel(&w->items[i].timer);
	DUE(w, far_ns + MANY, 1, 3);
	assert_true(timer_queue_next_ns(&w->q) == INT64_MAX);
}

/* A timer keeps its place while time passes that does not reach it, and is
 * found there when it is cancelled. */
static void test_timer_queue_time_passes_before_far_ones(void **state)
{
	struct world *w = *state;
	int64_t tick_ns = INT64_C(1) << 22;

	for (int i = 0; i < 200; i++)
		start(w, i, 50 * i * tick_ns);
	for (int i = 1; i < 200; i += 2) {
		timer_queue_cancel(&w->items[i].timer);
		DUE(w, (50 * i - 50) * tick_ns, i - 1);
		NONE_DUE(w, (50 * i + 49) * tick_ns);
	}
	assert_true(timer_queue_next_ns(&w->q) == INT64_MAX);
}

/* Many children of one parent are merged without recursion. */
static void test_timer_queue_long_chains(void **state)
{
	struct world *w = *state;

	for (int i = 0; i < MANY; i++)
		start(w, i, i); /* all below the first */
	for (int i = 0; i < MANY; i += 2)
		timer_queue_cancel(&w->items[i].timer);
	for (int i = 0; i < MANY; i += 2)
		start(w, i, -i); /* each above all others */
	w->count = 0;
	while (timer_queue_run_one(&w->q, MANY))
		;
	assert_int_equal(w->count, MANY);
	for (int i = 0; i < MANY / 2; i++) {
		assert_int_equal(w->ran[i], MANY - 2 * (i + 1));
		assert_int_equal(w->ran[MANY / 2 + i], 2 * i + 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timer_queue_empty, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_runs_in_order_of_time, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_equal_times_run_as_started, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_cancelled_does_not_run, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_restart_moves_a_timer, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_handler_restarts_its_own, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_handler_cancels_another, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_handler_starts_another, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_timer_queue_far_times,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_handler_releases_its_own, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_agrees_with_a_list, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_agrees_with_a_list_over_years, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_far_ones_are_cancelled, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_timer_queue_time_passes_before_far_ones, setup,
			teardown),
		cmocka_unit_test_setup_teardown(test_timer_queue_long_chains,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
