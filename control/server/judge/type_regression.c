/* {role}-regression-conditions: a figure of many calls is not worse than in the last runs of the test that
 * passed. It fails only where the calls prove it, and holds where they prove that it is not worse by more
 * than the margin. */
#include "base/str.h"
#include "control/server/judge/call_figure.h"
#include "control/server/sequence/mean_decision.h"
#include "control/server/sequence/mean_test.h"
#include "control/server/sequence/quantile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RUNS_DEFAULT 5

/* ---- the condition ---- */

/* Parse a member that may be a number or a text. @return false: it is neither, or out of range */
static bool number(double *ret, const json_t *item, const char *member,
		   double min, double max)
{
	const json_t *given = json_object_get(item, member);
	const char *text = json_string_value(given);

	*ret = json_number_value(given);
	if (text ? str_to_double(text, ret) != 0 : !json_is_number(given))
		return false;
	return *ret >= min && *ret <= max;
}

static int parse(struct condition *c, struct judge_problem *problem)
{
	const struct call_figure *f;
	double runs = RUNS_DEFAULT;
	int err = condition_choice(&c->choice, c, "figure", call_figure_names,
				   problem);

	if (err)
		return err;
	f = &call_figures[c->choice];
	if (!number(&c->margin, c->item, "margin", 0, f->max - f->min))
		return condition_refuse(problem, "margin",
					"margin must be a number from 0 to %g: "
					"how much worse the figure may be",
					f->max - f->min);
	if (json_object_get(c->item, "runs") &&
	    (!number(&runs, c->item, "runs", 1, JUDGE_EARLIER_MAX) ||
	     runs != floor(runs)))
		return condition_refuse(problem, "runs",
					"runs must be a whole number from 1 to "
					"%u",
					JUDGE_EARLIER_MAX);
	c->runs = (unsigned)runs;
	return call_figure_confidence(c, problem);
}

/* ---- the earlier runs ---- */

struct baseline {
	double *values; /* as call_figure_collect() has them */
	size_t count;
	size_t runs; /* that had such calls */
};

static int collect_earlier(const struct judge_input *in,
			   const struct condition *c, struct baseline *ret)
{
	const struct call_figure *f = &call_figures[c->choice];
	struct baseline b = {.count = 0};
	size_t all = 0;

	for (size_t i = 0; i < in->earlier_count && i < c->runs; i++)
		all += in->earlier[i].count;
	b.values = calloc(all + 1, sizeof(*b.values));
	if (!b.values)
		return -ENOMEM;
	for (size_t i = 0; i < in->earlier_count && i < c->runs; i++) {
		const struct earlier_call *calls = in->earlier[i].items;
		size_t before = b.count;

		for (size_t k = 0; k < in->earlier[i].count; k++)
			if (strcmp(calls[k].role, c->set->role) == 0)
				b.count += f->value(&calls[k].values,
						    &b.values[b.count]);
		b.runs += b.count > before;
	}
	*ret = b;
	return 0;
}

/* ---- the decision ---- */

/* Where the figure may be at most, known as an interval. Low values of some figures are the bad ones. */
struct bound {
	double worse; /* beyond it is proved to be worse than before by more than the margin */
	double better; /* on its other side it is proved not to be */
};

/* 4.4 - 1.4 is more than 3 by the last bit of a double, and a MOS of 3 would be below it. */
static double rounded(double bound)
{
	return round(bound * 1e9) / 1e9;
}

/* @return 0; -ENOMEM */
static int bound_of(struct bound *ret, const struct condition *c,
		    const struct baseline *b, double error)
{
	const struct call_figure *f = &call_figures[c->choice];
	bool high_is_bad = f->usual == COMPARE_LE;
	double *values = calloc(b->count, sizeof(*values));
	double low, high;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < b->count; i++)
		values[i] = f->share > 0 ? b->values[i] : b->values[i] / 100;
	if (f->share > 0) {
		quantile_interval(values, b->count, f->share, error, &low,
				  &high);
	} else {
		mean_interval(values, b->count, error, &low, &high);
		low *= 100;
		high *= 100;
	}
	free(values);
	ret->worse = rounded(high_is_bad ? high + c->margin : low - c->margin);
	ret->better = rounded(high_is_bad ? low + c->margin : high - c->margin);
	return 0;
}

static double mean_limit(const struct call_figure *f, double bound)
{
	if (f->share > 0)
		return fmin(f->share, 1 - f->share);
	return fmin(fmax(bound / 100, 0), 1);
}

enum answer {
	UNDECIDED,
	NOT_WORSE,
	WORSE
};

/* Half of the error is for where the earlier runs lie, half for where this one does. The first answer
 * counts: one may look after each call. */
static enum answer decide(const struct condition *c, struct bound bound,
			  const double *values, size_t count, size_t *ret_after)
{
	const struct call_figure *f = &call_figures[c->choice];
	/* of a percentile the mean is the share of calls beyond the limit */
	bool above_is_worse = f->share > 0 || f->usual == COMPARE_LE;
	double above = above_is_worse ? bound.worse : bound.better;
	double below = above_is_worse ? bound.better : bound.worse;
	struct mean_decision d;

	mean_decision_begin(&d, mean_limit(f, above), mean_limit(f, below),
			    (1 - c->confidence / 100) / 2);
	for (size_t i = 0; i < count && d.side == MEAN_OPEN; i++)
		mean_decision_add(
			&d, call_figure_part(f, f->usual, above, values[i]),
			call_figure_part(f, f->usual, below, values[i]));
	*ret_after = d.count;
	if (d.side == MEAN_OPEN)
		return UNDECIDED;
	return (d.side == MEAN_ABOVE) == above_is_worse ? WORSE : NOT_WORSE;
}

/* ---- the verdict ---- */

struct finding {
	enum answer answer;
	size_t runs;  /* that were compared with */
	size_t count; /* calls of this run */
	size_t after; /* calls that were needed */
	char now[CALL_FIGURE_BYTES];
	char before[CALL_FIGURE_BYTES];
};

static int find(const struct judge_input *in, const struct condition *c,
		struct finding *ret)
{
	const struct call_figure *f = &call_figures[c->choice];
	const double error = 1 - c->confidence / 100;
	struct baseline b = {.values = NULL};
	double *values = NULL;
	struct bound bound = {.worse = 0};
	int err =
		call_figure_collect(in, c->set->role, f, &values, &ret->count);

	if (!err)
		err = collect_earlier(in, c, &b);
	if (!err && b.count)
		err = bound_of(&bound, c, &b, error);
	if (!err && b.count) {
		ret->answer = decide(c, bound, values, ret->count, &ret->after);
		call_figure_text(ret->before, f, b.values, b.count, error);
	}
	if (!err && ret->count)
		call_figure_text(ret->now, f, values, ret->count, error);
	ret->runs = b.runs;
	free(b.values);
	free(values);
	return err;
}

/* Until there are so many runs as are asked for, a run holds unless it is proved to be worse: else none would
 * ever pass, and there would be nothing to compare with. */
static bool learns(const struct condition *c, const struct finding *found)
{
	return found->runs < c->runs;
}

static int answer(const struct judge_input *in, const struct condition *c,
		  enum condition_answer *ret)
{
	static const enum condition_answer answers[] = {
		[UNDECIDED] = ANSWER_OPEN,
		[NOT_WORSE] = ANSWER_HOLDS,
		[WORSE] = ANSWER_FAILS,
	};
	struct finding found = {.answer = UNDECIDED};
	int err = find(in, c, &found);

	if (!err)
		*ret = answers[found.answer];
	return err;
}

static void found_text(char *text, size_t size, const struct condition *c,
		       const struct finding *found)
{
	if (!found->count)
		str_print(text, size, "no such call");
	else if (!found->runs)
		str_print(text, size, "%s; no run has passed before",
			  found->now);
	else
		str_print(text, size, "%s; before %s in %zu of %u passed runs",
			  found->now, found->before, found->runs, c->runs);
}

#define ACTUAL_BYTES (2 * CALL_FIGURE_BYTES + 80)

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const struct call_figure *f = &call_figures[c->choice];
	char text[240], expected[80], actual[ACTUAL_BYTES];
	char margin[NUMBER_TEXT_BYTES], sentence[2 * JUDGE_REASON_BYTES];
	struct verdict v = {.role = c->set->role,
			    .condition_type = c->set->name,
			    .text = text,
			    .expected = expected,
			    .actual = actual,
			    .sentence = sentence};
	struct finding found = {.answer = UNDECIDED};
	int err = find(in, c, &found);

	if (err)
		return err;
	number_text(margin, c->margin, f->unit);
	str_print(expected, sizeof(expected), "at most %s worse", margin);
	found_text(actual, sizeof(actual), c, &found);
	str_print(text, sizeof(text),
		  "%s: %s %s than in the last %u passed runs, with %g %% "
		  "confidence",
		  c->set->role, f->name, expected, c->runs, c->confidence);
	v.passed = found.count &&
		   (found.answer == NOT_WORSE ||
		    (found.answer == UNDECIDED && learns(c, &found)));
	v.undecided = !v.passed && found.answer == UNDECIDED;
	if (v.undecided)
		str_print(sentence, sizeof(sentence),
			  "%s: not enough calls to tell whether the %s is %s "
			  "than in the last %u passed runs: %s, with %g %% "
			  "confidence",
			  c->set->role, f->name, expected, c->runs, actual,
			  c->confidence);
	else
		str_print(sentence, sizeof(sentence),
			  "%s: the %s is worse than in the last %u passed "
			  "runs by more than %s: %s; certain to %g %% after "
			  "%zu calls",
			  c->set->role, f->name, c->runs, margin, actual,
			  c->confidence, found.after);
	return verdict_add(verdicts, &v);
}

static struct condition_range margin_range(unsigned choice)
{
	const struct call_figure *f = &call_figures[choice];

	return (struct condition_range){f->unit, 0, f->max - f->min};
}

static struct condition_range runs_range(unsigned choice)
{
	(void)choice;
	return (struct condition_range){"", 1, JUDGE_EARLIER_MAX};
}

/* clang-format off */
static const struct condition_field fields[] = {
	{.name = "figure", .word = "Figure", .choices = call_figure_names},
	{.name = "margin", .word = "May be worse by", .range = margin_range, .range_by = "figure"},
	{.name = "runs", .word = "Passed runs to compare with", .range = runs_range, .optional = true,
	 .help = "5 if it is not given"},
	{.name = "confidence", .word = "Confidence", .range = call_figure_confidence_range, .optional = true,
	 .help = "95 if it is not given"},
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_regression = {
	.suffix = "regression-conditions",
	.word = "Figure of many calls, against the last passed runs",
	.scope = "all calls of the role",
	.help = "the figure is not worse than in the last runs that passed",
	.fields = fields,
	.options = call_figure_options,
	.replaces_calls = call_figure_replaces_calls,
	.parse = parse,
	.answer = answer,
	.judge = judge,
};
