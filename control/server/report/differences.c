#include "control/server/report/differences.h"

#include "base/log.h"
#include "control/server/compare/run_difference.h"
#include "control/server/request/request.h"
#include "control/server/store/store_run.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const char *asked_for(const struct request *req)
{
	json_t *query = request_query(req), *pair;
	size_t i;

	json_array_foreach(query, i, pair)
	{
		if (strcmp(json_string_value(json_array_get(pair, 0)),
			   "with") == 0)
			return json_string_value(json_array_get(pair, 1));
	}
	return NULL;
}

static json_t *head_of(const json_t *run)
{
	return json_pack("{s:O, s:O, s:O?, s:O?, s:O?}", "id",
			 json_object_get(run, "id"), "session_id",
			 json_object_get(run, "session_id"), "test_name",
			 json_object_get(run, "test_name"), "session_status",
			 json_object_get(run, "session_status"), "started_at",
			 json_object_get(run, "started_at"));
}

static bool is_finished(const json_t *run)
{
	return json_integer_value(json_object_get(run, "is_finished")) != 0;
}

static void reply_differences(struct reply *rep, struct store *store,
			      const json_t *before, const json_t *after)
{
	json_t *answer = NULL;
	int err = 0;

	if (before)
		err = run_difference(store, before, after, &answer);
	else
		answer = json_pack("{s:[], s:i, s:[]}", "differences",
				   "further", 0, "not_compared");
	if (err) {
		log_error("differences of run %s: %s",
			  text_of(after, "session_id"), strerror(-err));
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the runs could not be compared: %s",
				  strerror(-err));
		return;
	}
	json_object_set_new(answer, "before",
			    before ? head_of(before) : json_null());
	json_object_set_new(answer, "after", head_of(after));
	reply_json(rep, 200, answer);
}

void run_differences(struct request *req, struct reply *rep)
{
	struct store *store = request_store(req);
	const char *with = asked_for(req);
	json_t *before = NULL, *after = NULL;
	int err = store_run_get(store, request_param(req, 0), &after);

	if (!err && with)
		err = store_run_get(store, with, &before);
	else if (!err)
		err = run_last_passed(store, after, &before);
	if (err == -ENOENT && after && !with)
		err = 0; /* no run passed before */
	if (err)
		reply_store_error(rep, err, "run");
	else if (!is_finished(after) || (before && !is_finished(before)))
		reply_problem(rep, 409,
			      "the run is in progress: it is compared when it "
			      "is over");
	else
		reply_differences(rep, store, before, after);
	json_decref(before);
	json_decref(after);
}
