#include "control/server/api/start.h"

#include "base/str.h"
#include "control/server/api/callbacks.h"
#include "control/server/request/fields.h"
#include "control/server/run/override.h"
#include "control/server/run/params.h"
#include "control/server/run/run.h"
#include "control/server/run/start.h"
#include "control/server/store/store.h"
#include "control/server/store/store_lease_run.h"
#include "control/server/store/store_run.h"

#include <errno.h>
#include <string.h>

#define URL_BYTES   1024
#define RETRIES_MAX 10 /* as of a test (tests.c) */

/* report.mode of the body, `full` without it; errors are added. */
static const char *report_mode(struct request *req, json_t *errors)
{
	static const char *const modes[] = {"full", "kiosk", "print"};
	const json_t *value = json_object_get(request_body(req), "report.mode");
	const char *text = json_string_value(value);

	if (!value || json_is_null(value))
		return modes[0];
	for (size_t i = 0; text && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i], text) == 0)
			return modes[i];
	plan_error(errors, "/report.mode", "must be full, kiosk or print");
	return modes[0];
}

void start_refuse(struct reply *rep, const json_t *errors)
{
	const json_t *error;
	size_t i;

	error = json_array_get(errors, 0);
	reply_problem(rep, 422, "the run was not started: %s",
		      json_string_value(json_object_get(error, "detail")));
	json_array_foreach(errors, i, error)
	{
		reply_pointer(
			rep,
			json_string_value(json_object_get(error, "pointer")),
			"%s",
			json_string_value(json_object_get(error, "detail")));
	}
}

static void reply_store(struct reply *rep, int err)
{
	if (err == -EBADMSG)
		reply_problem(rep, 500,
			      "a stored password cannot be read: the key file "
			      "is another one than when it was written");
	else if (err == -ENOSPC)
		reply_store_error(rep, err, "run");
	else
		reply_problem(rep, 503, "the database is not available");
	if (err != -EBADMSG)
		reply_header(rep, "Retry-After", "5");
}

static void reply_limit(struct reply *rep, const struct run_limits *limits,
			const char *project)
{
	const long long present = (long long)limits->present;
	const long long limit = (long long)limits->limit[limits->exceeded];

	switch (limits->exceeded) {
	case RUN_LIMIT_KEY_RUNS:
		reply_problem(rep, 429,
			      "this key or user has %lld of at most %lld runs "
			      "in progress (key_runs_limit): wait for one to "
			      "end, or stop one",
			      present, limit);
		reply_header(rep, "Retry-After", "5");
		break;
	case RUN_LIMIT_PROJECT_RUNS:
		reply_problem(rep, 409,
			      "project %.100s has %lld of at most %lld runs in "
			      "progress (project_runs_limit): wait for one to "
			      "end, or stop one",
			      project, present, limit);
		break;
	case RUN_LIMIT_PROJECT_BYTES:
	case RUN_LIMIT_KINDS:
		reply_problem(
			rep, 409,
			"project %.100s stores %lld of at most %lld bytes "
			"(project_bytes_limit): delete runs of it, or let "
			"retention do so",
			project, present, limit);
		break;
	}
}

/* @param warnings  taken */
static void reply_run(struct request *req, struct reply *rep, const char *mode,
		      const struct run_started *run, json_t *warnings)
{
	char report[URL_BYTES], status[URL_BYTES];

	if (run->kiosk_id[0])
		str_print(report, sizeof(report), "%s/kiosk/%s/%s",
			  request_base_url(req), run->session_id,
			  run->kiosk_id);
	else
		str_print(report, sizeof(report), "%s/run/details/%s%s",
			  request_base_url(req), run->session_id,
			  strcmp(mode, "print") == 0 ? "?mode=print" : "");
	str_print(status, sizeof(status), "%s/api/v2/runs/%s/status",
		  request_base_url(req), run->session_id);
	reply_json(rep, 200,
		   json_pack("{s:{s:s, s:s, s:s, s:o, s:o}}", "data",
			     "report_url", report, "session_id",
			     run->session_id, "status_url", status,
			     "waiting_for",
			     run_waiting_for(request_store(req),
					     request_conf(req), run->id),
			     "warnings", warnings));
}

static void reply_started(struct request *req, struct reply *rep,
			  const struct run_start *start,
			  const struct run_started *run)
{
	json_t *warnings = json_array();

	if (run->warning[0])
		(void)json_array_append_new(warnings,
					    json_string(run->warning));
	reply_run(req, rep, start->report_mode, run, warnings);
}

void start_reply_deleted(struct reply *rep)
{
	reply_problem(rep, 409,
		      "what the request with this Idempotency-Key started is "
		      "deleted: use another key to start again");
}

/* Reply with the run that request_started() names. */
static void reply_again(struct request *req, struct reply *rep)
{
	struct run_started run = {.warning = ""};
	json_t *stored, *warnings;
	const char *kiosk;
	int err = store_run_get(request_store(req), request_started(req),
				&stored);

	if (err == -ENOENT)
		start_reply_deleted(rep);
	else if (err)
		reply_store(rep, err);
	if (err)
		return;
	kiosk = json_string_value(json_object_get(stored, "kiosk_id"));
	str_print(run.session_id, sizeof(run.session_id), "%s",
		  request_started(req));
	str_print(run.kiosk_id, sizeof(run.kiosk_id), "%s", kiosk ? kiosk : "");
	run.id = json_integer_value(json_object_get(stored, "id"));
	warnings = json_object_get(stored, "warnings");
	reply_run(
		req, rep,
		json_string_value(json_object_get(stored, "report_mode")), &run,
		json_is_array(warnings) ? json_incref(warnings) : json_array());
	json_decref(stored);
}

/* Start a run of a test, or refuse it. */
static void start_new(struct request *req, struct reply *rep, json_t *test,
		      const char *const *known, json_t *errors)
{
	struct run_limits limits =
		run_start_limits(request_conf(req), request_key_id(req));
	const struct run_start start = {
		.test = test,
		.limits = &limits,
		.report_mode = report_mode(req, errors),
		.retries_left = (unsigned)json_integer_value(
			json_object_get(test, "retries_on_failure")),
	};
	struct run_started started;
	int err = override_apply(request_body(req), known,
				 json_object_get(test, "steps"),
				 json_object_get(test, "conditions"), errors);

	if (!err)
		err = callback_override(req, test, errors);
	if (!err && json_array_size(errors))
		err = -EINVAL;
	if (!err)
		err = run_start(request_store(req), request_conf(req), &start,
				errors, &started);
	if (err == -EINVAL) {
		start_refuse(rep, errors);
	} else if (err == -EDQUOT) {
		reply_limit(rep, &limits,
			    json_string_value(
				    json_object_get(test, "project_name")));
	} else if (err) {
		reply_store(rep, err);
	} else {
		run_engine_poke(request_controller(req));
		reply_started(req, rep, &start, &started);
	}
}

void start_test(struct request *req, struct reply *rep, json_t *test,
		const char *const *known, json_t *errors)
{
	if (request_started(req))
		reply_again(req, rep);
	else
		start_new(req, rep, test, known, errors);
	json_decref(errors);
	json_decref(test);
}

/* retries_on_failure of the body in the place of the test's. */
static void read_retries(const json_t *body, json_t *test, json_t *errors)
{
	static const struct step_param param = {.name = "retries_on_failure",
						.type = "integer"};
	json_t *wanted = json_object_get(body, param.name), *value = NULL;

	if (!wanted || json_is_null(wanted))
		return;
	if (param_normalize(&param, wanted, &value) ||
	    json_integer_value(value) > RETRIES_MAX)
		plan_error(errors, "/retries_on_failure",
			   "must be a whole number from 0 to %d", RETRIES_MAX);
	else
		json_object_set(test, param.name, value);
	json_decref(value);
}

static void start_stored(struct request *req, struct reply *rep, json_t *test,
			 const char *const *known)
{
	json_t *errors = json_array();

	read_retries(request_body(req), test, errors);
	start_test(req, rep, test, known, errors);
}

void test_run(struct request *req, struct reply *rep)
{
	static const char *const known[] = {"report.mode", "retries_on_failure",
					    CALLBACK_KEYS, NULL};
	json_t *test;
	int64_t id;
	int err = -ENOENT;

	if (param_id(req, 0, &id))
		err = store_test_load(request_store(req), id, NULL, &test);
	if (err == -ENOENT)
		reply_problem(rep, 404, "there is no such test");
	else if (err)
		reply_store(rep, err);
	else
		start_stored(req, rep, test, known);
}

/* A key that is null counts as left out. */
static const json_t *given(const json_t *body, const char *key)
{
	const json_t *value = json_object_get(body, key);

	return json_is_null(value) ? NULL : value;
}

static bool read_test_id(const json_t *value, uint64_t *ret)
{
	*ret = 0;
	if (json_is_integer(value) && json_integer_value(value) > 0)
		*ret = (uint64_t)json_integer_value(value);
	else if (json_is_string(value))
		(void)str_to_u64(json_string_value(value), INT64_MAX, ret);
	return *ret > 0;
}

/* The test that the body names. @return NULL: rep is an error */
static json_t *find_test(struct request *req, struct reply *rep)
{
	const json_t *id = given(request_body(req), "test.id");
	const json_t *name = given(request_body(req), "test.name");
	uint64_t number = 0;
	json_t *test = NULL;
	int err;

	if (!id == !name) {
		field_error(rep, "/test.id",
			    "exactly one of test.id and test.name must be "
			    "given");
		return NULL;
	}
	if (name && !json_is_string(name)) {
		field_error(rep, "/test.name", "must be a string");
		return NULL;
	}
	if (id && !read_test_id(id, &number)) {
		field_error(rep, "/test.id", "must be a whole number");
		return NULL;
	}
	err = store_test_load(request_store(req), (int64_t)number,
			      json_string_value(name), &test);
	if (err == -ENOENT && name)
		field_error(rep, "/test.name", "there is no test '%.200s'",
			    json_string_value(name));
	else if (err == -ENOENT)
		field_error(rep, "/test.id",
			    "there is no test with the id %llu",
			    (unsigned long long)number);
	else if (err)
		reply_store(rep, err);
	return test;
}

void test_run_legacy(struct request *req, struct reply *rep)
{
	static const char *const known[] = {"report.mode", "retries_on_failure",
					    "test.id",     "test.name",
					    CALLBACK_KEYS, NULL};
	json_t *test = find_test(req, rep);

	if (!test)
		return;
	reply_successor(rep, json_integer_value(json_object_get(test, "id")));
	start_stored(req, rep, test, known);
}
