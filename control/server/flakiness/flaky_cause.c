#include "control/server/flakiness/flaky_cause.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/flakiness/flaky_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Candidates of all attributes; later ones are not looked at. */
#define CANDIDATES_MAX 4096u

/* Hours of a window, at most: the rest of the day is a window as well. */
#define WINDOW_HOURS_MAX 12u

#define HOUR_MS      3600000
#define HOURS        24u
#define TEXT_BYTES   1024u
#define WINDOW_BYTES 24u
#define ROUNDING     1e-9 /* relative, of sums of a few doubles */

/* A value that may be what failed runs have in common. */
struct candidate {
	enum flaky_attribute attribute;
	const char *role;  /* borrowed; NULL: of any role */
	const char *value; /* borrowed; NULL: the hours */
	unsigned from, to; /* hours of the day, `to` excluded, at most 24 */
	flaky_runs known;  /* runs of which the attribute is known */
	flaky_runs has;    /* those of them that have the value */
	bool is_named;     /* it may be named */
	double p;          /* Fisher's exact test, one-sided */
};

struct candidates {
	const struct flaky_history *history;
	json_t *merged[FLAKY_VALUED]; /* {value: flaky_runs}, of all roles */
	struct candidate *list;
	size_t count, room;
};

static unsigned size_of(flaky_runs runs)
{
	return (unsigned)__builtin_popcount(runs);
}

/* ---- Fisher's exact test ---- */

/* Exact: n <= FLAKY_RUNS_MAX. */
static double choose(unsigned n, unsigned k)
{
	double product = 1;

	if (k > n)
		return 0;
	for (unsigned i = 1; i <= k; i++)
		product = product * (n - k + i) / i;
	return product;
}

/* The chance that, of `failed` runs drawn from `all`, `hits` or more are among
 * the `having` that have the value (hypergeometric distribution). */
static double chance(unsigned all, unsigned failed, unsigned having,
		     unsigned hits)
{
	double sum = 0;

	for (unsigned k = hits; k <= failed && k <= having; k++)
		sum += choose(having, k) * choose(all - having, failed - k);
	return sum / choose(all, failed);
}

static double chance_of(const struct candidate *c, flaky_runs failed,
			unsigned hits)
{
	return chance(size_of(c->known), size_of(c->known & failed),
		      size_of(c->has), hits);
}

/* The chance that failures at random give this candidate a p as small. Few
 * values of p are possible, so it is below p, and often 0. */
static double chance_of_p(const struct candidate *c, flaky_runs failed,
			  double p)
{
	for (unsigned hits = 0; hits <= size_of(c->has); hits++) {
		double own = chance_of(c, failed, hits);

		if (own <= p * (1 + ROUNDING))
			return own;
	}
	return 0;
}

/* ---- candidates ---- */

/* A candidate of the same runs as another one of its attribute is the same. */
static int add(struct candidates *all, const struct candidate *c)
{
	const flaky_runs failed = all->history->failed;

	if (!c->has || c->has == c->known || all->count == CANDIDATES_MAX)
		return 0;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].attribute == c->attribute &&
		    all->list[i].known == c->known &&
		    all->list[i].has == c->has)
			return 0;
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		void *larger = realloc(all->list, room * sizeof(*all->list));

		if (!larger)
			return -ENOMEM;
		all->list = larger;
		all->room = room;
	}
	all->list[all->count] = *c;
	all->list[all->count++].p =
		chance_of(c, failed, size_of(c->has & failed));
	return 0;
}

/* The runs that have values, but not too many of them. */
static flaky_runs known_runs(json_t *values)
{
	unsigned counts[FLAKY_RUNS_MAX] = {0};
	flaky_runs known = 0;
	const char *value;
	json_t *runs;

	json_object_foreach(values, value, runs)
	{
		for (unsigned i = 0; i < FLAKY_RUNS_MAX; i++)
			if (json_integer_value(runs) >> i & 1)
				counts[i]++;
	}
	for (unsigned i = 0; i < FLAKY_RUNS_MAX; i++)
		if (counts[i] && counts[i] <= FLAKY_VALUES_MAX)
			known |= (flaky_runs)1 << i;
	return known;
}

static int add_values(struct candidates *all, enum flaky_attribute attribute,
		      const char *role, json_t *values)
{
	struct candidate c = {.attribute = attribute,
			      .role = role,
			      .known = known_runs(values),
			      .is_named = true};
	json_t *runs;
	int err = 0;

	json_object_foreach(values, c.value, runs)
	{
		c.has = (flaky_runs)json_integer_value(runs) & c.known;
		if (!err)
			err = add(all, &c);
	}
	return err;
}

static int merge(json_t *merged, json_t *values)
{
	const char *value;
	json_t *runs;

	json_object_foreach(values, value, runs)
	{
		json_int_t both =
			json_integer_value(runs) |
			json_integer_value(json_object_get(merged, value));

		if (json_object_set_new(merged, value, json_integer(both)))
			return -ENOMEM;
	}
	return 0;
}

static int add_attribute(struct candidates *all, enum flaky_attribute attribute)
{
	json_t *roles = all->history->values[attribute], *values;
	json_t *merged = json_object();
	const char *role;
	int err = merged ? 0 : -ENOMEM;

	all->merged[attribute] = merged; /* candidates borrow its keys */
	json_object_foreach(roles, role, values)
	{
		if (!err)
			err = merge(merged, values);
	}
	if (!err)
		err = add_values(all, attribute, NULL, merged);
	if (json_object_size(roles) < 2)
		return err;
	json_object_foreach(roles, role, values)
	{
		if (!err)
			err = add_values(all, attribute, role, values);
	}
	return err;
}

/* ---- hours of the day ---- */

static unsigned hour_of(const struct flaky_history *h, size_t run)
{
	return (unsigned)(h->started_ms[run] / HOUR_MS % HOURS);
}

/* @return some of the runs are more than a number of hours apart */
static bool is_longer(const struct flaky_history *h, flaky_runs runs,
		      unsigned hours)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < h->count; i++) {
		if (!(runs >> i & 1))
			continue;
		if (h->started_ms[i] < first)
			first = h->started_ms[i];
		if (h->started_ms[i] > last)
			last = h->started_ms[i];
	}
	return first <= last && last - first > (int64_t)hours * HOUR_MS;
}

/* A window of a single day is no hour of the day. */
static int add_window(struct candidates *all, unsigned from, unsigned hours)
{
	const struct flaky_history *h = all->history;
	struct candidate c = {.attribute = FLAKY_HOUR,
			      .from = from,
			      .to = (from + hours - 1) % HOURS + 1,
			      .known = ((flaky_runs)1 << h->count) - 1};

	for (size_t i = 0; i < h->count; i++)
		if ((hour_of(h, i) + HOURS - from) % HOURS < hours)
			c.has |= (flaky_runs)1 << i;
	if (!is_longer(h, c.has, hours))
		return 0;
	c.is_named = is_longer(h, c.has & h->failed, hours);
	return add(all, &c);
}

/* All windows that begin and end with an hour in which runs started. */
static int add_hours(struct candidates *all)
{
	bool started[HOURS] = {false};
	int err = 0;

	for (size_t i = 0; i < all->history->count; i++)
		started[hour_of(all->history, i)] = true;
	for (unsigned from = 0; from < HOURS; from++)
		for (unsigned hours = 1; !err && hours <= WINDOW_HOURS_MAX;
		     hours++)
			if (started[from] &&
			    started[(from + hours - 1) % HOURS])
				err = add_window(all, from, hours);
	return err;
}

/* ---- which one is named ---- */

/* The chance that failures at random give any candidate of the attribute a p as
 * small: at most the sum. */
static double chance_of_any(const struct candidates *all,
			    enum flaky_attribute attribute, double p)
{
	double sum = 0;

	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].attribute == attribute)
			sum += chance_of_p(&all->list[i], all->history->failed,
					   p);
	return sum;
}

static const struct candidate *find_best(const struct candidates *all)
{
	const struct candidate *best[FLAKY_ATTRIBUTES] = {NULL};
	const struct candidate *found = NULL;
	bool varies[FLAKY_ATTRIBUTES] = {false};
	unsigned attributes = 0;
	double least = 0;

	for (size_t i = 0; i < all->count; i++) {
		const struct candidate *c = &all->list[i];

		attributes += !varies[c->attribute];
		varies[c->attribute] = true;
		if (c->is_named &&
		    (!best[c->attribute] || c->p < best[c->attribute]->p))
			best[c->attribute] = c;
	}
	/* the level is divided among the attributes that vary */
	for (enum flaky_attribute a = 0; a < FLAKY_ATTRIBUTES; a++) {
		double any = best[a] ? chance_of_any(all, a, best[a]->p) : 1;

		if (any > FLAKY_LEVEL / attributes || (found && any >= least))
			continue;
		found = best[a];
		least = any;
	}
	return found;
}

/* ---- as JSON ---- */

static const char *window_text(const struct candidate *c,
			       char dst[static WINDOW_BYTES])
{
	str_print(dst, WINDOW_BYTES, "%02u:00 to %02u:00 UTC", c->from, c->to);
	return dst;
}

static json_t *entry_of(const struct candidate *c, flaky_runs failed)
{
	static const char *const names[FLAKY_ATTRIBUTES] = {
		[FLAKY_AGENT] = "agent", [FLAKY_SOFTWARE] = "software",
		[FLAKY_PEER] = "peer",   [FLAKY_CODEC] = "codec",
		[FLAKY_HOUR] = "hour",
	};
	char window[WINDOW_BYTES];

	return json_pack("{s:s, s:s?, s:s, s:i, s:i, s:i, s:i, s:f}",
			 "attribute", names[c->attribute], "role", c->role,
			 "value", c->value ? c->value : window_text(c, window),
			 "failed", (int)size_of(c->has & failed), "failed_of",
			 (int)size_of(c->known & failed), "passed",
			 (int)size_of(c->has & ~failed), "passed_of",
			 (int)size_of(c->known & ~failed), "p", c->p);
}

static int print_value(struct buf *text, const struct candidate *c)
{
	static const char *const words[FLAKY_VALUED] = {
		[FLAKY_AGENT] = "agent",
		[FLAKY_SOFTWARE] = "peer software",
		[FLAKY_PEER] = "peer address",
		[FLAKY_CODEC] = "codec",
	};
	int err = buf_print(text, "%s %s", words[c->attribute], c->value);

	return !err && c->role ? buf_print(text, " in role %s", c->role) : err;
}

/* Print what the runs had or did, and the verb that repeats it. */
static int print_common(struct buf *text, const struct candidate *const *common,
			size_t count, const char **ret_verb)
{
	char window[WINDOW_BYTES];
	int err = 0;

	*ret_verb = "did";
	if (common[0]->attribute == FLAKY_HOUR)
		return buf_print(text, "started in the hours %s",
				 window_text(common[0], window));
	*ret_verb = "had";
	for (size_t i = 0; !err && i < count; i++) {
		err = buf_texts(text, i == 0 ? "had " : " and ", NULL);
		if (!err)
			err = print_value(text, common[i]);
	}
	return err;
}

static int print_sentence(struct buf *text, flaky_runs failed, size_t runs,
			  const struct candidate *const *common, size_t count)
{
	const struct candidate *c = common[0];
	unsigned unknown = (unsigned)runs - size_of(c->known);
	const char *verb = "";
	int err =
		buf_print(text, "%u of %u failed runs ",
			  size_of(c->has & failed), size_of(c->known & failed));

	if (!err)
		err = print_common(text, common, count, &verb);
	if (!err)
		err = buf_print(text, ", %u of %u passed runs %s",
				size_of(c->has & ~failed),
				size_of(c->known & ~failed), verb);
	if (!err && unknown)
		err = buf_print(text, " (not known of %u run%s)", unknown,
				unknown == 1 ? "" : "s");
	return err ? err : buf_texts(text, ".", NULL);
}

/* The attribute that was found, and others of the very same runs. */
static size_t collect(const struct candidates *all,
		      const struct candidate *best,
		      const struct candidate *common[static FLAKY_COMMON_MAX])
{
	size_t count = 0;

	common[count++] = best;
	for (size_t i = 0; i < all->count && count < FLAKY_COMMON_MAX; i++) {
		const struct candidate *c = &all->list[i];

		if (c != best && c->attribute != FLAKY_HOUR &&
		    best->attribute != FLAKY_HOUR && c->known == best->known &&
		    c->has == best->has)
			common[count++] = c;
	}
	return count;
}

static int write_cause(const struct candidates *all,
		       const struct candidate *best, json_t **ret)
{
	const struct candidate *common[FLAKY_COMMON_MAX] = {NULL};
	const struct flaky_history *h = all->history;
	size_t count = best ? collect(all, best, common) : 0;
	json_t *list = json_array(), *cause = NULL;
	struct buf text;
	int err = list ? 0 : -ENOMEM;

	buf_init(&text, TEXT_BYTES);
	if (!err && best)
		err = print_sentence(&text, h->failed, h->count, common, count);
	for (size_t i = 0; !err && i < count; i++)
		if (json_array_append_new(list, entry_of(common[i], h->failed)))
			err = -ENOMEM;
	if (!err) {
		cause = json_pack("{s:s?, s:O}", "sentence", text.data,
				  "common", list);
		err = cause ? 0 : -ENOMEM;
	}
	json_decref(list);
	buf_release(&text);
	if (!err)
		*ret = cause;
	return err;
}

int flaky_cause(const struct flaky_history *h, json_t **ret)
{
	struct candidates all = {.history = h};
	int err = 0;

	for (enum flaky_attribute a = 0; !err && a < FLAKY_VALUED; a++)
		err = add_attribute(&all, a);
	if (!err)
		err = add_hours(&all);
	if (!err)
		err = write_cause(&all, find_best(&all), ret);
	for (size_t a = 0; a < FLAKY_VALUED; a++)
		json_decref(all.merged[a]);
	free(all.list);
	return err;
}
