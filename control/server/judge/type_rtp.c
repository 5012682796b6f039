/* {role}-rtp-advanced-conditions: a statistic over the whole session of the
 * measure's samples, all calls of the role in that direction */
#include "base/buf.h"
#include "base/str.h"
#include "control/server/judge/condition.h"
#include "control/wire/sketch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	AVG,
	MIN,
	MAX,
	MEDIAN,
	P75,
	P90,
	P95
};

/* Kinds of measures: of a stream's packets or its audio, longest prefix
 * first. */
static const char *const kinds[] = {"rtp_xr_", "rtp_", "srtp_", "audio_", NULL};

/* @return the kind of a measure; NULL: not a measure of a stream */
static const char *const *kind_of(const char *name)
{
	for (const char *const *kind = kinds; *kind; kind++) {
		if (strncmp(name, *kind, strlen(*kind)) == 0)
			return kind;
	}
	return NULL;
}

/* Write all measures: "rtp_ (jitter, mos, ...), audio_ (level, ...)". */
static int list_measures(struct buf *list)
{
	int err = 0;

	for (const char *const *kind = kinds; !err && *kind; kind++) {
		const char *between = "(";

		err = buf_print(list, "%s%s ", list->used ? "), " : "", *kind);
		for (int m = 0; !err && m < MEASURE_COUNT; m++) {
			const char *name = measure_name((enum measure)m);

			if (kind_of(name) != kind)
				continue;
			err = buf_print(list, "%s%s", between,
					name + strlen(*kind));
			between = ", ";
		}
	}
	return err ? err : buf_print(list, ")");
}

static int measure_read(struct condition *c, struct judge_problem *problem)
{
	static const char member[] = "type_rtp_measures";
	const char *name = json_string_value(json_object_get(c->item, member));
	struct buf list;
	int err;

	if (name && kind_of(name) && measure_parse(name, &c->measure))
		return 0;
	buf_init(&list, JUDGE_PROBLEM_BYTES);
	err = list_measures(&list);
	if (err != -ENOMEM)
		err = condition_refuse(problem, member, "%s must be one of %s",
				       member, list.data);
	buf_release(&list);
	return err;
}

/* Range of a measure: levels are below full scale, and the markers' delay is
 * known within half a period (docs/reference/audio.md). */
static struct condition_range range_of(enum measure m)
{
	const char *unit = measure_unit(m);

	if (m == MEASURE_audio_level || m == MEASURE_audio_peak)
		return (struct condition_range){unit, -96, 0};
	if (m == MEASURE_audio_delay)
		return (struct condition_range){unit, -1200, 1200};
	return (struct condition_range){unit, 0, 1e12};
}

static int measure_limit(struct condition *c, struct judge_problem *problem)
{
	const struct condition_range range = range_of(c->measure);

	return limit_parse(&c->limit, c->item, range.min, range.max, problem);
}

/* Measure i of those that conditions can be about. @return MEASURE_COUNT: no
 * more */
static enum measure measure_at(unsigned index)
{
	int m = 0;

	for (; m < MEASURE_COUNT; m++) {
		if (kind_of(measure_name((enum measure)m)) && index-- == 0)
			break;
	}
	return (enum measure)m;
}

static const char *measure_name_at(unsigned index)
{
	enum measure m = measure_at(index);

	return m < MEASURE_COUNT ? measure_name(m) : NULL;
}

static struct condition_range measure_range(unsigned index)
{
	return range_of(measure_at(index));
}

static int parse(struct condition *c, struct judge_problem *problem)
{
	unsigned out = 0;
	int err = measure_read(c, problem);

	if (!err)
		err = condition_choice(&out, c, "direction",
				       condition_directions, problem);
	if (!err)
		err = condition_choice(&c->choice, c, "type_statistics",
				       condition_statistics, problem);
	if (!err)
		err = measure_limit(c, problem);
	c->outgoing = !err && out == 1;
	return err;
}

struct whole {
	size_t points;
	double n;
	double sum;
	double min;
	double max;
	const struct judge_point *only;
	bool sketched; /* every point carries a sketch */
};

static bool selected(const struct condition *c, const struct judge_point *p)
{
	return p->d.n && p->outgoing == c->outgoing &&
	       p->measure == c->measure && strcmp(p->role, c->set->role) == 0;
}

static void collect(struct whole *w, const struct judge_input *in,
		    const struct condition *c)
{
	const struct judge_point *points = RECORDS(in, points, judge_point);

	*w = (struct whole){.sketched = true};
	for (size_t i = 0; i < in->points.count; i++) {
		const struct judge_point *p = &points[i];

		if (!selected(c, p))
			continue;
		if (!w->points || p->d.min < w->min)
			w->min = p->d.min;
		if (!w->points || p->d.max > w->max)
			w->max = p->d.max;
		w->n += (double)p->d.n;
		w->sum += p->d.avg * (double)p->d.n;
		w->only = p;
		w->points++;
		if (!p->sketch)
			w->sketched = false;
	}
}

static double of_one(const struct distribution *d, unsigned statistic)
{
	const double values[] = {d->avg, d->min, d->max, d->median,
				 d->p75, d->p90, d->p95};

	return values[statistic];
}

/* A percentile over several intervals cannot be computed from theirs: merge the
 * sketches. */
static int percentile(double *ret, const struct judge_input *in,
		      const struct condition *c, const struct whole *w)
{
	static const double fractions[] = {
		[MEDIAN] = 0.5, [P75] = 0.75, [P90] = 0.9, [P95] = 0.95};
	const struct judge_point *points = RECORDS(in, points, judge_point);
	struct sketch *sketch = calloc(1, sizeof(*sketch));
	int err = sketch ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < in->points.count; i++)
		if (selected(c, &points[i]))
			err = wire_sketch_add(sketch, points[i].sketch);
	if (!err && sketch->n == 0)
		err = -EINVAL;
	if (!err) { /* the bounds are exact, the sketch is not */
		double value = sketch_quantile(sketch, fractions[c->choice]);

		*ret = value < w->min   ? w->min
		       : value > w->max ? w->max
					: value;
	}
	free(sketch);
	return err;
}

/* @return 0; -ENODATA it cannot be computed; -ENOMEM */
static int statistic(double *ret, const struct judge_input *in,
		     const struct condition *c, const struct whole *w)
{
	int err;

	if (w->points == 1) {
		*ret = of_one(&w->only->d, c->choice);
		return 0;
	}
	switch (c->choice) {
	case AVG:
		*ret = w->sum / w->n;
		return 0;
	case MIN:
		*ret = w->min;
		return 0;
	case MAX:
		*ret = w->max;
		return 0;
	default:
		if (!w->sketched)
			return -ENODATA;
		err = percentile(ret, in, c, w);
		return err == -EINVAL ? -ENODATA : err;
	}
}

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const char *name = measure_name(c->measure);
	const char *direction = c->outgoing ? "out" : "in";
	char text[200], expected[LIMIT_TEXT_BYTES], actual[NUMBER_TEXT_BYTES];
	char sentence[JUDGE_REASON_BYTES];
	struct verdict v = {.role = c->set->role,
			    .condition_type = c->set->name,
			    .text = text,
			    .expected = expected,
			    .actual = actual,
			    .sentence = sentence};
	struct whole w;
	double value;
	int err = -ENOENT;

	limit_text(expected, &c->limit, "");
	str_print(text, sizeof(text), "%s: %s of %s '%s' over the run %s",
		  c->set->role, condition_statistics[c->choice], name,
		  direction, expected);
	collect(&w, in, c);
	if (w.points)
		err = statistic(&value, in, c, &w);
	if (err == -ENOMEM)
		return err;
	memcpy(actual, "none", 5);
	if (err) {
		str_print(sentence, sizeof(sentence),
			  "%s: %s of %s '%s' is unknown (%s), expected %s",
			  c->set->role, condition_statistics[c->choice], name,
			  direction,
			  err == -ENOENT
				  ? "it was not measured"
				  : "the agent sent no sketches to merge "
				    "the intervals",
			  expected);
		return verdict_add(verdicts, &v);
	}
	number_text(actual, value, "");
	v.passed = limit_holds(&c->limit, value);
	str_print(sentence, sizeof(sentence),
		  "%s: %s of %s '%s' was %s, expected %s", c->set->role,
		  condition_statistics[c->choice], name, direction, actual,
		  expected);
	return verdict_add(verdicts, &v);
}

static bool needs_audio(const struct condition *c)
{
	return strncmp(measure_name(c->measure), "audio_", 6) == 0;
}

/* clang-format off */
static const struct condition_field rtp_fields[] = {
	{.name = "type_rtp_measures", .word = "Measure", .choice_at = measure_name_at},
	{.name = "type_statistics", .word = "Statistic", .choices = condition_statistics},
	{.name = "direction", .word = "Direction", .choices = condition_directions},
	{.name = "type", .word = "Comparison", .choices = condition_compares},
	{.name = "value", .word = "Limit", .range = measure_range, .range_by = "type_rtp_measures"},
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_rtp = {
	.suffix = "rtp-advanced-conditions",
	.word = "Any measure",
	.scope = "all calls of the role",
	.help = "a statistic of all samples of one measure, over the whole run and all calls of the role",
	.fields = rtp_fields,
	.options = (const char *const[]){NULL},
	.needs_points = true,
	.needs_audio = needs_audio,
	.parse = parse,
	.judge = judge,
};
