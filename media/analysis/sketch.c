#include "media/analysis/sketch.h"

#include <errno.h>
#include <math.h>

#define ZERO_BELOW 1e-9

/* log((1+a)/(1-a)) for a = 0.01 */
#define LOG_GAMMA 0.020000666706669524

static int clamp_index(int index)
{
	if (index < SKETCH_INDEX_MIN)
		return SKETCH_INDEX_MIN;
	return index > SKETCH_INDEX_MAX ? SKETCH_INDEX_MAX : index;
}

static int index_of(double magnitude)
{
	double i = ceil(log(magnitude) / LOG_GAMMA);

	return clamp_index((int)fmin(fmax(i, -1e6), 1e6));
}

/* The value with the same relative distance to both ends of the bucket. */
static double value_of(int index)
{
	return 2.0 * exp(index * LOG_GAMMA) / (exp(LOG_GAMMA) + 1.0);
}

static void add_count(uint32_t *to, uint32_t count)
{
	*to = count > UINT32_MAX - *to ? UINT32_MAX : *to + count;
}

void sketch_add(struct sketch *s, double x)
{
	double magnitude = fabs(x);

	if (!isfinite(x))
		return;
	s->n++;
	if (magnitude < ZERO_BELOW)
		s->zeros++;
	else
		add_count(&(x > 0 ? s->positive
				  : s->negative)[index_of(magnitude) -
						 SKETCH_INDEX_MIN],
			  1);
}

/* The sample of a rank (0-based): negative ones first, by falling magnitude. */
static double value_at(const struct sketch *s, uint64_t rank)
{
	uint64_t seen = 0;
	double last = 0.0;

	for (size_t i = SKETCH_BUCKETS; i-- > 0;) {
		seen += s->negative[i];
		if (seen > rank)
			return -value_of((int)i + SKETCH_INDEX_MIN);
	}
	seen += s->zeros;
	if (seen > rank)
		return 0.0;
	for (size_t i = 0; i < SKETCH_BUCKETS; i++) {
		if (s->positive[i] == 0)
			continue;
		seen += s->positive[i];
		last = value_of((int)i + SKETCH_INDEX_MIN);
		if (seen > rank)
			break;
	}
	return last;
}

double sketch_quantile(const struct sketch *s, double p)
{
	double rank;
	double low;
	uint64_t k;

	if (s->n == 0)
		return 0.0;
	rank = p * (double)(s->n - 1);
	k = (uint64_t)rank;
	low = value_at(s, k);
	if (rank - (double)k <= 0.0)
		return low;
	return low + (rank - (double)k) * (value_at(s, k + 1) - low);
}

int sketch_next(const struct sketch *s, int sign, size_t *cursor,
		int *ret_index, uint32_t *ret_count)
{
	const uint32_t *counts = sign > 0 ? s->positive : s->negative;

	for (; *cursor < SKETCH_BUCKETS; ++*cursor) {
		if (counts[*cursor] == 0)
			continue;
		*ret_index = (int)*cursor + SKETCH_INDEX_MIN;
		*ret_count = counts[*cursor];
		++*cursor;
		return 1;
	}
	return 0;
}

int sketch_add_bucket(struct sketch *s, int sign, int index, uint32_t count)
{
	if (sign < -1 || sign > 1)
		return -EINVAL;
	if (sign == 0) {
		s->zeros += count;
		s->n += count;
		return 0;
	}
	if (index < SKETCH_INDEX_MIN || index > SKETCH_INDEX_MAX)
		return -ERANGE;
	add_count(&(sign > 0 ? s->positive
			     : s->negative)[index - SKETCH_INDEX_MIN],
		  count);
	s->n += count;
	return 0;
}
