#include "control/server/judge/call_figure.h"

#include "base/str.h"
#include "control/server/sequence/mean_test.h"
#include "control/server/sequence/quantile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MS_MAX 3600000 /* one hour */

/* ---- the figures ---- */

static bool answered(const struct call_values *call, double *ret)
{
	*ret = call->established ? 100 : 0;
	return true;
}

static bool delay(const struct call_values *call, double *ret)
{
	*ret = call->has_pdd ? call->pdd_ms : INFINITY;
	return call->outgoing;
}

static bool mos(const struct call_values *call, double *ret)
{
	*ret = call->mos;
	return call->established;
}

static bool loss(const struct call_values *call, double *ret)
{
	*ret = call->loss_pct;
	return call->established;
}

/* clang-format off */
const char *const call_figure_names[] = {"answer_seizure_ratio", "pdd_p95", "mos_p05", "loss_rate", NULL};

const struct call_figure call_figures[] = {
	{"answer-seizure ratio", " %", 0, 100, 0, COMPARE_GE, "", "", "", answered},
	{"95th percentile of the post-dial delay", " ms", 0, TIME_MS_MAX, 0.95, COMPARE_LE, "longer than", "of at least", "95th percentile", delay},
	{"5th percentile of the MOS", "", 1, 5, 0.05, COMPARE_GE, "below", "of at most", "5th percentile", mos},
	{"packet loss", " %", 0, 100, 0, COMPARE_LE, "", "", "", loss},
};
/* clang-format on */

const char *const call_figure_options[] = {"stop_early", NULL};

bool call_figure_replaces_calls(const struct condition *c)
{
	return call_figures[c->choice].value == answered;
}

/* ---- what each call adds ---- */

struct timed_call {
	int64_t mono_ns;
	size_t order;
	const struct call_record *call;
};

static int by_time(const void *a, const void *b)
{
	const struct timed_call *x = a, *y = b;

	if (x->mono_ns != y->mono_ns)
		return x->mono_ns < y->mono_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static size_t collect_calls(const struct judge_input *in, const char *role,
			    struct timed_call *timed)
{
	const struct call_record *calls = RECORDS(in, calls, call_record);
	size_t count = 0;

	for (size_t i = 0; i < in->calls.count; i++) {
		if (strcmp(calls[i].role, role) != 0)
			continue;
		timed[count++] = (struct timed_call){
			.mono_ns = calls[i].state_count
					   ? calls[i].states[0].mono_ns
					   : INT64_MAX,
			.order = i,
			.call = &calls[i],
		};
	}
	qsort(timed, count, sizeof(*timed), by_time);
	return count;
}

int call_figure_collect(const struct judge_input *in, const char *role,
			const struct call_figure *f, double **ret,
			size_t *ret_count)
{
	struct timed_call *timed = calloc(in->calls.count + 1, sizeof(*timed));
	double *values = calloc(in->calls.count + 1, sizeof(*values));
	size_t calls, count = 0;

	if (!timed || !values) {
		free(timed);
		free(values);
		return -ENOMEM;
	}
	calls = collect_calls(in, role, timed);
	for (size_t i = 0; i < calls; i++) {
		struct call_values v;

		if (in->in_progress && !timed[i].call->finished)
			break;
		call_values_of(&v, timed[i].call);
		count += f->value(&v, &values[count]);
	}
	free(timed);
	*ret = values;
	*ret_count = count;
	return 0;
}

double call_figure_part(const struct call_figure *f, enum compare compare,
			double limit, double value)
{
	if (f->share <= 0)
		return value / 100;
	if (f->usual == COMPARE_LE)
		return compare == f->usual ? value > limit : value >= limit;
	return compare == f->usual ? value < limit : value <= limit;
}

/* ---- sentences ---- */

static void mean_text(char text[static CALL_FIGURE_BYTES], double *values,
		      size_t count, double error)
{
	double sum = 0, low, high;

	for (size_t i = 0; i < count; i++) {
		sum += values[i];
		values[i] /= 100;
	}
	mean_interval(values, count, error, &low, &high);
	str_print(text, CALL_FIGURE_BYTES,
		  "%.2f %% over %zu calls (between %.2f and %.2f %%)",
		  sum / (double)count, count, 100 * low, 100 * high);
}

/* Two decimals of a score, whole milliseconds. */
static void end_text(char text[static NUMBER_TEXT_BYTES],
		     const struct call_figure *f, double value)
{
	if (isinf(value))
		str_print(text, NUMBER_TEXT_BYTES, "?");
	else
		str_print(text, NUMBER_TEXT_BYTES, "%.*f", f->unit[0] ? 0 : 2,
			  value);
}

static void quantile_text(char text[static CALL_FIGURE_BYTES],
			  const struct call_figure *f, double *values,
			  size_t count, double error)
{
	char from[NUMBER_TEXT_BYTES], to[NUMBER_TEXT_BYTES];
	double low, high;

	quantile_interval(values, count, f->share, error, &low, &high);
	end_text(from, f, low);
	end_text(to, f, high);
	str_print(text, CALL_FIGURE_BYTES,
		  "%s between %s and %s%s over %zu calls", f->ordinal, from, to,
		  f->unit, count);
}

void call_figure_text(char text[static CALL_FIGURE_BYTES],
		      const struct call_figure *f, double *values, size_t count,
		      double error)
{
	if (f->share > 0)
		quantile_text(text, f, values, count, error);
	else
		mean_text(text, values, count, error);
}

/* ---- the member confidence ---- */

int call_figure_confidence(struct condition *c, struct judge_problem *problem)
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

struct condition_range call_figure_confidence_range(unsigned choice)
{
	(void)choice;
	return (struct condition_range){" %", CONFIDENCE_MIN, CONFIDENCE_MAX};
}
