#include "control/capacity/stored_search.h"

#include "base/str.h"
#include "control/capacity/capacity_result.h"
#include "control/wire/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

const char *stored_search_unit(bool is_rate)
{
	return is_rate ? "calls_per_second" : "concurrent_calls";
}

static double number(const json_t *params, const char *name)
{
	return json_number_value(json_object_get(params, name));
}

static unsigned count(const json_t *params, const char *name)
{
	const double value = number(params, name);

	return value >= 0 && value <= 1e9 ? (unsigned)value : 0;
}

static void read_params(struct stored_search *s, const json_t *params)
{
	s->plan.is_rate =
		strcmp(text_of(params, "unit"), stored_search_unit(true)) == 0;
	s->plan.trial_s = count(params, "trial_s");
	s->plan.warm_up_s = count(params, "warm_up_s");
	s->cool_down_s = count(params, "cool_down_s");
	str_print(s->plan.action, sizeof(s->plan.action), "step.%.20s.",
		  text_of(params, "action"));
	s->params = (struct search_params){
		.min = number(params, "min"),
		.max = number(params, "max"),
		.width = number(params, "width_percent") / 100,
		.repeats = count(params, "repeats"),
		.trials_max = count(params, "max_trials"),
	};
	if (s->params.min > 0)
		s->params.step =
			trial_step(&s->plan, s->params.min, s->params.width);
}

/* True if a trial says something about the load. */
static bool outcome_of(const json_t *trial, enum search_outcome *ret)
{
	return trial_outcome_parse(text_of(trial, "outcome"), ret) == 0;
}

static int add(struct stored_search *s, const json_t *trial)
{
	struct trial_verdict v = {
		.condition = text_of(trial, "condition"),
		.sentence = text_of(trial, "sentence"),
	};

	if (!outcome_of(trial, &v.outcome)) {
		s->voids += strcmp(text_of(trial, "outcome"), "void") == 0;
		return 0;
	}
	s->voids = 0;
	return trial_log_add(&s->log, number(trial, "load"), &v,
			     text_of(trial, "session_id"), NULL);
}

int stored_search_load(struct stored_search *ret, const json_t *params,
		       const json_t *trials)
{
	const json_t *trial;
	size_t i;
	int err;

	*ret = (struct stored_search){.voids = 0};
	read_params(ret, params);
	err = trial_log_init(&ret->log, &ret->params);
	json_array_foreach(trials, i, trial)
	{
		if (err)
			break;
		err = add(ret, trial);
	}
	return err;
}

void stored_search_release(struct stored_search *s)
{
	trial_log_release(&s->log);
}

json_t *stored_search_result(const struct stored_search *s)
{
	const struct capacity_result o = {
		.is_rate = s->plan.is_rate,
		.params = &s->params,
		.search = s->log.search,
		.runs = s->log.runs,
		.causes = s->log.causes,
	};

	return capacity_result_json(&o);
}

int stored_search_mark(const struct stored_search *s, json_t *trials)
{
	enum search_outcome outcome;
	size_t learned, i, next = 0;
	const struct search_trial *of = search_trials(s->log.search, &learned);
	json_t *trial;

	json_array_foreach(trials, i, trial)
	{
		bool discarded = false;

		if (outcome_of(trial, &outcome) && next < learned)
			discarded = of[next++].discarded;
		if (json_object_set_new(trial, "discarded",
					json_boolean(discarded)))
			return -ENOMEM;
	}
	return 0;
}

json_t *stored_search_curve(const struct stored_search *s)
{
	const double ratio = s->params.max / s->params.min;
	json_t *curve = json_array();

	for (int i = 0; i <= STORED_SEARCH_POINTS; i++) {
		const double load =
			s->params.min *
			pow(ratio, (double)i / STORED_SEARCH_POINTS);

		if (json_array_append_new(
			    curve,
			    json_pack("{s:f, s:f}", "load", load, "share",
				      search_chance(s->log.search, load)))) {
			json_decref(curve);
			return NULL;
		}
	}
	return curve;
}
