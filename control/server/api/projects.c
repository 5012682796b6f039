#include "control/server/api/projects.h"

#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/api/callbacks.h"
#include "control/server/api/page.h"
#include "control/server/api/resource_type.h"
#include "control/server/api/start.h"
#include "control/server/run/project.h"
#include "control/server/run/run.h"
#include "control/server/store/store.h"
#include "control/server/store/store_follow.h"
#include "control/server/store/store_project.h"
#include "control/server/store/store_run.h"

#include <errno.h>
#include <string.h>

/* ---- the plain resource ---- */

static const struct column project_columns[] = {
	{"id", "id", NULL, COLUMN_INT},
	{"name", "name", "name", COLUMN_TEXT},
	{"description", "description", "description", COLUMN_TEXT},
	{"created_at", "created_at", "created_at", COLUMN_TIME},
	{"updated_at", "updated_at", "updated_at", COLUMN_TIME},
};

static const struct table project_table = {
	.name = "project",
	.from = "project",
	.id = "id",
	.columns = project_columns,
	.column_count = sizeof(project_columns) / sizeof(*project_columns),
};

static const struct field project_fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 200},
	{.name = "description", .kind = FIELD_TEXT, .max = 4000},
};

const struct resource project_resource = {
	.path = "/projects",
	.plural = "projects",
	.singular = "project",
	.table = &project_table,
	.fields = project_fields,
	.field_count = sizeof(project_fields) / sizeof(*project_fields),
	.updated_at = true,
};

/* ---- runs of whole projects ---- */

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
	if (reply_status(rep)) {
		json_decref(told);
		return NULL;
	}
	return told;
}

/* Find the project run that request_started() names. @return true; false: rep is an error */
static bool find_started(struct request *req, struct reply *rep,
			 struct project_started *started)
{
	int err =
		store_project_run_find(request_store(req), request_started(req),
				       &started->id, started->kiosk_id);

	str_print(started->uuid, sizeof(started->uuid), "%s",
		  request_started(req));
	if (err == -ENOENT)
		start_reply_deleted(rep);
	else if (err)
		reply_store_error(rep, err, "project run");
	return !err;
}

/* @return true; false: rep is an error */
static bool start(struct request *req, struct reply *rep, json_t *project,
		  json_t *values, struct project_started *started)
{
	struct project_start start = {
		.project_id =
			json_integer_value(json_object_get(project, "id")),
		.project_name =
			json_string_value(json_object_get(project, "name")),
		.report_mode = json_string_value(
			json_object_get(values, "report.mode")),
		.test_ids = json_object_get(values, "test_ids"),
		.tags = json_object_get(values, "tags"),
	};
	json_t *told, *errors;
	int err;

	if (request_started(req))
		return find_started(req, rep, started);
	told = read_callback(req, rep);
	if (!told)
		return false;
	if (json_integer_value(json_object_get(told, "callback_on_failure")))
		start.callback = json_object_get(told, "callback");
	errors = json_array();
	err = project_run_start(request_store(req), &start, errors, started);
	json_decref(told);
	if (!err)
		run_engine_poke(request_controller(req));
	else if (err == -EINVAL)
		start_refuse(rep, errors);
	else
		reply_store_error(rep, err, "project run");
	json_decref(errors);
	return !err;
}

static void status_url(const struct request *req,
		       const struct project_started *run,
		       char url[static URL_BYTES])
{
	str_print(url, URL_BYTES, "%s/api/v2/projects/runs/%s/status",
		  request_base_url(req), run->uuid);
}

void project_run(struct request *req, struct reply *rep)
{
	json_t *project, *values;
	struct project_started started;
	char url[URL_BYTES];
	int64_t id;
	int err = -ENOENT;

	if (param_id(req, 0, &id))
		err = resource_find(req, &project_resource, id, &project);
	if (err) {
		reply_store_error(rep, err, "project");
		return;
	}
	values = fields_read(req, request_body(req), request_body_is_form(req),
			     "", fields, COUNT(fields), rep);
	if (values && start(req, rep, project, values, &started)) {
		status_url(req, &started, url);
		reply_json(rep, 200,
			   json_pack("{s:s, s:s}", "project_run_uuid",
				     started.uuid, "status_url", url));
	}
	json_decref(values);
	json_decref(project);
}

/* Find the project of the body by id or name; given both, they must match.
 * @return NULL: rep is an error */
static json_t *find_project(struct request *req, json_t *values,
			    struct reply *rep)
{
	json_t *id = json_object_get(values, "id"), *project = NULL;
	json_t *name = json_object_get(values, "project.name");
	int64_t number = json_integer_value(id);
	int err = 0;

	if (json_is_null(id) && json_is_null(name)) {
		field_error(rep, "/id", "id or project.name must be given");
		return NULL;
	}
	if (json_is_null(id))
		err = store_project_find(request_store(req),
					 json_string_value(name), &number);
	if (!err)
		err = resource_find(req, &project_resource, number, &project);
	if (err == -ENOENT) {
		field_error(rep, json_is_null(id) ? "/project.name" : "/id",
			    "there is no such project");
	} else if (err) {
		reply_store_error(rep, err, "project");
	} else if (!json_is_null(name) &&
		   !json_equal(name, json_object_get(project, "name"))) {
		field_error(rep, "/project.name",
			    "is not the name of project %lld",
			    (long long)number);
		json_decref(project);
		project = NULL;
	}
	return project;
}

static void reply_legacy(const struct request *req, struct reply *rep,
			 const struct project_started *started, json_t *values)
{
	const char *mode =
		json_string_value(json_object_get(values, "report.mode"));
	char status[URL_BYTES], report[URL_BYTES];

	status_url(req, started, status);
	if (started->kiosk_id[0])
		str_print(report, sizeof(report), "%s/kiosk/project/%s/%s",
			  request_base_url(req), started->uuid,
			  started->kiosk_id);
	else
		str_print(report, sizeof(report), "%s/run/project/%s%s",
			  request_base_url(req), started->uuid,
			  strcmp(mode, "print") == 0 ? "?mode=print" : "");
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
	struct project_started started;
	json_t *values =
		fields_read(req, request_body(req), request_body_is_form(req),
			    "", legacy_fields, COUNT(legacy_fields), rep);

	if (values)
		project = find_project(req, values, rep);
	reply_successor(rep,
			json_integer_value(json_object_get(project, "id")));
	if (project && start(req, rep, project, values, &started))
		reply_legacy(req, rep, &started, values);
	json_decref(project);
	json_decref(values);
}

/* Apply session_status_alias to the runs of an answer. */
static void alias_runs(json_t *runs)
{
	json_t *run;
	size_t i;

	json_array_foreach(runs, i, run)
	{
		const char *status = json_string_value(
			json_object_get(run, "session_status"));

		json_object_set_new(run, "session_status",
				    json_string(run_status_alias(status)));
	}
}

void project_run_status(struct request *req, struct reply *rep)
{
	struct page page;
	int64_t total;
	json_t *run;
	int err;

	if (!page_read_all(req, &page, rep))
		return;
	err = store_project_run_get(request_store(req), request_param(req, 0),
				    &page, &run, &total);
	if (err) {
		reply_store_error(rep, err, "project run");
		return;
	}
	if (request_conf(req)->session_status_alias)
		alias_runs(json_object_get(run, "runs"));
	reply_json(rep, 200, json_pack("{s:o}", "run", run));
	page_links(req, rep, &page, total);
}

void project_run_stop(struct request *req, struct reply *rep)
{
	int err = store_project_run_stop(request_store(req),
					 request_param(req, 0), store_now_ms());

	if (err == -EALREADY) {
		reply_problem(rep, 409,
			      "the project run is over or stopping already");
	} else if (err) {
		reply_store_error(rep, err, "project run");
	} else {
		run_engine_poke(request_controller(req));
		reply_json(rep, 202, NULL);
	}
}

void project_run_revoke(struct request *req, struct reply *rep)
{
	int err = store_project_run_revoke(request_store(req),
					   request_param(req, 0));

	if (err == -ENOENT)
		reply_problem(rep, 404, "the project run has no public link");
	else if (err)
		reply_store_error(rep, err, "project run");
	else
		reply_empty(rep, 204);
}
