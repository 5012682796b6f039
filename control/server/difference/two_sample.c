#include "control/server/difference/two_sample.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void two_sample_sort(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
}

double two_sample_quantile(const double *values, size_t count, double p)
{
	double rank = p * (double)(count - 1);
	size_t low = (size_t)rank;

	if (low + 1 >= count)
		return values[count - 1];
	return values[low] +
	       (values[low + 1] - values[low]) * (rank - (double)low);
}

/* The largest distance of the distribution functions, in units of
 * 1 / (a_count * b_count): an integer, so that it compares exactly. */
static uint64_t distance(const double *a, size_t a_count, const double *b,
			 size_t b_count)
{
	uint64_t largest = 0;
	size_t i = 0, k = 0;

	while (i < a_count && k < b_count) {
		double x = a[i] < b[k] ? a[i] : b[k];
		uint64_t f, g, d;

		while (i < a_count && a[i] <= x)
			i++;
		while (k < b_count && b[k] <= x)
			k++;
		f = (uint64_t)i * b_count;
		g = (uint64_t)k * a_count;
		d = f > g ? f - g : g - f;
		if (d > largest)
			largest = d;
	}
	return largest;
}

/* The share of the lattice paths from (0, 0) to (n, m) that come as far from
 * the diagonal as d. within[k] is, for a row i, the share of the paths to
 * (i, k) that stay nearer.
 * @return -1: out of memory */
static double exact(uint64_t d, size_t n, size_t m)
{
	double *within = calloc(m + 1, sizeof(*within)), p;

	if (!within)
		return -1;
	for (size_t i = 0; i <= n; i++) {
		for (size_t k = 0; k <= m; k++) {
			uint64_t f = (uint64_t)i * m, g = (uint64_t)k * n;
			double steps = (double)(i + k);

			if ((f > g ? f - g : g - f) >= d)
				within[k] = 0;
			else if (i + k == 0)
				within[k] = 1;
			else
				within[k] = within[k] * (double)i / steps +
					    (k ? within[k - 1] : 0) *
						    (double)k / steps;
		}
	}
	p = 1 - within[m];
	free(within);
	return p < 0 ? 0 : p;
}

/* Kolmogorov's limit distribution with the correction of Stephens. */
static double limit(double d, size_t n, size_t m)
{
	double root = sqrt((double)n * (double)m / (double)(n + m));
	double x = (root + 0.12 + 0.11 / root) * d, sum = 0;

	if (x < 0.2)
		return 1; /* the series converges too slowly; it is 1 there */
	for (int j = 1; j <= 100; j++)
		sum += (j % 2 ? 2 : -2) * exp(-2.0 * j * j * x * x);
	return sum < 0 ? 0 : sum > 1 ? 1 : sum;
}

double two_sample_ks(const double *a, size_t a_count, const double *b,
		     size_t b_count)
{
	uint64_t d = distance(a, a_count, b, b_count);
	double p = -1;

	if (d == 0)
		return 1;
	if ((uint64_t)a_count * b_count <= TWO_SAMPLE_EXACT_MAX)
		p = exact(d, a_count, b_count);
	if (p < 0)
		p = limit((double)d / ((double)a_count * (double)b_count),
			  a_count, b_count);
	return p;
}

static double log_choose(size_t n, size_t k)
{
	return lgamma((double)n + 1) - lgamma((double)k + 1) -
	       lgamma((double)(n - k) + 1);
}

double two_sample_ks_smallest(size_t a_count, size_t b_count)
{
	return 2 * exp(-log_choose(a_count + b_count, a_count));
}

double two_sample_share(size_t a_hits, size_t a_count, size_t b_hits,
			size_t b_count)
{
	size_t hits = a_hits + b_hits, all = a_count + b_count;
	size_t low = hits > b_count ? hits - b_count : 0;
	size_t high = hits < a_count ? hits : a_count;
	double whole = log_choose(all, hits), p = 0;
	double seen = log_choose(a_count, a_hits) +
		      log_choose(b_count, b_hits) - whole;

	for (size_t k = low; k <= high; k++) {
		double x = log_choose(a_count, k) +
			   log_choose(b_count, hits - k) - whole;

		if (x <= seen + 1e-9) /* rounding of lgamma() */
			p += exp(x);
	}
	return p > 1 ? 1 : p;
}
