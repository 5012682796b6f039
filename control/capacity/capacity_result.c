#include "control/capacity/capacity_result.h"

#include "base/str.h"
#include "control/capacity/trial.h"
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
			  "below %.10g %s: the lowest load, %.10g, fails",
			  r->upper, unit, o->params->min);
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

/* ---- JSON ---- */

static const char *const limits[] = {
	[SEARCH_LIMIT_TARGET] = "target",
	[SEARCH_LIMIT_TESTER] = "tester",
	[SEARCH_LIMIT_ABOVE] = "above",
	[SEARCH_LIMIT_BELOW] = "below",
};

json_t *capacity_result_trials(const struct capacity_result *o)
{
	json_t *array = json_array();
	size_t count;
	const struct search_trial *trials = search_trials(o->search, &count);

	for (size_t i = 0; i < count; i++) {
		const struct search_trial *t = &trials[i];
		json_t *trial = json_pack(
			"{s:f, s:s, s:b, s:O?}", "load", t->load, "outcome",
			trial_outcome_name(t->outcome), "discarded",
			t->discarded, "condition",
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

json_t *capacity_result_json(const struct capacity_result *o)
{
	char text[CAPACITY_TEXT_BYTES];
	struct search_result r;

	search_result(o->search, &r);
	capacity_result_text(o, &r, text);
	return json_pack(
		"{s:s, s:o, s:o, s:f, s:f, s:i, s:s, s:o, s:o, s:b, s:b}",
		"text", text, "lower", json_real_or_null(r.has_lower, r.lower),
		"upper", json_real_or_null(r.has_upper, r.upper), "capacity",
		r.capacity, "spread_percent", 100 * r.spread,
		"confidence_percent", 95, "limit",
		r.reached || r.cause != SEARCH_CAUSE_NONE ? limits[r.limit]
							  : "unknown",
		"condition", text_or_null(capacity_result_cause(o, &r)),
		"sentence", text_or_null(capacity_result_sentence(o, &r)),
		"reached", r.reached, "not_monotone", r.not_monotone);
}
