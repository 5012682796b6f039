#include "control/server/capacity/capacity.h"

#include "base/log.h"
#include "conf/controller_conf.h"
#include "control/capacity/stored_search.h"
#include "control/server/capacity/capacity_internal.h"
#include "control/server/run/override.h"
#include "control/server/run/params.h"
#include "control/server/run/start.h"
#include "control/server/store/store.h"
#include "control/server/store/store_capacity.h"
#include "control/wire/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SECONDS_MAX   86400
#define POINTER_BYTES 80

_Static_assert(TRIAL_RATE_MAX == TRIAL_CALLS_MAX,
	       "min and max of a search have one range");

/* One a line. */
/* clang-format off */
static const struct step_param params[] = {
	{.name = "unit", .type = "string", .fallback = "\"concurrent_calls\"", .choices = "calls_per_second concurrent_calls"},
	{.name = "min", .type = "number", .ranged = true, .min = TRIAL_RATE_MIN, .max = TRIAL_CALLS_MAX},
	{.name = "max", .type = "number", .ranged = true, .min = TRIAL_RATE_MIN, .max = TRIAL_CALLS_MAX},
	{.name = "width_percent", .type = "number", .fallback = "10", .ranged = true, .min = 100 * SEARCH_WIDTH_MIN, .max = 100 * SEARCH_WIDTH_MAX},
	{.name = "repeats", .type = "integer", .fallback = "2", .ranged = true, .min = 1, .max = 100},
	{.name = "max_trials", .type = "integer", .fallback = "60", .ranged = true, .min = 1, .max = CAPACITY_TRIALS_MAX},
	{.name = "trial_s", .type = "integer", .fallback = "10", .ranged = true, .min = 1, .max = SECONDS_MAX},
	{.name = "warm_up_s", .type = "integer", .fallback = "2", .ranged = true, .min = 0, .max = SECONDS_MAX},
	{.name = "cool_down_s", .type = "integer", .fallback = "2", .ranged = true, .min = 0, .max = SECONDS_MAX},
	{.name = "action", .type = "string"},
};
/* clang-format on */

const struct step_param *capacity_param_at(size_t i)
{
	return i < sizeof(params) / sizeof(*params) ? &params[i] : NULL;
}

/* ---- the parameters ---- */

static void refuse(json_t *errors, const char *name, const char *text)
{
	char pointer[POINTER_BYTES];

	str_print(pointer, sizeof(pointer), "/%s", name);
	plan_error(errors, pointer, "%s", text);
}

static bool in_range(const struct step_param *p, const json_t *value)
{
	const double number = json_number_value(value);

	return !p->ranged || (number >= p->min && number <= p->max);
}

/* @return new reference; NULL: it is wrong (noted), or out of memory */
static json_t *read_one(const struct step_param *p, json_t *given,
			json_t *errors)
{
	char text[POINTER_BYTES];
	json_t *value = NULL;

	if (!given || json_is_null(given)) {
		if (p->fallback)
			return json_loads(p->fallback, JSON_DECODE_ANY, NULL);
		if (!p->ranged)
			return json_string("");
		refuse(errors, p->name, "must be given");
		return NULL;
	}
	if (param_normalize(p, given, &value) || !in_range(p, value) ||
	    (p->choices &&
	     !str_has_word(p->choices, json_string_value(value)))) {
		if (p->choices)
			str_print(text, sizeof(text), "must be one of: %s",
				  p->choices);
		else if (p->ranged)
			str_print(text, sizeof(text),
				  "must be %s from %.10g to %.10g",
				  param_type_name(p), p->min, p->max);
		else
			str_print(text, sizeof(text), "must be %s",
				  param_type_name(p));
		refuse(errors, p->name, text);
		json_decref(value);
		return NULL;
	}
	return value;
}

static json_t *read_params(json_t *values, json_t *errors)
{
	json_t *read = json_object();

	for (size_t i = 0; i < sizeof(params) / sizeof(*params); i++) {
		json_t *value = read_one(
			&params[i], json_object_get(values, params[i].name),
			errors);

		if (value)
			json_object_set_new(read, params[i].name, value);
	}
	return read;
}

/* ---- what a search needs ---- */

/* Resolve the action. */
static void find_action(const json_t *test, json_t *read, json_t *errors)
{
	const char *given = text_of(read, "action");
	char path[TRIAL_PATH_BYTES];
	int err = trial_find_action(json_object_get(test, "steps"),
				    given[0] ? given : NULL, path);

	if (err == -ENOENT)
		refuse(errors, "action", "the test has no `call` action");
	else if (err == -EEXIST)
		refuse(errors, "action",
		       "the test has several `call` actions: STEP.ACTION, "
		       "counted from 0, says which one gets the load");
	else if (err)
		refuse(errors, "action",
		       "the test has no `call` action there (STEP.ACTION, "
		       "counted from 0)");
	else /* "step.1.0." */
		json_object_set_new(read, "action",
				    json_stringn(path + 5, strlen(path) - 6));
}

static bool is_whole(double x)
{
	return fabs(x - round(x)) < 1e-9;
}

static void check_range(const struct stored_search *s,
			const struct controller_conf *conf, json_t *errors)
{
	const struct search_params *p = &s->params;

	if (p->min >= p->max)
		refuse(errors, "max", "must be above min");
	else if (!s->plan.is_rate && (!is_whole(p->min) || !is_whole(p->max)))
		refuse(errors, is_whole(p->min) ? "max" : "min",
		       "calls at a time are whole numbers");
	else if (trial_calls(&s->plan, p->max) > TRIAL_TOTAL_MAX)
		refuse(errors, "trial_s",
		       "a trial at the highest load has more than 1000000 "
		       "calls");
	else if (s->plan.trial_s + s->plan.warm_up_s >= conf->max_duration_s)
		refuse(errors, "trial_s",
		       "a trial with its warm-up is longer than a run may "
		       "last (max_duration_s)");
	else if (!s->log.search)
		refuse(errors, "max",
		       "must be at least a step above min, and at most 1000000 "
		       "times min");
}

static bool is_known(const struct capacity_start *start, const char *name)
{
	for (size_t i = 0; start->known[i]; i++)
		if (strcmp(start->known[i], name) == 0)
			return true;
	return false;
}

/* What the search sets itself cannot be overridden. */
static void check_names(const struct stored_search *s,
			const struct capacity_start *start, json_t *errors)
{
	json_t *ours = trial_overrides(&s->plan, s->params.min);
	const char *name;
	json_t *value;

	json_object_foreach(ours, name, value)
	{
		if (json_object_get(start->overrides, name) &&
		    !is_known(start, name))
			plan_key_error(errors, name, "",
				       "the search sets it itself");
	}
	json_decref(ours);
}

int capacity_trial_test(json_t *test, const struct trial_plan *plan,
			double load, json_t *errors, json_t **ret)
{
	static const char *const ours[] = {"retries_on_failure",
					   "callback_on_failure", NULL};
	json_t *made = json_deep_copy(test);
	json_t *overrides = trial_overrides(plan, load);
	int err = made && overrides
			  ? override_apply(overrides, ours,
					   json_object_get(made, "steps"),
					   json_object_get(made, "conditions"),
					   errors)
			  : -ENOMEM;

	json_decref(overrides);
	if (err) {
		json_decref(made);
		return err;
	}
	*ret = made;
	return 0;
}

static int check_load(struct store *store, const struct controller_conf *conf,
		      json_t *test, const struct trial_plan *plan, double load,
		      json_t *errors)
{
	json_t *made = NULL;
	int err = capacity_trial_test(test, plan, load, errors, &made);

	if (!err && !json_array_size(errors))
		err = run_check(store, conf, made, errors);
	json_decref(made);
	return err;
}

/* A trial that fails is nothing to repeat or to tell others about. */
static int quiet(json_t *test)
{
	int err = json_object_set_new(test, "retries_on_failure",
				      json_integer(0));

	err |= json_object_set_new(test, "callback_on_failure",
				   json_integer(0));
	err |= json_object_set_new(test, "callback_on_recovery",
				   json_integer(0));
	(void)json_object_del(test, "callback");
	return err ? -ENOMEM : 0;
}

/* Apply the overrides. @return 0 (see errors); -ENOMEM */
static int apply(const struct capacity_start *start,
		 const struct stored_search *s, json_t *errors)
{
	json_t *found = json_array(), *error;
	char pointer[2 * POINTER_BYTES];
	size_t i;
	int err;

	check_names(s, start, found);
	err = override_apply(start->overrides, start->known,
			     json_object_get(start->test, "steps"),
			     json_object_get(start->test, "conditions"), found);
	json_array_foreach(found, i, error)
	{
		str_print(pointer, sizeof(pointer), "%s%.140s", start->pointer,
			  text_of(error, "pointer"));
		plan_error(errors, pointer, "%s", text_of(error, "detail"));
	}
	json_decref(found);
	return err;
}

static int check(struct store *store, const struct controller_conf *conf,
		 const struct capacity_start *start, const json_t *read,
		 json_t *errors)
{
	struct stored_search s;
	int err = stored_search_load(&s, read, NULL);

	if (err != -ENOMEM) {
		check_range(&s, conf, errors);
		err = apply(start, &s, errors);
	}
	if (!err && !json_array_size(errors))
		err = check_load(store, conf, start->test, &s.plan,
				 s.params.min, errors);
	if (!err && !json_array_size(errors))
		err = check_load(store, conf, start->test, &s.plan,
				 s.params.max, errors);
	stored_search_release(&s);
	return err;
}

int capacity_start(struct store *store, const struct controller_conf *conf,
		   const struct capacity_start *start, json_t *errors,
		   int64_t *ret_id)
{
	char uuid[UUID_TEXT_BYTES];
	json_t *read = read_params(start->values, errors);
	struct capacity_new search = {
		.uuid = uuid,
		.test = start->test,
		.params = read,
		.key_id = start->key_id,
		.created_at = store_now_ms(),
	};
	int err = read ? quiet(start->test) : -ENOMEM;

	uuid_make(uuid);
	find_action(start->test, read, errors);
	if (!err && !json_array_size(errors))
		err = check(store, conf, start, read, errors);
	if (!err && json_array_size(errors))
		err = -EINVAL;
	if (!err)
		err = store_capacity_create(store, &search, ret_id);
	json_decref(read);
	if (!err)
		log_info("capacity_search=%s of test %s is started", uuid,
			 text_of(start->test, "name"));
	return err;
}
