#include "media/analysis/distribution.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void moments_add(struct moments *m, double x)
{
	double delta = x - m->mean;

	if (m->n == 0 || x < m->min)
		m->min = x;
	if (m->n == 0 || x > m->max)
		m->max = x;
	m->n++;
	m->mean += delta / (double)m->n;
	m->m2 += delta * (x - m->mean);
}

void moments_merge(struct moments *into, const struct moments *from)
{
	double delta = from->mean - into->mean;
	uint64_t n = into->n + from->n;
	double part;

	if (from->n == 0)
		return;
	if (into->n == 0) {
		*into = *from;
		return;
	}
	part = (double)from->n / (double)n;
	into->mean += delta * part;
	into->m2 += from->m2 + delta * delta * (double)into->n * part;
	into->n = n;
	if (from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
}

/* Two samples at once. */
typedef double pair __attribute__((vector_size(16), aligned(8)));

static inline pair pair_at(const double *x)
{
	pair v;

	memcpy(&v, x, sizeof(v));
	return v;
}

/* Sums of squares relative to the first sample, which is close to the others.
 * Even and odd samples have separate sums, as each addition would wait for the
 * one before. */
static void moments_of_block(struct moments *ret, const double *x, size_t n)
{
	const pair first = {x[0], x[0]};
	pair sum = {0.0, 0.0};
	pair squares = {0.0, 0.0};
	double low = x[0];
	double high = x[0];
	double m2;

	for (size_t i = n % 2; i < n; i += 2) {
		pair d = pair_at(&x[i]) - first;

		sum += d;
		squares += d * d;
		range_add(x[i], &low, &high);
		range_add(x[i + 1], &low, &high);
	}
	sum[0] += sum[1];
	m2 = squares[0] + (squares[1] - sum[0] * sum[0] / (double)n);
	*ret = (struct moments){
		.n = n,
		.min = low,
		.max = high,
		.mean = x[0] + sum[0] / (double)n,
		.m2 = m2 > 0.0 ? m2 : 0.0,
	};
}

void moments_add_block(struct moments *m, const double *x, size_t n)
{
	struct moments block;

	if (n == 0)
		return;
	moments_of_block(&block, x, n);
	moments_merge(m, &block);
}

double moments_stddev(const struct moments *m)
{
	if (m->n == 0 || m->m2 <= 0.0)
		return 0.0;
	return sqrt(m->m2 / (double)m->n);
}

/* Maximum of partitions of a selection: twice as many as are needed, unless
 * somebody chose the samples on purpose. */
#define SELECT_TRIES 64

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Insertion sort: an interval has 50 to 100 samples, often nearly sorted. */
static void sort_few(double *samples, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		double x = samples[i];
		size_t k = i;

		for (; k > 0 && samples[k - 1] > x; k--)
			samples[k] = samples[k - 1];
		samples[k] = x;
	}
}

/* qsort() of the C library may allocate: use heap sort. */
static void sift(double *a, size_t root, size_t n)
{
	for (;;) {
		size_t child = 2 * root + 1;

		if (child >= n)
			return;
		if (child + 1 < n && compare(&a[child], &a[child + 1]) < 0)
			child++;
		if (a[root] >= a[child])
			return;
		double x = a[root];

		a[root] = a[child];
		a[child] = x;
		root = child;
	}
}

void samples_sort(double *samples, size_t n)
{
	if (n <= 64) {
		sort_few(samples, n);
		return;
	}
	for (size_t i = n / 2; i-- > 0;)
		sift(samples, i, n);
	for (size_t i = n; i-- > 1;) {
		double x = samples[0];

		samples[0] = samples[i];
		samples[i] = x;
		sift(samples, 0, i);
	}
}

double percentile(const double *sorted, size_t n, double p)
{
	double rank = p * (double)(n - 1);
	size_t low = (size_t)rank;
	double part = rank - (double)low;

	if (low + 1 >= n)
		return sorted[n - 1];
	return sorted[low] + part * (sorted[low + 1] - sorted[low]);
}

/* Median of the first, the middle and the last sample. */
static double pivot_of(const double *a, size_t n)
{
	double x = a[0];
	double y = a[n / 2];
	double z = a[n - 1];

	if (x > y)
		return y > z ? y : (x > z ? z : x);
	return x > z ? x : (y > z ? z : y);
}

/* Put the sample of rank k into its place: none before it is larger, none after
 * it is smaller. */
static void samples_select(double *a, size_t n, size_t k)
{
	for (int tries = 0; n > 1; tries++) {
		double pivot = pivot_of(a, n);
		size_t i = 0;
		size_t j = n - 1;

		if (tries == SELECT_TRIES) {
			samples_sort(a, n);
			return;
		}
		for (;; i++, j--) {
			double x;

			while (a[i] < pivot)
				i++;
			while (a[j] > pivot)
				j--;
			if (i >= j)
				break;
			x = a[i];
			a[i] = a[j];
			a[j] = x;
		}
		/* [0, i) <= pivot <= [i, n) */
		if (i == 0)
			i = 1; /* the pivot itself, smallest */
		if (k < i) {
			n = i;
		} else {
			a += i;
			n -= i;
			k -= i;
		}
	}
}

double samples_median(double *samples, size_t n)
{
	size_t k = n / 2;
	double below;
	double above;

	samples_select(samples, n, k);
	if (n % 2)
		return samples[k];
	samples_range(samples, k, &below, &above);
	return above + 0.5 * (samples[k] - above);
}

void distribution_of_samples(struct distribution *ret, double *samples,
			     size_t n)
{
	struct moments m = {0};

	*ret = (struct distribution){.n = n};
	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++)
		moments_add(&m, samples[i]);
	samples_sort(samples, n);
	ret->min = m.min;
	ret->max = m.max;
	ret->avg = m.mean;
	ret->median = percentile(samples, n, 0.5);
	ret->p75 = percentile(samples, n, 0.75);
	ret->p90 = percentile(samples, n, 0.9);
	ret->p95 = percentile(samples, n, 0.95);
	ret->stddev = moments_stddev(&m);
}

#define HISTOGRAM_SHIFT    10 /* ns to units of 1.024 us */
#define HISTOGRAM_SUB_LOG2 5

_Static_assert(1 << HISTOGRAM_SUB_LOG2 == HISTOGRAM_SUB_BUCKETS, "sub-buckets");

/* A double is already logarithmic: its exponent is the octave, the first bits
 * of its fraction are the bucket in the octave. */
#define DOUBLE_FRACTION_BITS 52
#define DOUBLE_BIAS          1023

/* End of the last bucket. */
#define HISTOGRAM_TOP ((double)(HISTOGRAM_SUB_BUCKETS << HISTOGRAM_OCTAVES))
#define UNITS_PER_MS  (1e6 / (1 << HISTOGRAM_SHIFT))

/* For at least HISTOGRAM_SUB_BUCKETS units; not limited to the last bucket. */
static uint64_t octave_index(double units)
{
	const uint64_t first = (uint64_t)(DOUBLE_BIAS + HISTOGRAM_SUB_LOG2)
			       << HISTOGRAM_SUB_LOG2;
	uint64_t bits;

	memcpy(&bits, &units, sizeof(bits));
	return HISTOGRAM_SUB_BUCKETS +
	       (bits >> (DOUBLE_FRACTION_BITS - HISTOGRAM_SUB_LOG2)) - first;
}

static size_t histogram_index(double ms)
{
	double units = ms * UNITS_PER_MS;
	uint64_t index;

	if (!(units >= HISTOGRAM_SUB_BUCKETS))
		return units > 0.0 ? (size_t)units : 0;
	index = octave_index(units);
	return index < HISTOGRAM_BUCKETS ? (size_t)index
					 : HISTOGRAM_BUCKETS - 1;
}

/* Lower edge of a bucket, in ms. */
static double histogram_edge(size_t index)
{
	const double unit_ms = (1 << HISTOGRAM_SHIFT) / 1e6;
	size_t octave;

	if (index < HISTOGRAM_SUB_BUCKETS)
		return (double)index * unit_ms;
	octave = index / HISTOGRAM_SUB_BUCKETS - 1;
	return (double)((uint64_t)(HISTOGRAM_SUB_BUCKETS +
				   index % HISTOGRAM_SUB_BUCKETS)
			<< octave) *
	       unit_ms;
}

static void count_one(struct histogram *h, double ms)
{
	uint32_t *count = &h->counts[histogram_index(ms)];

	if (*count != UINT32_MAX)
		++*count;
}

void histogram_add(struct histogram *h, double ms)
{
	count_one(h, ms);
	moments_add(&h->moments, ms);
}

/* @return all samples of the block are within the octaves, and no count can
 *         overflow */
static bool block_is_plain(const struct moments *block, uint64_t before)
{
	return block->min * UNITS_PER_MS >= HISTOGRAM_SUB_BUCKETS &&
	       block->max * UNITS_PER_MS < HISTOGRAM_TOP &&
	       before < UINT32_MAX - block->n;
}

void histogram_add_block(struct histogram *h, const double *ms, size_t n)
{
	struct moments block;

	if (n == 0)
		return;
	moments_of_block(&block, ms, n);
	if (block_is_plain(&block, h->moments.n)) {
		for (size_t i = 0; i < n; i++)
			h->counts[octave_index(ms[i] * UNITS_PER_MS)]++;
	} else {
		for (size_t i = 0; i < n; i++)
			count_one(h, ms[i]);
	}
	moments_merge(&h->moments, &block);
}

/* Value of the sample with this rank (0-based): the middle of its bucket,
 * limited to the range of the samples. */
static double histogram_at(const struct histogram *h, uint64_t rank)
{
	uint64_t seen = 0;
	double x = h->moments.max;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += h->counts[i];
		if (seen > rank) {
			x = (histogram_edge(i) + histogram_edge(i + 1)) / 2;
			break;
		}
	}
	if (rank == 0 || x < h->moments.min)
		return h->moments.min;
	if (rank + 1 >= h->moments.n || x > h->moments.max)
		return h->moments.max;
	return x;
}

double histogram_percentile(const struct histogram *h, double p)
{
	double rank;
	double low;
	uint64_t k;

	if (h->moments.n == 0)
		return 0.0;
	rank = p * (double)(h->moments.n - 1);
	k = (uint64_t)rank;
	low = histogram_at(h, k);
	if (rank - (double)k <= 0.0)
		return low;
	return low + (rank - (double)k) * (histogram_at(h, k + 1) - low);
}

void distribution_of_histogram(struct distribution *ret,
			       const struct histogram *h)
{
	*ret = (struct distribution){.n = h->moments.n};
	if (h->moments.n == 0)
		return;
	ret->min = h->moments.min;
	ret->max = h->moments.max;
	ret->avg = h->moments.mean;
	ret->median = histogram_percentile(h, 0.5);
	ret->p75 = histogram_percentile(h, 0.75);
	ret->p90 = histogram_percentile(h, 0.9);
	ret->p95 = histogram_percentile(h, 0.95);
	ret->stddev = moments_stddev(&h->moments);
}

void sparse_histogram_add(struct sparse_histogram *h, struct count_parts *parts,
			  double ms)
{
	count_part_add(parts, h->parts, histogram_index(ms));
	moments_add(&h->moments, ms);
}

/* Consecutive samples are mostly in the same part. */
static uint8_t add_plain(struct sparse_histogram *h, struct count_parts *parts,
			 const double *ms, size_t n)
{
	size_t part =
		(size_t)octave_index(ms[0] * UNITS_PER_MS) / COUNT_PART_BUCKETS;
	uint32_t *counts = count_part_of(parts, &h->parts[part])->counts;

	for (size_t i = 0; i < n; i++) {
		size_t index = (size_t)octave_index(ms[i] * UNITS_PER_MS);

		if (index / COUNT_PART_BUCKETS != part) {
			part = index / COUNT_PART_BUCKETS;
			counts = count_part_of(parts, &h->parts[part])->counts;
		}
		counts[index % COUNT_PART_BUCKETS]++;
	}
	return h->parts[part];
}

uint8_t sparse_histogram_add_block(struct sparse_histogram *h,
				   struct count_parts *parts, const double *ms,
				   size_t n)
{
	struct moments block;
	uint8_t last = 0;

	moments_of_block(&block, ms, n);
	if (block_is_plain(&block, h->moments.n)) {
		last = add_plain(h, parts, ms, n);
	} else {
		for (size_t i = 0; i < n; i++)
			last = count_part_add(parts, h->parts,
					      histogram_index(ms[i]));
	}
	moments_merge(&h->moments, &block);
	return last;
}

void sparse_histogram_copy(struct histogram *ret,
			   const struct sparse_histogram *h,
			   struct count_parts *parts)
{
	*ret = (struct histogram){.moments = h->moments};
	for (size_t i = 0; i < HISTOGRAM_PARTS; i++) {
		if (h->parts[i])
			memcpy(&ret->counts[i * COUNT_PART_BUCKETS],
			       count_part_at(parts, h->parts[i]),
			       sizeof(struct count_part));
	}
}

_Static_assert(HISTOGRAM_BUCKETS % COUNT_PART_BUCKETS == 0, "whole parts");

void distribution_of_sparse(struct distribution *ret,
			    const struct sparse_histogram *h,
			    struct count_parts *parts)
{
	struct histogram all;

	sparse_histogram_copy(&all, h, parts);
	distribution_of_histogram(ret, &all);
}
