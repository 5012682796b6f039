/* {role}-confidence-conditions: a figure of many calls that is known only as far as the number of
 * calls tells. Three answers: it holds, it does not, the calls were too few to tell. */
#include "base/str.h"
#include "control/server/judge/condition.h"
#include "control/server/judge/mean_test.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE_DEFAULT 95
#define CONFIDENCE_MIN     50
#define CONFIDENCE_MAX     99.999
#define TIME_MS_MAX        3600000 /* one hour */
#define TAIL               0.05    /* beyond a 95th or 5th percentile */

/* A figure is judged by a value of each call, 0 to 1, and their mean. For a percentile the value is 1
 * for a call beyond the limit, and the mean is the share of these calls. */
struct figure {
	const char *name; /* for sentences */
	const char *unit;
	double min;
	double max;
	/* @return false: the call does not count */
	bool (*value)(const struct call_record *call, const struct limit *limit,
		      double *ret);
	enum compare usual; /* of a percentile: the operator for which calls
			     * beyond the limit are to be few */
	const char *few;    /* "longer than"; NULL: no percentile */
	const char *many;   /* with the other operator: "of at least" */
};

/* ---- the figures ---- */

static bool answered(const struct call_record *call, const struct limit *limit,
		     double *ret)
{
	(void)limit;
	*ret = call->established;
	return true;
}

static bool delayed(const struct call_record *call, const struct limit *limit,
		    double *ret)
{
	*ret = !call->has_pdd ||
	       (limit->compare == COMPARE_LE ? call->pdd_ms > limit->value
					     : call->pdd_ms >= limit->value);
	return call->outgoing;
}

/* The worst received stream. A call without a figure is as bad as can be. */
static double worst(const struct call_record *call, bool loss)
{
	double found = loss ? 0 : 5;
	size_t streams = 0;

	for (size_t i = 0; i < call->stream_count; i++) {
		const struct stream_record *s = &call->streams[i];

		if (s->outgoing)
			continue;
		streams++;
		if (loss)
			found = fmax(found, s->has_loss ? s->loss_pct : 100);
		else
			found = fmin(found, s->has_mos ? s->mos : 1);
	}
	if (!streams)
		return loss ? 100 : 1;
	return found;
}

static bool poor(const struct call_record *call, const struct limit *limit,
		 double *ret)
{
	double mos = worst(call, false);

	*ret = limit->compare == COMPARE_GE ? mos < limit->value
					    : mos <= limit->value;
	return call->established;
}

static bool lost(const struct call_record *call, const struct limit *limit,
		 double *ret)
{
	(void)limit;
	*ret = fmin(worst(call, true), 100) / 100;
	return call->established;
}

static const char *const names[] = {"answer_seizure_ratio", "pdd_p95",
				    "mos_p05", "loss_rate", NULL};
static const char *const compares[] = {"ge", "le", NULL};

/* clang-format off */
static const struct figure figures[] = {
	{"answer-seizure ratio", " %", 0, 100, answered, COMPARE_GE, NULL, NULL},
	{"95th percentile of the post-dial delay", " ms", 0, TIME_MS_MAX, delayed, COMPARE_LE, "longer than", "of at least"},
	{"5th percentile of the MOS", "", 1, 5, poor, COMPARE_GE, "below", "of at most"},
	{"packet loss", " %", 0, 100, lost, COMPARE_LE, NULL, NULL},
};
/* clang-format on */

/* True if the mean of the values has to be above what mean_limit() gives. */
static bool wants_above(const struct condition *c)
{
	const struct figure *f = &figures[c->choice];

	return f->few ? c->limit.compare != f->usual
		      : c->limit.compare == COMPARE_GE;
}

static double mean_limit(const struct condition *c)
{
	return figures[c->choice].few ? TAIL : c->limit.value / 100;
}

/* ---- the condition ---- */

static int parse_confidence(struct condition *c, struct judge_problem *problem)
{
	const json_t *given = json_object_get(c->item, "confidence");
	const char *text = json_string_value(given);

	c->confidence = given ? json_number_value(given) : CONFIDENCE_DEFAULT;
	if (text && str_to_double(text, &c->confidence))
		c->confidence = 0;
	if (c->confidence >= CONFIDENCE_MIN && c->confidence <= CONFIDENCE_MAX)
		return 0;
	return condition_refuse(
		problem, "confidence",
		"confidence must be a number from %d to %g (%%)",
		CONFIDENCE_MIN, CONFIDENCE_MAX);
}

static int parse(struct condition *c, struct judge_problem *problem)
{
	const struct figure *f;
	int err = condition_choice(&c->choice, c, "figure", names, problem);

	if (err)
		return err;
	f = &figures[c->choice];
	err = limit_parse(&c->limit, c->item, f->min, f->max, problem);
	if (err)
		return err;
	if (c->limit.compare != COMPARE_GE && c->limit.compare != COMPARE_LE)
		return condition_refuse(problem, "type",
					"type must be ge or le: whether a "
					"figure of many calls is exactly a "
					"value cannot be proved");
	return parse_confidence(c, problem);
}

struct timed_value {
	int64_t mono_ns;
	size_t order;
	double value;
};

static int by_time(const void *a, const void *b)
{
	const struct timed_value *x = a, *y = b;

	if (x->mono_ns != y->mono_ns)
		return x->mono_ns < y->mono_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* The values in the order in which the calls began. Calls that end soon must not come first: they are
 * not like the others. @return NULL: out of memory */
static struct timed_value *collect(const struct judge_input *in,
				   const struct condition *c, size_t *ret_count)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	struct timed_value *values =
		calloc(in->calls.count + 1, sizeof(*values));
	size_t n = 0;

	for (size_t i = 0; values && i < in->calls.count; i++) {
		struct timed_value *v = &values[n];

		if (strcmp(calls[i].role, c->set->role) != 0 ||
		    !figures[c->choice].value(&calls[i], &c->limit, &v->value))
			continue;
		v->mono_ns = calls[i].state_count ? calls[i].states[0].mono_ns
						  : INT64_MAX;
		v->order = i;
		n++;
	}
	if (values)
		qsort(values, n, sizeof(*values), by_time);
	*ret_count = n;
	return values;
}

enum answer {
	UNDECIDED,
	HOLDS,
	FAILS
};

/* The first answer counts: one may look after each call. */
static enum answer decide(const struct timed_value *values, size_t count,
			  const struct condition *c, size_t *ret_after)
{
	double enough = -log(1 - c->confidence / 100);
	bool above_holds = wants_above(c);
	struct mean_test above, below;

	mean_test_begin(&above, mean_limit(c));
	mean_test_begin(&below, 1 - mean_limit(c));
	for (size_t i = 0; i < count; i++) {
		mean_test_add(&above, values[i].value);
		mean_test_add(&below, 1 - values[i].value);
		*ret_after = i + 1;
		if (mean_test_evidence(&above) >= enough)
			return above_holds ? HOLDS : FAILS;
		if (mean_test_evidence(&below) >= enough)
			return above_holds ? FAILS : HOLDS;
	}
	return UNDECIDED;
}

/* "98.5 % of 400 calls (96.4 to 99.5 %)" */
static int actual_text(char *text, size_t size, const struct condition *c,
		       const struct timed_value *timed, size_t count)
{
	const struct figure *f = &figures[c->choice];
	double *values = calloc(count, sizeof(*values));
	char limit[NUMBER_TEXT_BYTES];
	double sum = 0, low, high;
	const char *beyond;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		values[i] = timed[i].value;
		sum += values[i];
	}
	mean_interval(values, count, 1 - c->confidence / 100, &low, &high);
	free(values);
	number_text(limit, c->limit.value, f->unit);
	beyond = c->limit.compare == f->usual ? f->few : f->many;
	str_print(text, size,
		  "%.2f %% %s %zu calls%s%s%s%s (between %.2f and %.2f %%)",
		  100 * sum / (double)count, f->few ? "of" : "over", count,
		  f->few ? " " : "", f->few ? beyond : "", f->few ? " " : "",
		  f->few ? limit : "", 100 * low, 100 * high);
	return 0;
}

static int judge(const struct judge_input *in, const struct condition *c,
		 json_t *verdicts)
{
	const struct figure *f = &figures[c->choice];
	char text[160], expected[LIMIT_TEXT_BYTES], actual[160] = "";
	char sentence[2 * JUDGE_REASON_BYTES];
	struct verdict v = {.role = c->set->role,
			    .condition_type = c->set->name,
			    .text = text,
			    .expected = expected,
			    .actual = actual,
			    .sentence = sentence};
	size_t count, after = 0;
	struct timed_value *values = collect(in, c, &count);
	enum answer answer = UNDECIDED;
	int err = values ? 0 : -ENOMEM;

	limit_text(expected, &c->limit, f->unit);
	str_print(text, sizeof(text), "%s: %s %s, with %g %% confidence",
		  c->set->role, f->name, expected, c->confidence);
	if (!err && count) {
		answer = decide(values, count, c, &after);
		err = actual_text(actual, sizeof(actual), c, values, count);
	}
	free(values);
	if (err)
		return err;
	v.passed = answer == HOLDS;
	v.undecided = answer == UNDECIDED;
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
			  c->confidence, after);
	return verdict_add(verdicts, &v);
}

bool condition_confidence_asks_answers(const struct condition *c)
{
	return c->set->type == &condition_confidence &&
	       figures[c->choice].value == answered;
}

static struct condition_range value_range(unsigned choice)
{
	const struct figure *f = &figures[choice];

	return (struct condition_range){f->unit, f->min, f->max};
}

static struct condition_range confidence_range(unsigned choice)
{
	(void)choice;
	return (struct condition_range){" %", CONFIDENCE_MIN, CONFIDENCE_MAX};
}

/* clang-format off */
static const struct condition_field fields[] = {
	{.name = "figure", .word = "Figure", .choices = names},
	{.name = "type", .word = "Comparison", .choices = compares},
	{.name = "value", .word = "Limit", .range = value_range, .range_by = "figure"},
	{.name = "confidence", .word = "Confidence", .range = confidence_range, .optional = true,
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
	.options = (const char *const[]){NULL},
	.parse = parse,
	.judge = judge,
};
