#include "control/wire/sketch.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

/* Room for the rounding of a decimal number. */
#define ACCURACY_TOLERANCE 1e-12

static json_t *buckets_encode(const struct sketch *s, int sign)
{
	json_t *array = json_array();
	size_t cursor = 0;
	uint32_t count;
	int index;

	while (array && sketch_next(s, sign, &cursor, &index, &count)) {
		if (json_array_append_new(
			    array,
			    json_pack("[i, I]", index, (json_int_t)count))) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

json_t *wire_sketch_encode(const struct sketch *s)
{
	json_t *positive = buckets_encode(s, 1);
	json_t *negative = buckets_encode(s, -1);

	/* The format takes both references, also when it fails. */
	return json_pack("{s:f, s:I, s:o, s:o}", "a", SKETCH_ACCURACY, "z",
			 (json_int_t)s->zeros, "p", positive, "n", negative);
}

static bool is_count(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0 &&
	       json_integer_value(value) <= UINT32_MAX;
}

static bool is_bucket(const json_t *pair)
{
	const json_t *index = json_array_get(pair, 0);

	return json_array_size(pair) == 2 && json_is_integer(index) &&
	       json_integer_value(index) >= SKETCH_INDEX_MIN &&
	       json_integer_value(index) <= SKETCH_INDEX_MAX &&
	       is_count(json_array_get(pair, 1));
}

/* A side that is absent is empty. */
static bool is_side(const json_t *side)
{
	const json_t *pair;
	size_t i;

	if (side && !json_is_array(side))
		return false;
	json_array_foreach(side, i, pair)
	{
		if (!is_bucket(pair))
			return false;
	}
	return true;
}

static void side_add(struct sketch *into, int sign, const json_t *side)
{
	const json_t *pair;
	size_t i;

	json_array_foreach(side, i, pair) sketch_add_bucket(
		into, sign, (int)json_integer_value(json_array_get(pair, 0)),
		(uint32_t)json_integer_value(json_array_get(pair, 1)));
}

int wire_sketch_add(struct sketch *into, const json_t *encoded)
{
	const json_t *a = json_object_get(encoded, "a");
	const json_t *zeros = json_object_get(encoded, "z");
	const json_t *positive = json_object_get(encoded, "p");
	const json_t *negative = json_object_get(encoded, "n");

	if (!json_is_number(a) ||
	    fabs(json_number_value(a) - SKETCH_ACCURACY) > ACCURACY_TOLERANCE)
		return -EINVAL;
	if ((zeros && !is_count(zeros)) || !is_side(positive) ||
	    !is_side(negative))
		return -EINVAL;
	sketch_add_bucket(into, 0, 0, (uint32_t)json_integer_value(zeros));
	side_add(into, 1, positive);
	side_add(into, -1, negative);
	return 0;
}
