#include "media/analysis/pattern.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "media/analysis/jitter_buffer.h"
#include "media/analysis/skew.h"
#include "tests/unit/analysis/random.h"

#define N 600

/*
 * Bursts and gaps by the definition, on the whole map: a bad packet belongs to
 * a burst if another bad packet is near, with fewer than Gmin good packets
 * between the two.
 */
static void by_definition(const bool *good, struct burst_gap *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < N;) {
		size_t last = i;
		size_t bad = 0;

		if (!good[i]) {
			bad = 1;
			for (size_t k = i + 1;
			     k < N && k - last <= PATTERN_GMIN; k++) {
				if (!good[k]) {
					last = k;
					bad++;
				}
			}
		}
		if (bad >= 2) {
			ret->bursts++;
			ret->burst_bad += bad;
			ret->burst_packets += last - i + 1;
			if (ret->gap_open > 0)
				ret->gaps++;
			ret->gap_open = 0;
		} else {
			ret->gap_open++;
			ret->gap_packets++;
			ret->gap_bad += bad;
		}
		i = last + 1;
	}
	if (ret->gap_open > 0)
		ret->gaps++;
}

static void test_burst_gap_equals_definition(void **state)
{
	static struct loss_pattern p;
	uint64_t seed = 3611;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		uint32_t often = 1 + random_below(&seed, 120);
		struct loss_runs runs = {0};
		struct burst_gap want;
		bool good[N];

		pattern_init(&p);
		for (size_t i = 0; i < N; i++) {
			/*
			 * the first and the last packet must be received to be
			 * known; a discarded packet is received and bad
			 */
			good[i] = random_below(&seed, often + 1) != 0;
			loss_runs_add(&runs, !good[i]);
			if (good[i] || i == 0 || i == N - 1 ||
			    random_below(&seed, 2))
				pattern_add(&p, (int64_t)i, false, good[i]);
		}
		pattern_finish(&p);
		by_definition(good, &want);
		assert_int_equal(p.packets, N);
		assert_int_equal(p.runs.lost, runs.lost);
		assert_int_equal(p.runs.runs, runs.runs);
		assert_int_equal(p.runs.longest, runs.longest);
		assert_int_equal(p.burst_gap.bursts, want.bursts);
		assert_int_equal(p.burst_gap.burst_packets, want.burst_packets);
		assert_int_equal(p.burst_gap.burst_bad, want.burst_bad);
		assert_int_equal(p.burst_gap.gaps, want.gaps);
		assert_int_equal(p.burst_gap.gap_packets, want.gap_packets);
		assert_int_equal(p.burst_gap.gap_bad, want.gap_bad);
	}
}

#define LONG_RUNS_MAX 200

/* A pattern with room for every long run of a test. */
struct histogram_room {
	struct run_histogram histogram;
	struct run_length longer[LONG_RUNS_MAX];
};

static void with_histogram(struct loss_pattern *p, struct histogram_room *room)
{
	memset(room, 0, sizeof(*room));
	room->histogram.longer = room->longer;
	room->histogram.room = LONG_RUNS_MAX;
	p->histogram = &room->histogram;
}

static void same_histogram(const struct run_histogram *a,
			   const struct run_histogram *b)
{
	assert_memory_equal(a->shorter, b->shorter, sizeof(a->shorter));
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->left_out + b->left_out, 0);
	if (a->count > 0)
		assert_memory_equal(a->longer, b->longer,
				    a->count * sizeof(a->longer[0]));
}

static void compare_patterns(const struct loss_pattern *a,
			     const struct loss_pattern *b)
{
	assert_int_equal(a->packets, b->packets);
	assert_memory_equal(&a->runs, &b->runs, sizeof(a->runs));
	same_histogram(a->histogram, b->histogram);
	assert_int_equal(a->after_good, b->after_good);
	assert_int_equal(a->after_bad, b->after_bad);
	assert_int_equal(a->good_to_bad, b->good_to_bad);
	assert_int_equal(a->bad_to_good, b->bad_to_good);
	assert_memory_equal(&a->burst_gap, &b->burst_gap, sizeof(a->burst_gap));
}

/*
 * A gap that is added at once gives the same result as its numbers added one by
 * one.
 */
static void test_long_gaps_at_once(void **state)
{
	static struct loss_pattern late;
	static struct loss_pattern early;
	static struct histogram_room late_room;
	static struct histogram_room early_room;
	uint64_t seed = 8;

	(void)state;
	for (int round = 0; round < 500; round++) {
		int32_t settle = 1 + (int32_t)random_below(&seed, 200);
		int64_t at = (int64_t)random_below(&seed, 70000);

		pattern_init(&late);
		pattern_init_settling(&early, settle);
		with_histogram(&late, &late_room);
		with_histogram(&early, &early_room);
		for (int i = 0; i < 200; i++) {
			bool good = random_below(&seed, 10) != 0;
			bool segment = random_below(&seed, 50) == 0;

			at += 1 + (random_below(&seed, 5)
					   ? 0
					   : random_below(&seed, 900));
			pattern_add(&late, at, segment, good);
			pattern_add(&early, at, segment, good);
		}
		pattern_finish(&late);
		pattern_finish(&early);
		compare_patterns(&late, &early);
	}
}

static void test_runs_in_the_histogram(void **state)
{
	static struct loss_pattern p;
	static struct histogram_room room;
	const struct run_histogram *h = &room.histogram;
	uint64_t lost = 0;

	(void)state;
	pattern_init(&p);
	with_histogram(&p, &room);
	pattern_add(&p, 0, false, true);
	pattern_add(&p, 2, false, true);    /* 1 */
	pattern_add(&p, 6, false, true);    /* 3 */
	pattern_add(&p, 5006, false, true); /* 4999 */
	pattern_add(&p, 5008, false, true);
	pattern_finish(&p);
	assert_int_equal(h->shorter[1], 2);
	assert_int_equal(h->shorter[3], 1);
	assert_int_equal(h->count, 1);
	assert_int_equal(h->longer[0].length, 4999);
	assert_int_equal(h->longer[0].runs, 1);
	for (uint64_t i = 1; i < RUN_LENGTHS_SHORT; i++)
		lost += i * h->shorter[i];
	assert_int_equal(lost + 4999, p.runs.lost);
}

/*
 * More long runs than any table of fixed size would hold, of many lengths in no
 * order: every one is counted, sorted by length.
 */
static void test_every_long_run_is_counted(void **state)
{
	static struct loss_pattern p;
	static struct histogram_room room;
	const struct run_histogram *h = &room.histogram;
	uint64_t lost = 0;
	uint64_t runs = 0;
	int64_t at = 0;

	(void)state;
	pattern_init(&p);
	with_histogram(&p, &room);
	for (int i = 0; i < 600; i++) {
		pattern_add(&p, at, false, true);
		at += 1 + 256 + (int64_t)i * 7 % 150;
	}
	pattern_add(&p, at, false, true);
	pattern_finish(&p);
	for (size_t i = 0; i < h->count; i++) {
		assert_int_equal(h->longer[i].length, 256 + i);
		assert_int_equal(h->longer[i].runs, 4);
		lost += h->longer[i].length * h->longer[i].runs;
		runs += h->longer[i].runs;
	}
	assert_int_equal(h->count, 150);
	assert_int_equal(h->left_out, 0);
	assert_int_equal(runs, p.runs.runs);
	assert_int_equal(lost, p.runs.lost);
}

/*
 * A run for which there is no memory is reported as left out, and no other
 * count changes.
 */
static void test_long_run_without_room_is_left_out(void **state)
{
	static struct run_histogram h;
	struct run_length one;

	(void)state;
	h.longer = &one;
	h.room = 1;
	run_histogram_add(&h, 70000);
	run_histogram_add(&h, 300);
	run_histogram_add(&h, 70000);
	run_histogram_add(&h, 255);
	assert_int_equal(h.left_out, 1);
	assert_int_equal(h.count, 1);
	assert_int_equal(one.length, 70000);
	assert_int_equal(one.runs, 2);
	assert_int_equal(h.shorter[255], 1);
}

static void test_gilbert_of_alternation(void **state)
{
	static struct loss_pattern p;
	double a;
	double b;
	double r;

	(void)state;
	pattern_init(&p);
	pattern_add(&p, 0, false, true);
	pattern_add(&p, 1, false, true);
	pattern_finish(&p);
	assert_false(pattern_gilbert(&p, &a, &b, &r));
	pattern_init(&p);
	for (int64_t i = 0; i <= 100; i++)
		pattern_add(&p, i, false, i % 2 == 0);
	pattern_finish(&p);
	assert_true(pattern_gilbert(&p, &a, &b, &r));
	assert_true(a == 1.0 && b == 1.0 && r == 1.0);
}

static void test_fixed_buffer(void **state)
{
	struct jb_fixed j;

	(void)state;
	jb_fixed_init(&j, 60);
	assert_int_equal(jb_fixed_update(&j, 0), JB_PLAYED);
	assert_int_equal(jb_fixed_update(&j, 60), JB_PLAYED);
	assert_int_equal(jb_fixed_update(&j, 60.001), JB_LATE);
	assert_int_equal(jb_fixed_update(&j, -140), JB_PLAYED);
	assert_int_equal(jb_fixed_update(&j, -140.001), JB_EARLY);
	for (int i = 0; i < JB_FIXED_REANCHOR; i++)
		jb_fixed_update(&j, 500);
	assert_int_equal(j.resyncs, 1); /* the early packet was the first of
					 * 50 */
	assert_int_equal(j.late, JB_FIXED_REANCHOR);
	assert_int_equal(jb_fixed_update(&j, 560), JB_PLAYED);
}

/* A long one has as much room for early packets as a short one. */
static void test_fixed_buffer_has_room_whatever_its_delay(void **state)
{
	static const double delays_ms[] = {1, 60, 199, 200};

	(void)state;
	for (size_t i = 0; i < sizeof(delays_ms) / sizeof(*delays_ms); i++) {
		struct jb_fixed j;

		jb_fixed_init(&j, delays_ms[i]);
		assert_int_equal(jb_fixed_update(&j, 0), JB_PLAYED);
		assert_int_equal(jb_fixed_update(&j, -140), JB_PLAYED);
		assert_int_equal(jb_fixed_update(&j, -140.001), JB_EARLY);
		assert_int_equal(jb_fixed_update(&j, delays_ms[i]), JB_PLAYED);
		assert_int_equal(jb_fixed_update(&j, delays_ms[i] + 0.001),
				 JB_LATE);
	}
}

static void test_adaptive_buffer_follows(void **state)
{
	struct jb_adaptive j;

	(void)state;
	jb_adaptive_init(&j);
	for (int i = 0; i < 500; i++)
		assert_int_equal(jb_adaptive_update(&j, 0, 20), JB_PLAYED);
	assert_true(fabs(jb_adaptive_delay_ms(&j) - 20) < 1e-9);
	assert_int_equal(jb_adaptive_update(&j, 100, 20), JB_LATE);
	for (int i = 0; i < 50; i++)
		jb_adaptive_update(&j, 100, 20);
	assert_int_equal(jb_adaptive_update(&j, 100, 20), JB_PLAYED);
	assert_true(j.playout_ms <= j.min_ms + 200);
}

#define WINDOWS SKEW_WINDOWS_CAPTURE

static struct skew_point points[2 * WINDOWS];
static double scratch[SKEW_SCRATCH(WINDOWS)];

/* 150 ppm fast, 5 ms of noise, a stall of 400 ms. */
static double fast_transit(int i, uint64_t *seed)
{
	double transit = i * 20.0 * (1 / 1.000150 - 1) + 5 * random_unit(seed);

	return i > 2000 && i < 2020 ? transit + 400 : transit;
}

/* 100 and 1000 s: captures keep 512 windows, live streams 64 */
static void test_skew_of_a_fast_sender(void **state)
{
	static const size_t windows[] = {SKEW_WINDOWS_CAPTURE,
					 SKEW_WINDOWS_LIVE};
	struct skew s;
	uint64_t seed = 99;
	double ppm = 0;

	(void)state;
	for (int packets = 5000; packets <= 50000; packets *= 10) {
		for (size_t w = 0; w < 2; w++) {
			skew_init(&s, points, points + windows[w], windows[w]);
			for (int i = 0; i < packets; i++)
				skew_add(&s, i == 0, i * 20.0,
					 fast_transit(i, &seed));
			assert_true(skew_ppm(&s, scratch, &ppm));
			assert_true(fabs(ppm - 150) < 5);
		}
	}
	skew_init(&s, points, points + WINDOWS, WINDOWS);
	for (int i = 0; i < 200; i++)
		skew_add(&s, i == 0, i * 20.0, 0);
	assert_false(skew_ppm(&s, scratch, &ppm)); /* 4 s */
}

/*
 * The longest epoch (one constant timestamp reference) counts, wherever in the
 * stream it is.
 */
static void test_skew_of_the_longest_epoch(void **state)
{
	static const int lengths[] = {500, 3000, 400, 1000};

	(void)state;
	for (int longest = 0; longest < 4; longest++) {
		struct skew s;
		double ppm = 0;

		skew_init(&s, points, points + SKEW_WINDOWS_LIVE,
			  SKEW_WINDOWS_LIVE);
		for (int e = 0; e < 4; e++) {
			int n = lengths[(e + longest) % 4];
			double slope = n == 3000 ? -200e-6 : 900e-6;

			for (int i = 0; i < n; i++)
				skew_add(&s, i == 0, i * 20.0,
					 i * 20.0 * slope);
		}
		assert_true(skew_ppm(&s, scratch, &ppm));
		assert_true(fabs(ppm - 200) < 0.1);
	}
}

/*
 * Ten seconds of media arrive at the same instant: no clock runs that fast, so
 * no skew is reported.
 */
static void test_skew_of_packets_at_once(void **state)
{
	struct skew s;
	double ppm;

	(void)state;
	skew_init(&s, points, points + WINDOWS, WINDOWS);
	for (int i = 0; i < 500; i++)
		skew_add(&s, i == 0, i * 20.0, -i * 20.0);
	assert_false(skew_ppm(&s, scratch, &ppm));
}

/* A packet every five seconds: every window of two seconds has at most one. */
static void test_skew_of_points_far_apart(void **state)
{
	static struct skew_point few[2 * SKEW_WINDOWS_LIVE + 1];
	struct skew s;
	double ppm = 0;

	(void)state;
	few[2 * SKEW_WINDOWS_LIVE].media_ms = 7; /* the entry after the last:
						  * must not be written */
	for (int epoch = 0; epoch < 2; epoch++) {
		skew_init(&s, few, few + SKEW_WINDOWS_LIVE, SKEW_WINDOWS_LIVE);
		for (int i = 0; i < 2000; i++)
			skew_add(&s, i == 0, i * 5000.0, i * 5000.0 * 1e-4);
		assert_true(s.now.n <= SKEW_WINDOWS_LIVE);
		assert_true(skew_ppm(&s, scratch, &ppm));
		assert_true(fabs(ppm + 100) < 0.1);
	}
	assert_true(few[2 * SKEW_WINDOWS_LIVE].media_ms == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst_gap_equals_definition),
		cmocka_unit_test(test_long_gaps_at_once),
		cmocka_unit_test(test_runs_in_the_histogram),
		cmocka_unit_test(test_every_long_run_is_counted),
		cmocka_unit_test(test_long_run_without_room_is_left_out),
		cmocka_unit_test(test_gilbert_of_alternation),
		cmocka_unit_test(test_fixed_buffer),
		cmocka_unit_test(test_fixed_buffer_has_room_whatever_its_delay),
		cmocka_unit_test(test_adaptive_buffer_follows),
		cmocka_unit_test(test_skew_of_a_fast_sender),
		cmocka_unit_test(test_skew_of_the_longest_epoch),
		cmocka_unit_test(test_skew_of_points_far_apart),
		cmocka_unit_test(test_skew_of_packets_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
