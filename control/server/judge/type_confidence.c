/* {role}-confidence-conditions: a figure of many calls that is known only as far as the number of
 * calls tells. Three answers: it holds, it does not, the calls were too few to tell. */
#include "base/str.h"
#include "control/server/judge/call_figure.h"
#include "control/server/sequence/mean_decision.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static const char *const compares[] = {"ge", "le", NULL};

/* True if the mean of the parts has to be above what mean_limit() gives. */
static bool wants_above(const struct condition *c)
{
	const struct call_figure *f = &call_figures[c->choice];

	return f->share > 0 ? c->limit.compare != f->usual
			    : c->limit.compare == COMPARE_GE;
}

/* Of a percentile: the share of calls that may be beyond the limit. */
static double mean_limit(const struct condition *c)
{
	const struct call_figure *f = &call_figures[c->choice];

	return f->share > 0 ? fmin(f->share, 1 - f->share)
			    : c->limit.value / 100;
}

static int parse(struct condition *c, struct judge_problem *problem)
{
	const struct call_figure *f;
	int err = condition_choice(&c->choice, c, "figure", call_figure_names,
				   problem);

	if (err)
		return err;
	f = &call_figures[c->choice];
	err = limit_parse(&c->limit, c->item, f->min, f->max, problem);
	if (err)
		return err;
	if (c->limit.compare != COMPARE_GE && c->limit.compare != COMPARE_LE)
		return condition_refuse(problem, "type",
					"type must be ge or le: whether a "
					"figure of many calls is exactly a "
					"value cannot be proved");
	return call_figure_confidence(c, problem);
}

static double part(const struct condition *c, double value)
{
	return call_figure_part(&call_figures[c->choice], c->limit.compare,
				c->limit.value, value);
}

/* The first answer counts: one may look after each call. */
static void decide(struct mean_decision *d, const double *values, size_t count,
		   const struct condition *c)
{
	mean_decision_begin(d, mean_limit(c), mean_limit(c),
			    1 - c->confidence / 100);
	for (size_t i = 0; i < count && d->side == MEAN_OPEN; i++)
		mean_decision_add(d, part(c, values[i]), part(c, values[i]));
}

static int answer(const struct judge_input *in, const struct condition *c,
		  enum condition_answer *ret)
{
	struct mean_decision d;
	double *values;
	size_t count;
	int err = call_figure_collect(
		in, c->set->role, &call_figures[c->choice], &values, &count);

	if (err)
		return err;
	decide(&d, values, count, c);
	free(values);
	if (d.side == MEAN_OPEN)
		*ret = ANSWER_OPEN;
	else
		*ret = (d.side == MEAN_ABOVE) == wants_above(c) ? ANSWER_HOLDS
								: ANSWER_FAILS;
	return 0;
}

#define ACTUAL_BYTES (CALL_FIGURE_BYTES + 160)

/* "2.00 % of 400 calls longer than 2000 ms (between 0.96 and 3.50 %), 95th percentile between ..." */
static int percentile_text(char text[static ACTUAL_BYTES],
			   const struct condition *c, double *values,
			   size_t count, double error)
{
	const struct call_figure *f = &call_figures[c->choice];
	double *parts = calloc(count, sizeof(*parts)), sum = 0, low, high;
	char limit[NUMBER_TEXT_BYTES], range[CALL_FIGURE_BYTES];

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		parts[i] = part(c, values[i]);
		sum += parts[i];
	}
	mean_interval(parts, count, error, &low, &high);
	free(parts);
	number_text(limit, c->limit.value, f->unit);
	call_figure_text(range, f, values, count, error);
	str_print(text, ACTUAL_BYTES,
		  "%.2f %% of %zu calls %s %s (between %.2f and %.2f %%), %s",
		  100 * sum / (double)count, count,
		  c->limit.compare == f->usual ? f->few : f->many, limit,
		  100 * low, 100 * high, range);
	return 0;
}

static int actual_text(char text[static ACTUAL_BYTES],
		       const struct condition *c, double *values, size_t count)
{
	double error = 1 - c->confidence / 100;
	char mean[CALL_FIGURE_BYTES];

	if (call_figures[c->choice].share > 0)
		return percentile_text(text, c, values, count, error);
	call_figure_text(mean, &call_figures[c->choice], values, count, error);
	str_print(text, ACTUAL_BYTES, "%s", mean);
	return 0;
}

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const struct call_figure *f = &call_figures[c->choice];
	char text[160], expected[LIMIT_TEXT_BYTES], actual[ACTUAL_BYTES] = "";
	char sentence[2 * JUDGE_REASON_BYTES];
	struct verdict v = {.role = c->set->role,
			    .condition_type = c->set->name,
			    .text = text,
			    .expected = expected,
			    .actual = actual,
			    .sentence = sentence};
	struct mean_decision d = {.side = MEAN_OPEN};
	double *values;
	size_t count;
	int err = call_figure_collect(in, c->set->role, f, &values, &count);

	if (err)
		return err;
	limit_text(expected, &c->limit, f->unit);
	str_print(text, sizeof(text), "%s: %s %s, with %g %% confidence",
		  c->set->role, f->name, expected, c->confidence);
	if (count) {
		decide(&d, values, count, c);
		err = actual_text(actual, c, values, count);
	}
	free(values);
	if (err)
		return err;
	v.passed = d.side == (wants_above(c) ? MEAN_ABOVE : MEAN_BELOW);
	v.undecided = d.side == MEAN_OPEN;
	if (!count)
		str_print(sentence, sizeof(sentence),
			  "%s: not enough calls: there was none, so there is "
			  "no %s, expected %s",
			  c->set->role, f->name, expected);
	else if (v.undecided)
		str_print(sentence, sizeof(sentence),
			  "%s: not enough calls to tell whether the %s is %s: "
			  "%s, with %g %% confidence",
			  c->set->role, f->name, expected, actual,
			  c->confidence);
	else
		str_print(sentence, sizeof(sentence),
			  "%s: the %s is not %s: %s; certain to %g %% after "
			  "%zu calls",
			  c->set->role, f->name, expected, actual,
			  c->confidence, d.count);
	return verdict_add(verdicts, &v);
}

static struct condition_range value_range(unsigned choice)
{
	const struct call_figure *f = &call_figures[choice];

	return (struct condition_range){f->unit, f->min, f->max};
}

/* clang-format off */
static const struct condition_field fields[] = {
	{.name = "figure", .word = "Figure", .choices = call_figure_names},
	{.name = "type", .word = "Comparison", .choices = compares},
	{.name = "value", .word = "Limit", .range = value_range, .range_by = "figure"},
	{.name = "confidence", .word = "Confidence", .range = call_figure_confidence_range, .optional = true,
	 .help = "95 if it is not given"},
	{.name = NULL},
};
/* clang-format on */

const struct condition_type condition_confidence = {
	.suffix = "confidence-conditions",
	.word = "Figure of many calls, with confidence",
	.scope = "all calls of the role",
	.help = "a figure of many calls, as far as their number tells",
	.fields = fields,
	.options = call_figure_options,
	.replaces_calls = call_figure_replaces_calls,
	.parse = parse,
	.answer = answer,
	.judge = judge,
};
