#include "media/analysis/distribution.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "media/analysis/sketch.h"
#include "tests/unit/analysis/random.h"

static void near(double got, double want, double tolerance)
{
	if (fabs(got - want) > tolerance)
		fail_msg("got %.12g, expected %.12g", got, want);
}

/* Expected values are from numpy.percentile and statistics.pstdev. */
static void test_samples_exact(void **state)
{
	double x[] = {4, 1, 3, 2};
	double one[] = {7};
	struct distribution d;

	(void)state;
	distribution_of_samples(&d, x, 4);
	assert_int_equal(d.n, 4);
	near(d.min, 1, 0);
	near(d.max, 4, 0);
	near(d.avg, 2.5, 0);
	near(d.median, 2.5, 0);
	near(d.p75, 3.25, 1e-12);
	near(d.p90, 3.7, 1e-12);
	near(d.p95, 3.85, 1e-12);
	near(d.stddev, 1.118033988749895, 1e-12);
	distribution_of_samples(&d, one, 1);
	near(d.median, 7, 0);
	near(d.p95, 7, 0);
	near(d.stddev, 0, 0);
	distribution_of_samples(&d, one, 0);
	assert_int_equal(d.n, 0);
}

static void test_sort_any_length(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (size_t n = 0; n < 300; n++) {
		double x[300];

		for (size_t i = 0; i < n; i++)
			x[i] = random_below(&seed, 50);
		samples_sort(x, n);
		for (size_t i = 1; i < n; i++)
			assert_true(x[i - 1] <= x[i]);
	}
}

static void test_moments_merge_exactly(void **state)
{
	struct moments all = {0};
	struct moments part[3] = {{0}};
	uint64_t seed = 9;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		double x = 1e6 + random_unit(&seed);

		moments_add(&all, x);
		moments_add(&part[random_below(&seed, 2)], x);
	}
	moments_merge(&part[0], &part[1]);
	moments_merge(&part[0], &part[2]); /* an empty part */
	assert_int_equal(part[0].n, 1000);
	near(part[0].mean, all.mean, 1e-9);
	near(moments_stddev(&part[0]), moments_stddev(&all), 1e-9);
	near(moments_stddev(&all), 0.2886, 0.02);
	near(part[0].min, all.min, 0);
	near(part[0].max, all.max, 0);
}

static void test_histogram_error_bound(void **state)
{
	static struct histogram h;
	static double x[5000];
	uint64_t seed = 11;

	(void)state;
	memset(&h, 0, sizeof(h));
	for (size_t i = 0; i < 5000; i++) {
		/* 0.1 us to 10 s, uniform on a logarithmic scale */
		x[i] = pow(10, 8 * random_unit(&seed) - 4);
		histogram_add(&h, x[i]);
	}
	samples_sort(x, 5000);
	for (double p = 0; p <= 1.0; p += 0.01) {
		double want = percentile(x, 5000, p);

		near(histogram_percentile(&h, p), want, 0.016 * want + 0.0006);
	}
}

static void test_histogram_edges(void **state)
{
	static struct histogram h;
	struct distribution d;

	(void)state;
	memset(&h, 0, sizeof(h));
	distribution_of_histogram(&d, &h);
	assert_int_equal(d.n, 0);
	histogram_add(&h, 5.0);
	distribution_of_histogram(&d, &h);
	near(d.median, 5.0, 0); /* a single value is exact */
	near(d.p95, 5.0, 0);
	histogram_add(&h, 1e12); /* beyond the range: still counted */
	histogram_add(&h, 0.0);
	assert_int_equal(h.moments.n, 3);
	near(histogram_percentile(&h, 1.0), 1e12, 0);
	near(histogram_percentile(&h, 0.0), 0.0, 0);
	near(histogram_percentile(&h, 0.5), 5.0, 0.08);
}

#define PARTS 5

/* Merge as the controller does: from the buckets that an agent sends. */
static void merge(struct sketch *into, const struct sketch *from)
{
	assert_int_equal(sketch_add_bucket(into, 0, 0, (uint32_t)from->zeros),
			 0);
	for (int sign = -1; sign <= 1; sign += 2) {
		size_t cursor = 0;
		uint32_t count;
		int index;

		while (sketch_next(from, sign, &cursor, &index, &count))
			assert_int_equal(
				sketch_add_bucket(into, sign, index, count), 0);
	}
}

static void test_sketch_merge_in_any_order(void **state)
{
	static struct sketch part[PARTS];
	static struct sketch left;
	static struct sketch right;
	static struct sketch all;
	uint64_t seed = 13;

	(void)state;
	memset(part, 0, sizeof(part));
	memset(&all, 0, sizeof(all));
	for (int i = 0; i < 5000; i++) {
		double x = 40 * random_unit(&seed) - 10;

		x = i % 50 == 0 ? 0.0 : x;
		sketch_add(&part[random_below(&seed, PARTS)], x);
		sketch_add(&all, x);
	}
	memset(&left, 0, sizeof(left));
	for (int i = 0; i < PARTS; i++)
		merge(&left, &part[i]);
	/* ((4+3)+(2+(1+0))) */
	merge(&part[1], &part[0]);
	merge(&part[2], &part[1]);
	merge(&part[4], &part[3]);
	right = part[4];
	merge(&right, &part[2]);
	assert_memory_equal(&left, &right, sizeof(left));
	assert_memory_equal(&left, &all, sizeof(left));
	assert_int_equal(left.n, 5000);
}

static void assert_same_counts(const struct histogram *a,
			       const struct histogram *b)
{
	assert_memory_equal(a->counts, b->counts, sizeof(a->counts));
	assert_int_equal(a->moments.n, b->moments.n);
	near(a->moments.min, b->moments.min, 0);
	near(a->moments.max, b->moments.max, 0);
	near(a->moments.mean, b->moments.mean, 1e-9);
	near(moments_stddev(&a->moments), moments_stddev(&b->moments), 1e-9);
}

/* Samples added one by one and in blocks give the same histogram. */
static void test_histogram_of_blocks(void **state)
{
	static struct histogram blocks, all;
	uint64_t seed = 19;

	(void)state;
	memset(&blocks, 0, sizeof(blocks));
	memset(&all, 0, sizeof(all));
	for (int i = 0; i < 800; i++) {
		size_t n = random_below(&seed, 20);
		double x[20];

		for (size_t k = 0; k < n; k++) {
			x[k] = pow(10, 6 * random_unit(&seed) - 3);
			histogram_add(&all, x[k]);
		}
		histogram_add_block(&blocks, x, n);
	}
	assert_same_counts(&blocks, &all);
}

/* More parts than lie in a stream, and rubbish where the others will be. */
struct sparse_room {
	struct count_parts parts;
	struct count_part more[2 * HISTOGRAM_PARTS - COUNT_PARTS_FIRST];
};

static void sparse_room_init(struct sparse_room *room)
{
	memset(room, 0xa5, sizeof(*room));
	count_parts_init(&room->parts, room->more);
}

static void assert_same_sparse(const struct histogram *a,
			       const struct sparse_histogram *b,
			       struct sparse_room *room)
{
	struct histogram copy;
	struct distribution want;
	struct distribution got;

	sparse_histogram_copy(&copy, b, &room->parts);
	assert_same_counts(a, &copy);
	distribution_of_histogram(&want, &copy);
	distribution_of_sparse(&got, b, &room->parts);
	assert_memory_equal(&want, &got, sizeof(want));
}

/* Two sparse histograms that share their parts are two histograms. */
static void test_sparse_histograms_are_histograms(void **state)
{
	static struct sparse_room room;
	static struct histogram all[2];
	static struct sparse_histogram sparse[2];
	uint64_t seed = 23;

	(void)state;
	sparse_room_init(&room);
	memset(all, 0, sizeof(all));
	memset(sparse, 0, sizeof(sparse));
	for (int i = 0; i < 3000; i++) {
		/* from the linear buckets to beyond the last one */
		double scale = pow(10, 9 * random_unit(&seed) - 4);
		size_t which = random_below(&seed, 2);
		size_t n = 1 + random_below(&seed, 20);
		double x[20];

		for (size_t k = 0; k < n; k++) {
			x[k] = scale * (1 + random_unit(&seed));
			histogram_add(&all[which], x[k]);
		}
		if (i % 3 == 0) {
			for (size_t k = 0; k < n; k++)
				sparse_histogram_add(&sparse[which],
						     &room.parts, x[k]);
		} else {
			sparse_histogram_add_block(&sparse[which], &room.parts,
						   x, n);
		}
		if (i % 100 == 0)
			assert_same_sparse(&all[which], &sparse[which], &room);
	}
	assert_int_equal(room.parts.used, 2 * HISTOGRAM_PARTS);
	for (size_t which = 0; which < 2; which++)
		assert_same_sparse(&all[which], &sparse[which], &room);
}

/* A steady stream touches no memory but its own. */
static void test_sparse_histogram_takes_few_parts(void **state)
{
	static struct sparse_room room;
	static struct sparse_histogram h;
	uint64_t seed = 29;

	(void)state;
	sparse_room_init(&room);
	memset(&h, 0, sizeof(h));
	for (int i = 0; i < 10000; i++) {
		double x = 2 + 2 * random_unit(&seed);

		sparse_histogram_add_block(&h, &room.parts, &x, 1);
	}
	assert_int_equal(h.moments.n, 10000);
	assert_int_equal(room.parts.used, 3); /* 2 to 4 ms: an octave */
}

static void test_sketch_error_bound(void **state)
{
	static struct sketch s;
	static double x[4001];
	uint64_t seed = 17;

	(void)state;
	memset(&s, 0, sizeof(s));
	for (size_t i = 0; i < 4001; i++) {
		x[i] = pow(10, 9 * random_unit(&seed) - 4);
		if (i % 3 == 0)
			x[i] = -x[i];
		sketch_add(&s, x[i]);
	}
	samples_sort(x, 4001);
	for (size_t i = 0; i <= 40; i++) { /* ranks without interpolation */
		double want = x[i * 100];

		near(sketch_quantile(&s, (double)i / 40), want,
		     fabs(want) * SKETCH_ACCURACY * 1.000001);
	}
}

static void test_sketch_round_trip_of_buckets(void **state)
{
	static struct sketch from;
	static struct sketch to;
	size_t cursor;
	uint32_t count;
	int index;

	(void)state;
	memset(&from, 0, sizeof(from));
	memset(&to, 0, sizeof(to));
	sketch_add(&from, 0.0);
	sketch_add(&from, 1.0);
	sketch_add(&from, -20.5);
	sketch_add(&from, 1e300);
	sketch_add(&from, 1e-8);
	sketch_add(&from, NAN);
	assert_int_equal(from.n, 5);
	for (int sign = -1; sign <= 1; sign += 2) {
		cursor = 0;
		while (sketch_next(&from, sign, &cursor, &index, &count))
			assert_int_equal(
				sketch_add_bucket(&to, sign, index, count), 0);
	}
	assert_int_equal(sketch_add_bucket(&to, 0, 0, (uint32_t)from.zeros), 0);
	assert_memory_equal(&from, &to, sizeof(from));
	assert_true(sketch_add_bucket(&to, 1, SKETCH_INDEX_MAX + 1, 1) < 0);
	assert_true(sketch_add_bucket(&to, 2, 0, 1) < 0);
	cursor = 0;
	assert_int_equal(sketch_next(&from, -1, &cursor, &index, &count), 1);
	/* docs/internals/wire.md: ceil(log(20.5)/log(g)) */
	assert_int_equal(index, 152);
	near(sketch_quantile(&from, 0.0), -20.5, 0.205);
}

/* Many equal samples, sorted samples, small steps between them. */
static void test_median_of_any_order(void **state)
{
	static double x[3000];
	static double sorted[3000];
	uint64_t seed = 5;

	(void)state;
	for (size_t round = 0; round < 2000; round++) {
		size_t n = 1 + random_below(&seed, round < 1900 ? 40 : 3000);
		uint32_t values = 1 + random_below(&seed, 2 * (uint32_t)n);
		uint32_t kind = random_below(&seed, 4);

		for (size_t i = 0; i < n; i++) {
			x[i] = kind == 0   ? (double)i
			       : kind == 1 ? (double)(n - i)
			       : kind == 2 ? (double)(i % 2 ? i : n - i)
					   : random_below(&seed, values) - 5.0;
			sorted[i] = x[i];
		}
		samples_sort(sorted, n);
		near(samples_median(x, n), percentile(sorted, n, 0.5), 0);
		samples_sort(x, n); /* no sample is lost */
		assert_memory_equal(x, sorted, n * sizeof(*x));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median_of_any_order),
		cmocka_unit_test(test_samples_exact),
		cmocka_unit_test(test_sort_any_length),
		cmocka_unit_test(test_moments_merge_exactly),
		cmocka_unit_test(test_histogram_error_bound),
		cmocka_unit_test(test_histogram_edges),
		cmocka_unit_test(test_sketch_merge_in_any_order),
		cmocka_unit_test(test_histogram_of_blocks),
		cmocka_unit_test(test_sparse_histograms_are_histograms),
		cmocka_unit_test(test_sparse_histogram_takes_few_parts),
		cmocka_unit_test(test_sketch_error_bound),
		cmocka_unit_test(test_sketch_round_trip_of_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
