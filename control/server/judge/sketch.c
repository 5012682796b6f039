#include "control/server/judge/sketch.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct bucket {
	int64_t index;
	double count;
};

struct side {
	struct bucket *buckets;
	size_t count;
};

struct sketch {
	double a; /* relative error; 0: nothing was added yet */
	double zeros;
	struct side positive;
	struct side negative;
};

int sketch_new(struct sketch **ret)
{
	struct sketch *s = calloc(1, sizeof(*s));

	*ret = s;
	return s ? 0 : -ENOMEM;
}

struct sketch *sketch_free(struct sketch *s)
{
	if (!s)
		return NULL;
	free(s->positive.buckets);
	free(s->negative.buckets);
	free(s);
	return NULL;
}

/* Position of the first bucket with an index not below. */
static size_t lower_bound(const struct side *side, int64_t index)
{
	size_t low = 0, high = side->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (side->buckets[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add(struct side *side, int64_t index, double count)
{
	size_t at = lower_bound(side, index);
	struct bucket *buckets;

	if (at < side->count && side->buckets[at].index == index) {
		side->buckets[at].count += count;
		return 0;
	}
	if (side->count >= SKETCH_BUCKETS_MAX)
		return -EINVAL;
	buckets =
		reallocarray(side->buckets, side->count + 1, sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	side->buckets = buckets;
	for (size_t i = side->count; i > at; i--)
		buckets[i] = buckets[i - 1];
	buckets[at] = (struct bucket){index, count};
	side->count++;
	return 0;
}

static int merge_side(struct side *side, const json_t *pairs)
{
	const json_t *pair;
	size_t i;

	json_array_foreach(pairs, i, pair)
	{
		const json_t *index = json_array_get(pair, 0);
		const json_t *count = json_array_get(pair, 1);
		int err;

		if (!json_is_integer(index) || !json_is_number(count) ||
		    json_number_value(count) < 0)
			return -EINVAL;
		err = add(side, json_integer_value(index),
			  json_number_value(count));
		if (err)
			return err;
	}
	return 0;
}

int sketch_merge(struct sketch *s, const json_t *encoded)
{
	double a = json_number_value(json_object_get(encoded, "a"));
	double zeros = json_number_value(json_object_get(encoded, "z"));
	int err;

	if (!(a > 0) || a >= 1 || zeros < 0)
		return -EINVAL;
	if (s->a > 0 && fabs(s->a - a) > 1e-12)
		return -EINVAL;
	s->a = a;
	err = merge_side(&s->positive, json_object_get(encoded, "p"));
	if (!err)
		err = merge_side(&s->negative, json_object_get(encoded, "n"));
	if (!err)
		s->zeros += zeros;
	return err;
}

/* The value whose relative distance to both ends of the bucket is a. */
static double bucket_value(const struct sketch *s, int64_t index)
{
	double g = (1 + s->a) / (1 - s->a);

	return 2 * pow(g, (double)index) / (g + 1);
}

static double total(const struct side *side)
{
	double sum = 0;

	for (size_t i = 0; i < side->count; i++)
		sum += side->buckets[i].count;
	return sum;
}

int sketch_quantile(const struct sketch *s, double fraction, double *ret)
{
	double n = total(&s->negative) + s->zeros + total(&s->positive);
	double rank = fraction * (n - 1), seen = 0;

	if (n <= 0)
		return -EINVAL;
	for (size_t i = s->negative.count; i > 0; i--) {
		seen += s->negative.buckets[i - 1].count;
		if (seen > rank) {
			*ret = -bucket_value(s,
					     s->negative.buckets[i - 1].index);
			return 0;
		}
	}
	seen += s->zeros;
	if (seen > rank) {
		*ret = 0;
		return 0;
	}
	for (size_t i = 0; i < s->positive.count; i++) {
		seen += s->positive.buckets[i].count;
		if (seen > rank || i + 1 == s->positive.count) {
			*ret = bucket_value(s, s->positive.buckets[i].index);
			return 0;
		}
	}
	*ret = 0;
	return 0;
}
