#include "control/server/api/project_runs.h"

#include "base/log.h"
#include "base/str.h"
#include "control/server/api/callbacks.h"
#include "control/server/api/resource.h"
#include "control/server/api/start.h"
#include "control/server/run/run.h"
#include "control/server/store/store.h"
#include "control/server/store/store_follow.h"
#include "control/server/store/store_project.h"

#include <errno.h>
#include <string.h>

#define URL_BYTES 1024
#define TESTS_MAX 10000

static void check_ids(struct request *req, json_t *value, const char *pointer,
		      struct reply *rep)
{
	json_t *id;
	size_t i;

	(void)req;
	json_array_foreach(value, i, id)
	{
		char at[POINTER_BYTES];

		str_print(at, sizeof(at), "%.60s/%zu", pointer, i);
		if (!json_is_integer(id) || json_integer_value(id) < 1)
			field_error(rep, at, "must be the number of a test");
	}
}

#define FILTERS                                                              \
	{.name = "test_ids",                                                 \
	 .kind = FIELD_ARRAY,                                                \
	 .max = TESTS_MAX,                                                   \
	 .check = check_ids},                                                \
		{.name = "tags", .kind = FIELD_TAGS, .max = 64},             \
		{.name = "callback_on_failure", .kind = FIELD_FLAG},         \
		{.name = "callback_url",                                     \
		 .kind = FIELD_TEXT,                                         \
		 .max = 2000,                                                \
		 .check = callback_check_url},                               \
		{.name = "callback_secret", .kind = FIELD_TEXT, .max = 255}, \
		{.name = "callback_template_name",                           \
		 .kind = FIELD_TEXT,                                         \
		 .max = 200},                                                \
	{                                                                    \
		.name = "report.mode", .kind = FIELD_CHOICE,                 \
		.choices = "full kiosk print", .fallback = "\"full\""        \
	}

static const struct field fields[] = {FILTERS};

static const struct field legacy_fields[] = {
	{.name = "id", .kind = FIELD_INTEGER, .min = 1, .max = INT64_MAX},
	{.name = "project.name", .kind = FIELD_TEXT, .min = 1, .max = 200},
	FILTERS,
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool has(json_t *array, json_t *wanted)
{
	json_t *value;
	size_t i;

	json_array_foreach(array, i, value)
	{
		if (json_equal(value, wanted))
			return true;
	}
	return false;
}

static bool any_tag(json_t *test, json_t *wanted)
{
	json_t *tag;
	size_t i;

	json_array_foreach(json_object_get(test, "tags"), i, tag)
	{
		if (has(wanted, tag))
			return true;
	}
	return false;
}

/* Ids that name no test of the project would silently run less. */
static void check_known(json_t *tests, json_t *ids, struct reply *rep)
{
	json_t *id, *test;
	size_t i, k;

	json_array_foreach(ids, i, id)
	{
		char at[POINTER_BYTES];
		bool found = false;

		json_array_foreach(tests, k, test) found |=
			json_equal(json_object_get(test, "id"), id);
		str_print(at, sizeof(at), "/test_ids/%zu", i);
		if (!found)
			field_error(rep, at, "is no test of the project");
	}
}

/* The tests to run as {id, name}. @return new array; NULL: rep is an error */
static json_t *select_tests(struct request *req, int64_t project_id,
			    json_t *values, struct reply *rep)
{
	json_t *ids = json_object_get(values, "test_ids");
	json_t *tags = json_object_get(values, "tags");
	json_t *tests, *test, *selected;
	size_t i;
	int err = record_list_of(req->store, test_resource.table,
				 "t.project_id", project_id, &tests);

	if (err) {
		reply_store_error(rep, err, "project");
		return NULL;
	}
	check_known(tests, ids, rep);
	selected = json_array();
	json_array_foreach(tests, i, test)
	{
		if (json_is_array(ids) &&
		    !has(ids, json_object_get(test, "id")))
			continue;
		if (json_is_array(tags) && !any_tag(test, tags))
			continue;
		json_array_append_new(
			selected, json_pack("{s:O, s:O}", "id",
					    json_object_get(test, "id"), "name",
					    json_object_get(test, "name")));
	}
	json_decref(tests);
	if (!rep->status && !json_array_size(selected))
		field_error(rep, json_is_array(tags) ? "/tags" : "",
			    "the project has no test to run%s",
			    json_is_array(ids) || json_is_array(tags)
				    ? " that the filters select"
				    : "");
	if (rep->status) {
		json_decref(selected);
		return NULL;
	}
	return selected;
}

/* {callback_on_failure, callback} of the body, as a test has it.
 * @return new reference; NULL: rep is an error */
static json_t *read_callback(struct request *req, struct reply *rep)
{
	json_t *errors = json_array(), *told = json_object();
	int err =
		errors && told ? callback_override(req, told, errors) : -ENOMEM;

	if (err)
		reply_store_error(rep, err, "callback");
	else if (json_array_size(errors))
		start_refuse(rep, errors);
	json_decref(errors);
	if (rep->status) {
		json_decref(told);
		return NULL;
	}
	return told;
}

struct started {
	int64_t id;
	char uuid[UUID_TEXT_BYTES];
	char kiosk_id[UUID_TEXT_BYTES]; /* "" none */
	const char *report_mode;
};

/* @return true; false: rep is an error */
static bool start(struct request *req, struct reply *rep, json_t *project,
		  json_t *values, struct started *started)
{
	int64_t project_id = json_integer_value(json_object_get(project, "id"));
	json_t *tests = select_tests(req, project_id, values, rep);
	struct project_run_new run = {
		.uuid = started->uuid,
		.project_id = project_id,
		.project_name =
			json_string_value(json_object_get(project, "name")),
		.report_mode = json_string_value(
			json_object_get(values, "report.mode")),
		.tests = tests,
		.created_at = store_now_ms(),
	};
	json_t *told;
	int err;

	if (!tests)
		return false;
	told = read_callback(req, rep);
	if (!told) {
		json_decref(tests);
		return false;
	}
	if (json_integer_value(json_object_get(told, "callback_on_failure")))
		run.callback = json_object_get(told, "callback");
	uuid_make(started->uuid);
	started->kiosk_id[0] = '\0';
	started->report_mode = run.report_mode;
	if (strcmp(run.report_mode, "kiosk") == 0) {
		uuid_make(started->kiosk_id);
		run.kiosk_id = started->kiosk_id;
	}
	err = store_project_run_create(req->store, &run, &started->id);
	json_decref(told);
	if (!err) {
		log_info("project_run=%s of project %s: %zu tests",
			 started->uuid, run.project_name,
			 json_array_size(tests));
		run_engine_poke(req->controller);
	} else {
		reply_store_error(rep, err, "project run");
	}
	json_decref(tests);
	return !err;
}

static void status_url(const struct request *req, const struct started *run,
		       char url[static URL_BYTES])
{
	str_print(url, URL_BYTES, "%s/api/v2/projects/runs/%s/status",
		  req->base_url, run->uuid);
}

void project_run(struct request *req, struct reply *rep)
{
	json_t *project, *values;
	struct started started;
	char url[URL_BYTES];
	int64_t id;
	int err = -ENOENT;

	if (param_id(req, 0, &id))
		err = record_get(req->store, project_resource.table, id,
				 &project);
	if (err) {
		reply_store_error(rep, err, "project");
		return;
	}
	values = fields_read(req, req->body, req->body_is_form, "", fields,
			     COUNT(fields), rep);
	if (values && start(req, rep, project, values, &started)) {
		status_url(req, &started, url);
		reply_json(rep, 200,
			   json_pack("{s:s, s:s}", "project_run_uuid",
				     started.uuid, "status_url", url));
	}
	json_decref(values);
	json_decref(project);
}

/* The project that the body names. @return NULL: rep is an error */
static json_t *find_project(struct request *req, json_t *values,
			    struct reply *rep)
{
	json_t *id = json_object_get(values, "id"), *project = NULL;
	const char *name =
		json_string_value(json_object_get(values, "project.name"));
	int64_t number = json_integer_value(id);
	int err = 0;

	if (json_is_null(id) == !name) {
		field_error(rep, "/id",
			    "exactly one of id and project.name must be given");
		return NULL;
	}
	if (name)
		err = store_project_find(req->store, name, &number);
	if (!err)
		err = record_get(req->store, project_resource.table, number,
				 &project);
	if (err)
		reply_store_error(rep, err, "project");
	return project;
}

static void reply_legacy(const struct request *req, struct reply *rep,
			 const struct started *started)
{
	char status[URL_BYTES], report[URL_BYTES];

	status_url(req, started, status);
	if (started->kiosk_id[0])
		str_print(report, sizeof(report), "%s/kiosk/project/%s/%s",
			  req->base_url, started->uuid, started->kiosk_id);
	else
		str_print(report, sizeof(report), "%s/run/project/%s%s",
			  req->base_url, started->uuid,
			  strcmp(started->report_mode, "print") == 0
				  ? "?mode=print"
				  : "");
	reply_json(rep, 200,
		   json_pack("{s:{s:o, s:s, s:s, s:s}}", "data",
			     "project_run_id",
			     json_sprintf("%lld", (long long)started->id),
			     "project_run_uuid", started->uuid, "status_url",
			     status, "report_url", report));
}

void project_run_legacy(struct request *req, struct reply *rep)
{
	json_t *project = NULL;
	struct started started;
	json_t *values = fields_read(req, req->body, req->body_is_form, "",
				     legacy_fields, COUNT(legacy_fields), rep);

	if (values)
		project = find_project(req, values, rep);
	if (project && start(req, rep, project, values, &started))
		reply_legacy(req, rep, &started);
	json_decref(project);
	json_decref(values);
}

void project_run_status(struct request *req, struct reply *rep)
{
	json_t *run;
	int err = store_project_run_get(req->store, req->params[0], &run);

	if (err)
		reply_store_error(rep, err, "project run");
	else
		reply_json(rep, 200, json_pack("{s:o}", "run", run));
}

void project_run_stop(struct request *req, struct reply *rep)
{
	int err = store_project_run_stop(req->store, req->params[0],
					 store_now_ms());

	if (err == -EALREADY) {
		reply_problem(rep, 409,
			      "the project run is over or stopping already");
	} else if (err) {
		reply_store_error(rep, err, "project run");
	} else {
		run_engine_poke(req->controller);
		reply_json(rep, 202, NULL);
	}
}

void project_run_revoke(struct request *req, struct reply *rep)
{
	int err = store_project_run_revoke(req->store, req->params[0]);

	if (err == -ENOENT)
		reply_problem(rep, 404, "the project run has no public link");
	else if (err)
		reply_store_error(rep, err, "project run");
	else
		rep->status = 204;
}
