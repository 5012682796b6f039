#include "control/server/api/start.h"

#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/api/callbacks.h"
#include "control/server/api/fields.h"
#include "control/server/controller.h"
#include "control/server/run/override.h"
#include "control/server/run/run.h"
#include "control/server/run/start.h"
#include "control/server/store/store.h"
#include "control/server/store/store_lease_run.h"

#include <errno.h>
#include <string.h>

#define URL_BYTES 1024

const char *start_report_mode(struct request *req, json_t *errors)
{
	static const char *const modes[] = {"full", "kiosk", "print"};
	const json_t *value = json_object_get(req->body, "report.mode");
	const char *text = json_string_value(value);

	if (!value)
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
	else
		reply_problem(rep, 503, "the database is not available");
	if (err != -EBADMSG)
		reply_header(rep, "Retry-After", "5");
}

static void reply_started(struct request *req, struct reply *rep,
			  const struct run_start *start,
			  const struct run_started *run)
{
	char report[URL_BYTES], status[URL_BYTES];

	if (run->kiosk_id[0])
		str_print(report, sizeof(report), "%s/kiosk/%s/%s",
			  req->base_url, run->session_id, run->kiosk_id);
	else
		str_print(report, sizeof(report), "%s/run/details/%s%s",
			  req->base_url, run->session_id,
			  strcmp(start->report_mode, "print") == 0
				  ? "?mode=print"
				  : "");
	str_print(status, sizeof(status), "%s/api/v2/runs/%s/status",
		  req->base_url, run->session_id);
	reply_json(rep, 200,
		   json_pack("{s:{s:s, s:s, s:s, s:o}}", "data", "report_url",
			     report, "session_id", run->session_id,
			     "status_url", status, "waiting_for",
			     run_waiting_for(req->store, req->controller->conf,
					     run->id)));
}

void start_test(struct request *req, struct reply *rep, json_t *test,
		const char *const *known, json_t *errors)
{
	const struct run_start start = {
		.test = test,
		.report_mode = start_report_mode(req, errors),
		.retries_left = (unsigned)json_integer_value(
			json_object_get(test, "retries_on_failure")),
	};
	struct run_started started;
	int err =
		override_apply(req->body, known, json_object_get(test, "steps"),
			       json_object_get(test, "conditions"), errors);

	if (!err)
		err = callback_override(req, test, errors);
	if (!err && json_array_size(errors))
		err = -EINVAL;
	if (!err)
		err = run_start(req->store, req->controller->conf, &start,
				errors, &started);
	if (err == -EINVAL) {
		start_refuse(rep, errors);
	} else if (err) {
		reply_store(rep, err);
	} else {
		run_engine_poke(req->controller);
		reply_started(req, rep, &start, &started);
	}
	json_decref(errors);
	json_decref(test);
}

static void load_and_start(struct request *req, struct reply *rep, int64_t id,
			   const char *name, const char *const *known)
{
	json_t *test;
	int err = store_test_load(req->store, id, name, &test);

	if (err == -ENOENT && name)
		reply_problem(rep, 404, "there is no test '%.200s'", name);
	else if (err == -ENOENT)
		reply_problem(rep, 404, "there is no test with the id %lld",
			      (long long)id);
	else if (err)
		reply_store(rep, err);
	else
		start_test(req, rep, test, known, json_array());
}

void test_run(struct request *req, struct reply *rep)
{
	static const char *const known[] = {"report.mode", CALLBACK_KEYS, NULL};
	int64_t id;

	if (!param_id(req, 0, &id)) {
		reply_problem(rep, 404, "there is no such test");
		return;
	}
	load_and_start(req, rep, id, NULL, known);
}

void test_run_legacy(struct request *req, struct reply *rep)
{
	static const char *const known[] = {"report.mode", "test.id",
					    "test.name", CALLBACK_KEYS, NULL};
	const json_t *id = json_object_get(req->body, "test.id");
	const json_t *name = json_object_get(req->body, "test.name");
	uint64_t number = 0;

	if (!id == !name) {
		reply_problem(rep, 422,
			      "exactly one of test.id and test.name must be "
			      "given");
		reply_pointer(rep, "/test.id",
			      "exactly one of test.id and test.name must be "
			      "given");
		return;
	}
	if (name && !json_is_string(name)) {
		reply_problem(rep, 422, "test.name must be a string");
		reply_pointer(rep, "/test.name", "must be a string");
		return;
	}
	if (json_is_integer(id) && json_integer_value(id) > 0)
		number = (uint64_t)json_integer_value(id);
	else if (json_is_string(id))
		(void)str_to_u64(json_string_value(id), INT64_MAX, &number);
	if (id && !number) {
		reply_problem(rep, 422, "test.id must be a whole number");
		reply_pointer(rep, "/test.id", "must be a whole number");
		return;
	}
	load_and_start(req, rep, (int64_t)number, json_string_value(name),
		       known);
}
