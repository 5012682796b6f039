#include "control/server/api/scenarios.h"

#include "control/server/api/callbacks.h"
#include "control/server/api/capacity_searches.h"
#include "control/server/api/page.h"
#include "control/server/api/resource.h"
#include "control/server/api/start.h"
#include "control/server/run/override.h"
#include "control/server/run/plan.h"
#include "control/server/run/plan_pool.h"
#include "control/server/scenario/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- availability in this version ---- */

/* The trial plan needs no pools: examples name their accounts. */
static int no_pool(void *arg, int64_t id, json_t **ret)
{
	(void)arg;
	(void)id;
	(void)ret;
	return -ENOENT;
}

static int try_plan(const struct scenario_plan *filled, json_t *errors)
{
	const struct plan_source source = {.credentials = no_pool,
					   .target = no_pool};
	const struct plan_params params = {
		.session_id = "00000000-0000-4000-8000-000000000000",
		.attempt = 1,
		.interval_s = 10,
		.max_duration_s = 86400,
		.record = "sip",
		.steps = filled->steps,
		.conditions = filled->conditions,
	};
	struct plan plan;
	int err = plan_make(&plan, &params, &source, errors);

	plan_release(&plan);
	return err;
}

/* Plan the example as a start would. @return 0 (see errors); -ENOMEM */
static int try_example(json_t *table, json_t *scenario,
		       struct scenario_plan *filled, json_t *errors)
{
	json_t *example = scenario_example(table, scenario);
	int err = example ? scenario_fill(filled, table, scenario, example,
					  errors)
			  : -ENOMEM;

	if (!err && !json_array_size(errors))
		err = try_plan(filled, errors);
	json_decref(example);
	return err;
}

/* {name, title, description, roles, available, unavailable_reason} */
static json_t *summary(json_t *table, json_t *scenario)
{
	struct scenario_plan filled = {.values = NULL};
	json_t *errors = json_array(), *entry, *why;
	int err = errors ? try_example(table, scenario, &filled, errors)
			 : -ENOMEM;

	scenario_plan_release(&filled);
	why = json_object_get(json_array_get(errors, 0), "detail");
	entry = err ? NULL
		    : json_pack("{s:O, s:O, s:O, s:O, s:b, s:O?}", "name",
				json_object_get(scenario, "name"), "title",
				json_object_get(scenario, "title"),
				"description",
				json_object_get(scenario, "description"),
				"roles", json_object_get(scenario, "roles"),
				"available", why == NULL, "unavailable_reason",
				why ? why : json_null());
	json_decref(errors);
	return entry;
}

/* ---- reading ---- */

static void no_memory(struct reply *rep)
{
	reply_problem(rep, 500, "out of memory");
}

/* @return the scenario, borrowed from *table (owned); NULL: rep is an error */
static json_t *find(struct request *req, struct reply *rep, json_t **table)
{
	json_t *scenario;

	*table = scenario_table();
	if (!*table) {
		no_memory(rep);
		return NULL;
	}
	scenario = scenario_find(*table, request_param(req, 0));
	if (!scenario)
		reply_problem(rep, 404,
			      "there is no scenario '%.100s'; GET "
			      "/api/v2/scenarios lists them",
			      request_param(req, 0));
	return scenario;
}

void scenarios_list(struct request *req, struct reply *rep)
{
	json_t *table, *rows, *scenario;
	struct page page;
	int64_t total;
	size_t i;

	if (!page_read(req, &page, rep))
		return;
	table = scenario_table();
	rows = json_array();
	total = (int64_t)json_array_size(scenario_list(table));
	json_array_foreach(scenario_list(table), i, scenario)
	{
		if ((int64_t)i < page.start ||
		    (int64_t)i >= page.start + page.count)
			continue;
		if (json_array_append_new(rows, summary(table, scenario))) {
			no_memory(rep);
			break;
		}
	}
	json_decref(table);
	if (reply_status(rep))
		json_decref(rows);
	else
		page_reply(req, rep, "scenarios", rows, &page, total);
}

/* Get the default conditions: those of its example. */
static json_t *default_conditions(json_t *table, json_t *scenario)
{
	struct scenario_plan filled = {.values = NULL};
	json_t *errors = json_array(), *conditions = NULL;

	if (errors && !try_example(table, scenario, &filled, errors))
		conditions = json_incref(filled.conditions);
	scenario_plan_release(&filled);
	json_decref(errors);
	return conditions;
}

static void reply_parts(struct request *req, struct reply *rep, bool params,
			bool conditions)
{
	json_t *table, *scenario = find(req, rep, &table), *body;

	if (!scenario) {
		json_decref(table);
		return;
	}
	body = summary(table, scenario);
	if (params && (json_object_set_new(body, "params",
					   scenario_params(table, scenario)) ||
		       json_object_set_new(body, "example",
					   scenario_example(table, scenario))))
		no_memory(rep);
	if (conditions &&
	    json_object_set_new(body, "conditions",
				default_conditions(table, scenario)))
		no_memory(rep);
	json_decref(table);
	if (reply_status(rep))
		json_decref(body);
	else
		reply_json(rep, 200, json_pack("{s:o}", "scenario", body));
}

void scenario_get(struct request *req, struct reply *rep)
{
	reply_parts(req, rep, true, true);
}

void scenario_params_get(struct request *req, struct reply *rep)
{
	json_t *table, *scenario = find(req, rep, &table), *params, *example;

	if (scenario) {
		params = scenario_params(table, scenario);
		example = scenario_example(table, scenario);
		if (params && example)
			reply_json(rep, 200,
				   json_pack("{s:O, s:O, s:O}", "scenario",
					     json_object_get(scenario, "name"),
					     "params", params, "example",
					     example));
		else
			no_memory(rep);
		json_decref(params);
		json_decref(example);
	}
	json_decref(table);
}

void scenario_conditions_get(struct request *req, struct reply *rep)
{
	json_t *table, *scenario = find(req, rep, &table), *conditions;

	if (scenario) {
		conditions = default_conditions(table, scenario);
		if (conditions)
			reply_json(rep, 200,
				   json_pack("{s:O, s:O, s:{s:O}}", "scenario",
					     json_object_get(scenario, "name"),
					     "conditions", conditions,
					     "example", "conditions",
					     conditions));
		else
			no_memory(rep);
		json_decref(conditions);
	}
	json_decref(table);
}

/* A stored test names pools: what a start gives inline is left out. */
static void drop_accounts(json_t *steps)
{
	static const char *const of_starts[] = {"credentials",
						"credential_share", "target"};
	const size_t count = sizeof(of_starts) / sizeof(*of_starts);
	json_t *step, *action;
	size_t i, k;

	json_array_foreach(steps, i, step)
	{
		json_array_foreach(step, k, action)
		{
			for (size_t n = 0; n < count; n++)
				(void)json_object_del(action, of_starts[n]);
		}
	}
}

void scenario_test_get(struct request *req, struct reply *rep)
{
	struct scenario_plan filled = {.values = NULL};
	json_t *table, *scenario = find(req, rep, &table);
	json_t *errors = json_array(), *test = NULL;

	if (scenario && errors &&
	    !try_example(table, scenario, &filled, errors)) {
		drop_accounts(filled.steps);
		test = json_pack(
			"{s:O, s:O, s:O, s:O, s:O}", "name",
			json_object_get(scenario, "title"), "description",
			json_object_get(scenario, "description"), "scenario",
			json_object_get(scenario, "name"), "steps",
			filled.steps, "conditions", filled.conditions);
	}
	if (test)
		reply_json(rep, 200, json_pack("{s:o}", "test", test));
	else if (scenario)
		no_memory(rep);
	scenario_plan_release(&filled);
	json_decref(errors);
	json_decref(table);
}

/* ---- running ---- */

/* The name of the record with this id. @return new reference; "" without id;
 * NULL: there is no such record (noted), or err */
static json_t *name_of(struct request *req, const struct resource *r,
		       json_t *id, const char *pointer, json_t *errors,
		       int *err)
{
	json_t *row = NULL, *name;

	if (!json_is_integer(id))
		return json_string("");
	*err = resource_find(req, r, json_integer_value(id), &row);
	if (*err == -ENOENT) {
		plan_error(errors, pointer, "there is no %s with the id %lld",
			   resource_singular(r),
			   (long long)json_integer_value(id));
		*err = 0;
	}
	name = json_incref(json_object_get(row, "name"));
	json_decref(row);
	return name ? name : json_string("");
}

static json_t *or_zero(json_t *id)
{
	return json_is_integer(id) ? json_incref(id) : json_integer(0);
}

/* Make the object that store_test_load() gives for a stored test. */
static json_t *make_test(struct request *req, json_t *scenario,
			 const struct scenario_plan *filled, json_t *errors,
			 int *err)
{
	json_t *values = filled->values;
	json_t *name = json_object_get(values, "name");
	json_t *title = json_object_get(scenario, "name");
	json_t *pool = json_object_get(values, "agentpool_id");
	json_t *project = json_object_get(values, "project_id");
	json_t *pool_name = name_of(req, &agent_pool_resource, pool,
				    "/agentpool_id", errors, err);
	json_t *project_name = name_of(req, &project_resource, project,
				       "/project_id", errors, err);
	/* invalid values are missing; errors reports them */
	json_t *test = json_pack(
		"{s:i, s:O, s:O, s:o, s:o, s:o, s:o, s:O?, s:O, s:O, s:O?, "
		"s:i, s:O?}",
		"id", 0, "name", json_is_string(name) ? name : title,
		"scenario", title, "project_id", or_zero(project),
		"project_name", project_name, "agentpool_id", or_zero(pool),
		"agentpool_name", pool_name, "tags",
		json_object_get(values, "tags"), "steps", filled->steps,
		"conditions", filled->conditions, "record",
		json_object_get(values, "record"), "callback_on_failure", 0,
		"retries_on_failure",
		json_object_get(values, "retries_on_failure"));

	if (!test && !*err)
		*err = -ENOMEM;
	return test;
}

static void check_tags(const json_t *tags, json_t *errors)
{
	const json_t *tag;
	size_t i;

	json_array_foreach(tags, i, tag)
	{
		if (!json_is_string(tag) || i >= 64) {
			plan_error(errors, "/tags",
				   "must be an array of at most 64 texts");
			return;
		}
	}
}

/* Keys that were read here; start_test() checks the others. */
static const char **known_keys(json_t *consumed)
{
	static const char *const of_starts[] = {"report.mode", CALLBACK_KEYS};
	const size_t shared = sizeof(of_starts) / sizeof(*of_starts);
	const char **keys =
		calloc(json_object_size(consumed) + shared + 1, sizeof(*keys));
	const char *key;
	json_t *value;
	size_t count = 0;

	if (!keys)
		return NULL;
	for (; count < shared; count++)
		keys[count] = of_starts[count];
	json_object_foreach(consumed, key, value) keys[count++] = key;
	return keys;
}

static void start_filled(struct request *req, struct reply *rep,
			 json_t *scenario, struct scenario_plan *filled,
			 json_t *errors)
{
	const char **known = known_keys(filled->consumed);
	json_t *test;
	int err = known ? override_conditions(
				  json_object_get(filled->values, "conditions"),
				  "/conditions", filled->conditions, errors)
			: -ENOMEM;

	check_tags(json_object_get(filled->values, "tags"), errors);
	test = err ? NULL : make_test(req, scenario, filled, errors, &err);
	if (err) {
		reply_store_error(rep, err, "scenario");
		json_decref(test);
	} else {
		if (json_is_true(json_object_get(scenario, "search")))
			capacity_search_of_scenario(req, rep, test,
						    filled->values, known,
						    json_incref(errors));
		else
			start_test(req, rep, test, known, json_incref(errors));
	}
	free(known);
}

void scenario_run(struct request *req, struct reply *rep)
{
	struct scenario_plan filled = {.values = NULL};
	json_t *table, *scenario = find(req, rep, &table), *errors;
	int err;

	if (!scenario) {
		json_decref(table);
		return;
	}
	errors = json_array();
	err = errors ? scenario_fill(&filled, table, scenario,
				     request_body(req), errors)
		     : -ENOMEM;
	if (err)
		no_memory(rep);
	else
		start_filled(req, rep, scenario, &filled, errors);
	scenario_plan_release(&filled);
	json_decref(errors);
	json_decref(table);
}
