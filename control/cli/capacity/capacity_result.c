#include "control/cli/capacity/capacity_result.h"

#include "base/str.h"
#include "control/cli/common/exit_code.h"
#include "control/cli/common/terminal.h"
#include "control/wire/json.h"
#include "control/wire/text.h"

#include <string.h>

const char *capacity_result_unit(bool is_rate)
{
	return is_rate ? "calls/s" : "calls at a time";
}

/* ---- what limits ---- */

static const char *sentence_of(const struct capacity_result *o,
			       enum search_outcome of, unsigned cause)
{
	size_t count;
	const struct search_trial *trials = search_trials(o->search, &count);

	while (count-- > 0)
		if (trials[count].outcome == of && !trials[count].discarded &&
		    (of != SEARCH_FAILED || trials[count].cause == cause))
			return text_of(json_array_get(o->runs, count),
				       "sentence");
	return "";
}

const char *capacity_result_sentence(const struct capacity_result *o,
				     const struct search_result *r)
{
	if (r->limit == SEARCH_LIMIT_TESTER)
		return sentence_of(o, SEARCH_SATURATED, SEARCH_CAUSE_NONE);
	return r->cause == SEARCH_CAUSE_NONE
		       ? ""
		       : sentence_of(o, SEARCH_FAILED, r->cause);
}

const char *capacity_result_cause(const struct capacity_result *o,
				  const struct search_result *r)
{
	const char *text = r->cause == SEARCH_CAUSE_NONE
				   ? NULL
				   : json_string_value(json_array_get(
					     o->causes, r->cause));

	return text ? text : "";
}

/* ---- text ---- */

void capacity_result_text(const struct capacity_result *o,
			  const struct search_result *r,
			  char text[static CAPACITY_TEXT_BYTES])
{
	const char *unit = capacity_result_unit(o->is_rate);
	const char *so_far = r->reached ? "" : " so far";

	if (r->limit == SEARCH_LIMIT_ABOVE)
		str_print(text, CAPACITY_TEXT_BYTES,
			  "at least %.10g %s: the highest load holds", r->lower,
			  unit);
	else if (r->limit == SEARCH_LIMIT_BELOW)
		str_print(text, CAPACITY_TEXT_BYTES,
			  "below %.10g %s: the lowest load fails", r->upper,
			  unit);
	else if (r->has_lower && r->has_upper)
		str_print(text, CAPACITY_TEXT_BYTES, "%.10g to %.10g %s%s",
			  r->lower, r->upper, unit, so_far);
	else if (r->has_lower)
		str_print(text, CAPACITY_TEXT_BYTES, "at least %.10g %s%s",
			  r->lower, unit, so_far);
	else if (r->has_upper)
		str_print(text, CAPACITY_TEXT_BYTES, "below %.10g %s%s",
			  r->upper, unit, so_far);
	else
		str_print(text, CAPACITY_TEXT_BYTES, "not known");
}

static void put(FILE *out, const char *text)
{
	terminal_print(out, text, 0);
}

static void print_limit(FILE *out, const struct capacity_result *o,
			const struct search_result *r)
{
	const char *cause = capacity_result_cause(o, r);
	const char *sentence = capacity_result_sentence(o, r);

	if (r->limit == SEARCH_LIMIT_ABOVE || (!cause[0] && !sentence[0]))
		return;
	fputs(r->limit == SEARCH_LIMIT_TESTER
		      ? "Limited by the tester, the target can do more"
		      : "Limited by the target",
	      out);
	if (cause[0]) {
		fputs(": ", out);
		put(out, cause);
	}
	fputs("\n  ", out);
	put(out, sentence);
	fputc('\n', out);
}

void capacity_result_print(FILE *out, const struct capacity_result *o)
{
	char text[CAPACITY_TEXT_BYTES];
	struct search_result r;
	size_t count;

	search_result(o->search, &r);
	(void)search_trials(o->search, &count);
	capacity_result_text(o, &r, text);
	fputs("Capacity of ", out);
	put(out, o->test);
	fprintf(out, ": %s (95 %% confidence, %zu trial%s)\n", text, count,
		count == 1 ? "" : "s");
	print_limit(out, o, &r);
	if (r.not_monotone)
		fputs("A higher load held and a lower one failed: the result "
		      "is about the lower one\n",
		      out);
	if (o->broken_off) {
		fputs("The search is not complete: ", out);
		put(out, o->broken_off);
		fputc('\n', out);
	} else if (!r.reached) {
		fprintf(out,
			"The interval is wider than %.10g %%: the limit is not "
			"sharp (its spread is about %.0f %%); longer trials or "
			"a higher --max-trials may help\n",
			100 * o->params->width, 100 * r.spread);
	}
	if (o->least > 0)
		fprintf(out, "At least %.10g %s were asked for: %s\n", o->least,
			capacity_result_unit(o->is_rate),
			capacity_result_exit(o) == CLI_EXIT_OK ? "reached"
			: capacity_result_exit(o) == CLI_EXIT_FAILED
				? "not reached"
				: "not known");
}

/* ---- JSON ---- */

static const char *const outcomes[] = {
	[SEARCH_HELD] = "held",
	[SEARCH_FAILED] = "failed",
	[SEARCH_SATURATED] = "saturated",
};

static const char *const limits[] = {
	[SEARCH_LIMIT_TARGET] = "target",
	[SEARCH_LIMIT_TESTER] = "tester",
	[SEARCH_LIMIT_ABOVE] = "above",
	[SEARCH_LIMIT_BELOW] = "below",
};

static json_t *trials_json(const struct capacity_result *o)
{
	json_t *array = json_array();
	size_t count;
	const struct search_trial *trials = search_trials(o->search, &count);

	for (size_t i = 0; i < count; i++) {
		const struct search_trial *t = &trials[i];
		json_t *trial = json_pack(
			"{s:f, s:s, s:b, s:O?}", "load", t->load, "outcome",
			outcomes[t->outcome], "discarded", t->discarded,
			"condition",
			t->cause == SEARCH_CAUSE_NONE
				? NULL
				: json_array_get(o->causes, t->cause));

		if (!trial ||
		    json_object_update(trial, json_array_get(o->runs, i)) ||
		    json_array_append_new(array, trial)) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *text_or_null(const char *text)
{
	return text[0] ? json_string(text) : json_null();
}

static json_t *result_json(const struct capacity_result *o)
{
	struct search_result r;

	search_result(o->search, &r);
	return json_pack(
		"{s:o, s:o, s:f, s:f, s:i, s:s, s:o, s:o, s:b, s:b}", "lower",
		json_real_or_null(r.has_lower, r.lower), "upper",
		json_real_or_null(r.has_upper, r.upper), "capacity", r.capacity,
		"spread_percent", 100 * r.spread, "confidence_percent", 95,
		"limit",
		r.reached || r.cause != SEARCH_CAUSE_NONE ? limits[r.limit]
							  : "unknown",
		"condition", text_or_null(capacity_result_cause(o, &r)),
		"sentence", text_or_null(capacity_result_sentence(o, &r)),
		"reached", r.reached, "not_monotone", r.not_monotone);
}

json_t *capacity_result_json(const struct capacity_result *o)
{
	return json_pack(
		"{s:s, s:s, s:{s:f, s:f, s:f, s:i, s:i}, s:f, s:o, s:o, s:s?}",
		"test", o->test, "unit",
		o->is_rate ? "calls_per_second" : "concurrent_calls", "search",
		"min", o->params->min, "max", o->params->max, "width_percent",
		100 * o->params->width, "repeats", (int)o->params->repeats,
		"max_trials", (int)o->params->trials_max, "seconds", o->seconds,
		"trials", trials_json(o), "result", result_json(o),
		"broken_off", o->broken_off);
}

int capacity_result_exit(const struct capacity_result *o)
{
	struct search_result r;

	search_result(o->search, &r);
	if (o->broken_off || !r.reached)
		return CLI_EXIT_ERRORED;
	if (r.limit == SEARCH_LIMIT_BELOW)
		return CLI_EXIT_FAILED;
	if (o->least <= 0 || r.lower >= o->least)
		return CLI_EXIT_OK;
	/* the target may well do more than the tester can tell */
	return r.limit == SEARCH_LIMIT_TESTER ? CLI_EXIT_ERRORED
					      : CLI_EXIT_FAILED;
}
