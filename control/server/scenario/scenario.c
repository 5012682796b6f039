#include "control/server/scenario/scenario.h"

#include "base/str.h"
#include "control/server/run/override.h"
#include "control/server/run/params.h"
#include "control/server/scenario/accounts.h"
#include "control/server/scenario/template.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

extern const char scenario_data[];
extern const char scenario_data_end[];

json_t *scenario_table(void)
{
	return json_loadb(scenario_data,
			  (size_t)(scenario_data_end - scenario_data), 0, NULL);
}

json_t *scenario_list(json_t *table)
{
	return json_object_get(table, "scenarios");
}

json_t *scenario_find(json_t *table, const char *name)
{
	json_t *scenario;
	size_t i;

	json_array_foreach(scenario_list(table), i, scenario)
	{
		if (strcmp(json_string_value(json_object_get(scenario, "name")),
			   name) == 0)
			return scenario;
	}
	return NULL;
}

void scenario_plan_release(struct scenario_plan *plan)
{
	json_decref(plan->values);
	json_decref(plan->steps);
	json_decref(plan->conditions);
	json_decref(plan->consumed);
	*plan = (struct scenario_plan){.values = NULL};
}

/* ---- parameters ---- */

/* Describe a parameter: the common description, then that of this scenario. */
static json_t *describe(json_t *table, json_t *entry)
{
	const char *name =
		json_is_string(entry)
			? json_string_value(entry)
			: json_string_value(json_object_get(entry, "name"));
	json_t *known = json_object_get(json_object_get(table, "params"), name);
	json_t *param = json_pack("{s:s, s:n, s:b, s:n}", "name", name, "type",
				  "required", 0, "default");

	if (!param || json_object_update(param, known) ||
	    (json_is_object(entry) && json_object_update(param, entry))) {
		json_decref(param);
		return NULL;
	}
	return param;
}

static int describe_list(json_t *table, json_t *list, json_t *params)
{
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (json_array_append_new(params, describe(table, entry)))
			return -ENOMEM;
	}
	return 0;
}

/* Without accounts and targets. */
static json_t *plain_params(json_t *table, json_t *scenario)
{
	json_t *params = json_array();

	if (!params ||
	    describe_list(table, json_object_get(table, "common"), params) ||
	    describe_list(table, json_object_get(scenario, "params"), params)) {
		json_decref(params);
		return NULL;
	}
	return params;
}

json_t *scenario_params(json_t *table, json_t *scenario)
{
	json_t *params = plain_params(table, scenario);

	if (params && accounts_describe(scenario, params)) {
		json_decref(params);
		return NULL;
	}
	return params;
}

json_t *scenario_example(json_t *table, json_t *scenario)
{
	json_t *params = plain_params(table, scenario), *param;
	json_t *example = params ? json_object() : NULL;
	size_t i;
	int err = example ? 0 : -ENOMEM;

	json_array_foreach(params, i, param)
	{
		json_t *value = json_object_get(param, "example");

		if (!value)
			value = json_object_get(param, "default");
		if (!err && !json_is_null(value) &&
		    json_object_set(
			    example,
			    json_string_value(json_object_get(param, "name")),
			    value))
			err = -ENOMEM;
	}
	if (!err)
		err = accounts_example(scenario, example);
	json_decref(params);
	if (err) {
		json_decref(example);
		return NULL;
	}
	return example;
}

/* ---- a body's values ---- */

static void check_number(const json_t *param, const char *name,
			 const json_t *value, json_t *errors)
{
	const json_t *min = json_object_get(param, "min");
	const json_t *max = json_object_get(param, "max");
	double number = json_number_value(value);

	if ((min && number < json_number_value(min)) ||
	    (max && number > json_number_value(max)))
		plan_key_error(errors, name, "", "must be from %.10g to %.10g",
			       min ? json_number_value(min) : 0,
			       max ? json_number_value(max) : 9e15);
}

static void check_text(json_t *param, const char *name, json_t *value,
		       json_t *errors)
{
	json_t *max = json_object_get(param, "max");
	json_t *choices = json_object_get(param, "values"), *choice;
	char list[200] = "";
	size_t i;

	if (max && json_string_length(value) > (size_t)json_integer_value(max))
		plan_key_error(errors, name, "", "is longer than %lld bytes",
			       (long long)json_integer_value(max));
	json_array_foreach(choices, i, choice)
	{
		size_t used = strlen(list);

		if (json_equal(choice, value))
			return;
		str_print(list + used, sizeof(list) - used, "%s%s",
			  used ? ", " : "", json_string_value(choice));
	}
	if (choices)
		plan_key_error(errors, name, "", "must be one of: %s", list);
}

static int read_value(json_t *param, const char *name, json_t *given,
		      json_t **ret, json_t *errors)
{
	const char *type = json_string_value(json_object_get(param, "type"));
	bool duration = strcmp(type, "duration") == 0;
	/* a duration is a text or a number, as call_duration is */
	const struct step_param kind = {
		.name = duration ? "call_duration" : name,
		.type = duration ? "string" : type,
	};
	int err = param_normalize(&kind, given, ret);

	if (err == -EINVAL) {
		plan_key_error(errors, name, "", "must be %s",
			       param_type_name(&kind));
		return 0;
	}
	if (err)
		return err;
	if (json_is_number(*ret) && !duration)
		check_number(param, name, *ret, errors);
	else if (json_is_string(*ret))
		check_text(param, name, *ret, errors);
	return 0;
}

static int read_param(struct scenario_plan *plan, json_t *param, json_t *body,
		      json_t *errors)
{
	const char *name = json_string_value(json_object_get(param, "name"));
	json_t *given = json_object_get(body, name), *value = NULL;
	int err = 0;

	if (given && json_object_set_new(plan->consumed, name, json_true()))
		return -ENOMEM;
	/* in a form an empty field counts as left out */
	if (given && !json_is_null(given) &&
	    !(json_is_string(given) && json_string_length(given) == 0)) {
		err = read_value(param, name, given, &value, errors);
	} else if (json_is_true(json_object_get(param, "required"))) {
		plan_key_error(errors, name, "", "is missing");
	} else {
		value = json_incref(json_object_get(param, "default"));
	}
	if (!err && value && json_object_set(plan->values, name, value))
		err = -ENOMEM;
	json_decref(value);
	return err;
}

int scenario_fill(struct scenario_plan *plan, json_t *table, json_t *scenario,
		  json_t *body, json_t *errors)
{
	json_t *params = plain_params(table, scenario), *param;
	size_t i;
	int err = params ? 0 : -ENOMEM;

	*plan = (struct scenario_plan){
		.values = json_object(),
		.consumed = json_object(),
	};
	if (!plan->values || !plan->consumed)
		err = -ENOMEM;
	json_array_foreach(params, i, param)
	{
		if (!err)
			err = read_param(plan, param, body, errors);
	}
	json_decref(params);
	if (!err)
		err = template_steps(json_object_get(scenario, "steps"),
				     plan->values, &plan->steps);
	if (!err)
		err = template_fill(json_object_get(scenario, "conditions"),
				    plan->values, &plan->conditions);
	if (!err)
		err = accounts_apply(plan, scenario, body, errors);
	return err;
}
