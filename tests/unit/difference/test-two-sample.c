#include "control/server/difference/two_sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static double distance_test(size_t n, size_t shifted)
{
	double a[100], b[100];

	for (size_t i = 0; i < n; i++) {
		a[i] = (double)i;
		b[i] = (double)(i + shifted);
	}
	return two_sample_ks(a, n, b, n);
}

/* Two samples of equal size n, D = k/n. Gnedenko and Korolyuk (1951):
 * p = 2 (C(2n, n-k) - C(2n, n-2k) + ...) / C(2n, n). */
static void test_ks_equal_sizes(void **state)
{
	(void)state;
	assert_float_equal(distance_test(10, 7), 2.0 * 1140 / 184756, 1e-12);
	assert_float_equal(distance_test(10, 6), 2.0 * 4845 / 184756, 1e-12);
	assert_float_equal(distance_test(10, 5), 2.0 * (15504 - 1) / 184756,
			   1e-12);
	assert_float_equal(distance_test(10, 10), 2.0 / 184756, 1e-12);
	assert_float_equal(distance_test(4, 4), 2.0 / 70, 1e-12);
}

/* Sizes 3 and 5, all of one sample below the other: 2 of C(8, 3) orders. */
static void test_ks_unequal_sizes(void **state)
{
	const double a[] = {1, 2, 3}, b[] = {4, 5, 6, 7, 8};
	const double c[] = {2.5, 2.6, 2.7};

	(void)state;
	assert_float_equal(two_sample_ks(a, 3, b, 5), 2.0 / 56, 1e-12);
	assert_float_equal(two_sample_ks_smallest(3, 5), 2.0 / 56, 1e-12);
	/* one sample within a gap of the other: D = 2/3, C(6, 3) = 20 orders
	 * of which those with D >= 2/3 are 12 */
	assert_float_equal(two_sample_ks(a, 3, c, 3), 12.0 / 20, 1e-12);
}

/* The same values, and values of a few steps only. */
static void test_ks_equal_values(void **state)
{
	const double a[] = {0, 0, 0, 0, 0, 20, 20}, b[] = {0, 0, 0, 20, 20, 20};

	(void)state;
	assert_float_equal(two_sample_ks(a, 7, a, 7), 1, 0);
	assert_true(two_sample_ks(a, 7, b, 6) > 0.5);
}

/* Above TWO_SAMPLE_EXACT_MAX: Kolmogorov's limit, Q(1.36) = 0.0495 (Smirnov's
 * table, 1948: the 5 % point is 1.358). */
static void test_ks_limit(void **state)
{
	enum {
		N = 2000
	};
	double *a = calloc(N, sizeof(*a)), *b = calloc(N, sizeof(*b)), p;

	(void)state;
	/* D = 86 / 2000: sqrt(n / 2) D = 1.36 */
	for (size_t i = 0; i < N; i++) {
		a[i] = (double)i;
		b[i] = (double)(i + 86);
	}
	p = two_sample_ks(a, N, b, N);
	assert_float_equal(p, 0.0495, 0.002);
	free(a);
	free(b);
}

/* Fisher's tea test: 3 of 4 against 1 of 4 gives 34/70, 4 of 4 against none
 * 2/70 (The Design of Experiments, 1935). */
static void test_share(void **state)
{
	(void)state;
	assert_float_equal(two_sample_share(3, 4, 1, 4), 34.0 / 70, 1e-9);
	assert_float_equal(two_sample_share(4, 4, 0, 4), 2.0 / 70, 1e-9);
	assert_float_equal(two_sample_share(0, 5, 0, 9), 1, 1e-9);
	/* unequal rows: hypergeometric by hand, 1 / C(12, 2) * (C(10, 2)) */
	assert_float_equal(two_sample_share(2, 2, 0, 10), 1.0 / 66, 1e-9);
}

static void test_quantile(void **state)
{
	double v[] = {4, 1, 3, 2};

	(void)state;
	two_sample_sort(v, 4);
	assert_float_equal(v[0], 1, 0);
	assert_float_equal(two_sample_quantile(v, 4, 0.5), 2.5, 1e-12);
	assert_float_equal(two_sample_quantile(v, 4, 0), 1, 0);
	assert_float_equal(two_sample_quantile(v, 4, 1), 4, 0);
	assert_float_equal(two_sample_quantile(v, 1, 0.95), 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ks_equal_sizes),
		cmocka_unit_test(test_ks_unequal_sizes),
		cmocka_unit_test(test_ks_equal_values),
		cmocka_unit_test(test_ks_limit),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_quantile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
