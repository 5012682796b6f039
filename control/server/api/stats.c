#include "base/str.h"
#include "control/server/api/resource.h"
#include "control/server/api/runs.h"
#include "control/server/store/store_run.h"
#include "control/server/store/store_stats.h"
#include "control/wire/measure.h"

#include <errno.h>
#include <string.h>

/* Find the run or test of the path. @return false: the reply is an error */
static bool find_scope(struct request *req, bool test, struct stats_scope *ret,
		       struct reply *rep)
{
	json_t *found = NULL;
	int64_t id;
	int err = -ENOENT;

	if (!test)
		err = store_run_get(request_store(req), request_param(req, 0),
				    &found);
	else if (param_id(req, 0, &id))
		err = resource_find(req, &test_resource, id, &found);
	if (err) {
		reply_store_error(rep, err, test ? "test" : "run");
		return false;
	}
	ret->test = test;
	ret->id = json_integer_value(json_object_get(found, "id"));
	json_decref(found);
	return true;
}

static void dimensions(struct request *req, struct reply *rep, bool test)
{
	struct stats_scope scope;
	json_t *list;
	int err;

	if (!find_scope(req, test, &scope, rep))
		return;
	err = store_stats_dimensions(request_store(req), &scope, &list);
	if (err)
		reply_store_error(rep, err, "run");
	else
		reply_json(rep, 200,
			   json_pack("{s:o}", "stats_dimensions", list));
}

static void data(struct request *req, struct reply *rep, bool test)
{
	const char *confidence = query_get(req, "confidence");
	const char *dir = query_get(req, "dir");
	const char *role = query_get(req, "role");
	struct stats_scope scope;
	enum measure measure;
	json_t *list;
	int err;

	if (!find_scope(req, test, &scope, rep))
		return;
	if (!measure_parse(request_param(req, 1), &measure)) {
		reply_problem(rep, 404, "there is no such measure");
		return;
	}
	if (dir && !str_has_word("in out", dir))
		field_error(rep, "dir", "must be in or out");
	/* a filter for transcription measures, which do not exist here */
	if (confidence && !str_has_word("min max avg", confidence))
		field_error(rep, "confidence", "must be min, max or avg");
	if (reply_status(rep))
		return;
	err = store_stats_data(request_store(req), &scope,
			       measure_name(measure), role, dir, &list);
	if (err == -EMSGSIZE)
		reply_problem(rep, 422,
			      "there are more than %d records: narrow them by "
			      "role, dir or run",
			      STATS_RECORDS_MAX);
	else if (err)
		reply_store_error(rep, err, "run");
	else
		reply_json(rep, 200, json_pack("{s:o}", "stats_data", list));
}

void run_stats_dimensions(struct request *req, struct reply *rep)
{
	dimensions(req, rep, false);
}

void run_stats_data(struct request *req, struct reply *rep)
{
	data(req, rep, false);
}

void test_stats_dimensions(struct request *req, struct reply *rep)
{
	dimensions(req, rep, true);
}

void test_stats_data(struct request *req, struct reply *rep)
{
	data(req, rep, true);
}
