#include "control/server/difference/tally.h"

#include "control/server/difference/two_sample.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Shares: docs/reference/differences.md has these figures. */
#define SHARE_LEVEL 1e-5
#define SHARE_LEAST 0.05
#define SHARE_NEW   0.2 /* of what one of the runs has not at all */

int tally_add(json_t *tallies, const char *key, const char *value)
{
	json_t *tally = json_object_get(tallies, key), *values;

	if (!tally) {
		tally = json_pack("{s:i, s:{}}", "n", 0, "values");
		/* a key that is not UTF-8 is left out */
		if (json_object_set_new(tallies, key, tally))
			return tally ? 0 : -ENOMEM;
	}
	values = json_object_get(tally, "values");
	if (json_object_set_new(values, value,
				json_integer(json_integer_value(json_object_get(
						     values, value)) +
					     1)))
		return 0; /* not UTF-8 */
	return json_object_set_new(
		       tally, "n",
		       json_integer(
			       json_integer_value(json_object_get(tally, "n")) +
			       1))
		       ? -ENOMEM
		       : 0;
}

int sample_add(json_t *samples, const char *key, double value)
{
	json_t *sample = json_object_get(samples, key);

	if (!isfinite(value))
		return 0;
	if (!sample) {
		sample = json_array();
		if (json_object_set_new(samples, key, sample))
			return sample ? 0 : -ENOMEM;
	}
	if (json_array_size(sample) >= DIFFERENCE_SAMPLES_MAX)
		return 0;
	return json_array_append_new(sample, json_real(value)) ? -ENOMEM : 0;
}

const char *key_part(const char *key, unsigned i, char dst[static KEY_BYTES])
{
	size_t len;

	while (i-- && strchr(key, '|'))
		key = strchr(key, '|') + 1;
	len = strcspn(key, "|");
	if (len >= KEY_BYTES)
		len = KEY_BYTES - 1;
	memcpy(dst, key, len);
	dst[len] = '\0';
	return dst;
}

/* @return a share differs by more than chance (docs/reference/differences.md,
 * Shares) */
static bool share_differs(struct share before, struct share after)
{
	double a, b, moved;

	if (!before.count || !after.count)
		return false;
	a = (double)before.hits / (double)before.count;
	b = (double)after.hits / (double)after.count;
	moved = fabs(a - b);
	if ((!before.hits || !after.hits) && moved >= SHARE_NEW)
		return true;
	return moved >= SHARE_LEAST &&
	       two_sample_share(before.hits, before.count, after.hits,
				after.count) <= SHARE_LEVEL;
}

static struct share share_of(const json_t *tally, const char *value)
{
	const json_t *values = json_object_get(tally, "values");

	return (struct share){
		.hits = (size_t)json_integer_value(
			json_object_get(values, value)),
		.count =
			(size_t)json_integer_value(json_object_get(tally, "n")),
	};
}

/* Every one of several has a value of its own: an id that no table knows. */
static bool all_distinct(const json_t *tally)
{
	size_t n = (size_t)json_integer_value(json_object_get(tally, "n"));

	return n > 1 && json_object_size(json_object_get(tally, "values")) == n;
}

static double moved(struct share from, struct share to)
{
	return (double)to.hits / (double)to.count -
	       (double)from.hits / (double)from.count;
}

/* One of several has what none of the other run has. */
static bool rests_on_one(struct share from, struct share to)
{
	return (from.hits == 0 && to.hits == 1 && to.count > 1) ||
	       (to.hits == 0 && from.hits == 1 && from.count > 1);
}

/* @return the most common value but one; NULL: there is no other */
static const char *most_common(const json_t *tally, const char *except)
{
	const char *value, *found = NULL;
	json_int_t most = 0;
	json_t *count;

	json_object_foreach(json_object_get(tally, "values"), value, count)
	{
		if (strcmp(value, except) == 0 ||
		    json_integer_value(count) <= most)
			continue;
		most = json_integer_value(count);
		found = value;
	}
	return found;
}

bool tally_differs(const json_t *before, const json_t *after, const char *key,
		   struct tally_change *ret)
{
	const json_t *a = json_object_get(before, key);
	const json_t *b = json_object_get(after, key);
	struct tally_change change = {.before = NULL};
	double fell = 0, rose = 0;
	const char *value;
	json_t *count;

	if (!a || !b || (all_distinct(a) && all_distinct(b)))
		return false;
	json_object_foreach(json_object_get(a, "values"), value, count)
	{
		struct share from = share_of(a, value), to = share_of(b, value);

		if (!share_differs(from, to) || moved(from, to) >= fell)
			continue;
		fell = moved(from, to);
		change.before = value;
		change.before_of = from;
		change.after_of = to;
	}
	json_object_foreach(json_object_get(b, "values"), value, count)
	{
		struct share from = share_of(a, value), to = share_of(b, value);

		if (!share_differs(from, to) || moved(from, to) <= rose)
			continue;
		rose = moved(from, to);
		change.after = value;
		change.before_of = from;
		change.after_of = to;
	}
	if (!change.before && !change.after)
		return false;
	change.single =
		(!change.before || rests_on_one(share_of(a, change.before),
						share_of(b, change.before))) &&
		(!change.after || rests_on_one(share_of(a, change.after),
					       share_of(b, change.after)));
	/* one that changed may stand against several that are rarer */
	if (!change.before)
		change.before = most_common(a, change.after);
	if (!change.after)
		change.after = most_common(b, change.before);
	if (change.after) {
		change.before_of = share_of(a, change.after);
		change.after_of = share_of(b, change.after);
	}
	*ret = change;
	return true;
}
