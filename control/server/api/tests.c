#include "control/server/api/callbacks.h"
#include "control/server/api/resource_type.h"
#include "control/server/judge/judge_conditions.h"
#include "control/server/run/test_steps.h"
#include "control/server/store/store_callback.h"

#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

static const struct column columns[] = {
	{"id", "t.id", NULL, COLUMN_INT},
	{"name", "t.name", "name", COLUMN_TEXT},
	{"description", "t.description", "description", COLUMN_TEXT},
	{"tags", "t.tags_json", "tags_json", COLUMN_JSON},
	{"testcase_name", "t.scenario", NULL, COLUMN_TEXT},
	{"scenario", "t.scenario", "scenario", COLUMN_TEXT},
	{"project_id", "t.project_id", "project_id", COLUMN_INT},
	{"project_name", "p.name", NULL, COLUMN_TEXT},
	{"agentpool_id", "t.agentpool_id", "agentpool_id", COLUMN_INT},
	{"agentpool_name", "a.name", NULL, COLUMN_TEXT},
	{"steps", "t.steps_json", "steps_json", COLUMN_JSON},
	{"conditions", "t.conditions_json", "conditions_json", COLUMN_JSON},
	{"record", "t.record", "record", COLUMN_TEXT},
	{"callback_on_failure", "t.callback_on_failure", "callback_on_failure",
	 COLUMN_INT},
	{"callback_on_recovery", "t.callback_on_recovery",
	 "callback_on_recovery", COLUMN_INT},
	{"callback_template_name", "c.name", NULL, COLUMN_TEXT},
	{"callback_template_id", "t.callback_template_id",
	 "callback_template_id", COLUMN_INT},
	{"has_callback_secret", "(t.callback_secret_box IS NOT NULL)", NULL,
	 COLUMN_INT},
	{"callback_url", "t.callback_url", "callback_url", COLUMN_TEXT},
	{"retries_on_failure", "t.retries_on_failure", "retries_on_failure",
	 COLUMN_INT},
	{"created_at", "t.created_at", "created_at", COLUMN_TIME},
	{"updated_at", "t.updated_at", "updated_at", COLUMN_TIME},
};

static const struct table table = {
	.name = "test",
	.from = "test t JOIN project p ON p.id = t.project_id "
		"JOIN agent_pool a ON a.id = t.agentpool_id LEFT JOIN "
		"callback_template c ON c.id = t.callback_template_id",
	.id = "t.id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

static void check_steps(struct request *req, json_t *value, const char *pointer,
			struct reply *rep)
{
	(void)req;
	steps_check(value, pointer, rep);
}

static void check_conditions(struct request *req, json_t *value,
			     const char *pointer, struct reply *rep)
{
	struct judge_conditions *conditions = NULL;
	struct judge_problem problem;
	char at[POINTER_BYTES + JUDGE_POINTER_BYTES];
	int err;

	(void)req;
	err = judge_conditions_new(&conditions, value, &problem);
	judge_conditions_free(conditions);
	if (err == 0)
		return;
	str_print(at, sizeof(at), "%s%s", pointer,
		  err == -EINVAL ? problem.pointer : "");
	field_error(rep, at, "%s",
		    err == -EINVAL ? problem.reason : "is too large");
}

static const struct field fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 200},
	{.name = "description", .kind = FIELD_TEXT, .max = 4000},
	{.name = "tags", .kind = FIELD_TAGS, .max = 64, .fallback = "[]"},
	{.name = "scenario",
	 .kind = FIELD_TEXT,
	 .min = 1,
	 .max = 100,
	 .fallback = "\"custom\""},
	{.name = "project_id",
	 .kind = FIELD_INTEGER,
	 .required = true,
	 .min = 1,
	 .max = INT64_MAX},
	{.name = "agentpool_id",
	 .kind = FIELD_INTEGER,
	 .required = true,
	 .min = 1,
	 .max = INT64_MAX},
	{.name = "steps",
	 .kind = FIELD_ARRAY,
	 .required = true,
	 .check = check_steps},
	{.name = "conditions",
	 .kind = FIELD_ARRAY,
	 .fallback = "[]",
	 .check = check_conditions},
	{.name = "record",
	 .kind = FIELD_CHOICE,
	 .choices = "none sip media",
	 .fallback = "\"sip\""},
	{.name = "callback_on_failure", .kind = FIELD_FLAG, .fallback = "0"},
	{.name = "callback_on_recovery", .kind = FIELD_FLAG, .fallback = "0"},
	{.name = "callback_template_name", .kind = FIELD_TEXT, .max = 200},
	{.name = "callback_url",
	 .kind = FIELD_TEXT,
	 .max = 2000,
	 .fallback = "\"\"",
	 .check = callback_check_url},
	{.name = "callback_secret", .kind = FIELD_TEXT, .max = 255},
	/* null: not given, see check_secret() */
	{.name = "has_callback_secret", .kind = FIELD_FLAG},
	{.name = "retries_on_failure",
	 .kind = FIELD_INTEGER,
	 .max = 10,
	 .fallback = "0"},
};

/* The name of a template becomes its id, so that it may be renamed. */
static void check_template(struct request *req, json_t *values,
			   struct reply *rep)
{
	const char *name = json_string_value(
		json_object_get(values, "callback_template_name"));
	json_t *template = NULL, *id = NULL;

	if (name && name[0]) {
		if (store_callback_template(request_store(req), name,
					    &template))
			field_error(rep, "/callback_template_name",
				    "is no name of a callback template");
		id = json_incref(json_object_get(template, "id"));
		json_decref(template);
	}
	json_object_set_new(values, "callback_template_id",
			    id ? id : json_null());
}

/* A secret is kept, replaced or removed, but never lost. */
static void check_secret(struct request *req, json_t *values, struct reply *rep)
{
	json_t *secret = json_object_get(values, "callback_secret");
	json_t *keep = json_object_get(values, "has_callback_secret");
	json_t *stored = NULL;
	int64_t id;
	bool was;

	if (json_is_string(secret) || !param_id(req, 0, &id) ||
	    record_get(request_store(req), &table, id, &stored))
		return;
	was = json_integer_value(
		      json_object_get(stored, "has_callback_secret")) == 1;
	json_decref(stored);
	if (was && json_is_null(keep))
		field_error(rep, "/callback_secret",
			    "is missing: give it, or has_callback_secret 1 to "
			    "keep the stored one, or 0 to remove it");
}

/* Ids that name nothing are errors of the field, not conflicts. */
static void check(struct request *req, json_t *values, struct reply *rep)
{
	json_t *step, *action;
	size_t i, k;

	check_secret(req, values, rep);
	check_template(req, values, rep);
	resource_reference(req, rep, &project_resource,
			   json_object_get(values, "project_id"),
			   "/project_id");
	resource_reference(req, rep, &agent_pool_resource,
			   json_object_get(values, "agentpool_id"),
			   "/agentpool_id");
	json_array_foreach(json_object_get(values, "steps"), i, step)
	{
		json_array_foreach(step, k, action)
		{
			char at[POINTER_BYTES];

			str_print(at, sizeof(at),
				  "/steps/%zu/%zu/credential_pool", i, k);
			resource_reference(
				req, rep, &credential_pool_resource,
				json_object_get(action, "credential_pool"), at);
			str_print(at, sizeof(at),
				  "/steps/%zu/%zu/challenge_pool", i, k);
			resource_reference(
				req, rep, &credential_pool_resource,
				json_object_get(action, "challenge_pool"), at);
			str_print(at, sizeof(at),
				  "/steps/%zu/%zu/turn_credential_pool", i, k);
			resource_reference(
				req, rep, &credential_pool_resource,
				json_object_get(action, "turn_credential_pool"),
				at);
			str_print(at, sizeof(at), "/steps/%zu/%zu/target_pool",
				  i, k);
			resource_reference(
				req, rep, &target_resource,
				json_object_get(action, "target_pool"), at);
		}
	}
}

static int present(struct request *req, json_t *row)
{
	char *tags = json_dumps(json_object_get(row, "tags"), 0);

	(void)req;
	if (!tags)
		return -ENOMEM;
	json_object_set_new(row, "tags", json_string(tags));
	free(tags);
	json_object_del(row, "callback_template_id");
	json_object_set_new(row, "parameters",
			    steps_parameters(json_object_get(row, "steps")));
	return 0;
}

const struct resource test_resource = {
	.path = "/tests",
	.plural = "tests",
	.singular = "test",
	.table = &table,
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.children = store_test_secret,
	.updated_at = true,
	.check = check,
	.present = present,
};
