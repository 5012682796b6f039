#include "control/server/api/retention.h"

#include "control/server/retention/retention.h"
#include "control/server/store/store.h"
#include "control/server/store/store_run.h"
#include "control/server/store/store_thinning.h"

#include <errno.h>
#include <stdlib.h>

#define DAY_MS INT64_C(86400000)

static json_t *ids_json(const struct retention_due *due)
{
	json_t *ids = json_array();

	for (int64_t i = 0; i < due->runs && i < RETENTION_IDS_MAX; i++)
		json_array_append_new(ids, json_integer(due->ids[i]));
	return ids;
}

static json_t *kind_json(const struct retention_policy *policy,
			 const struct retention_plan *plan, unsigned k)
{
	const struct retention_limit *limit = &policy->limits[k];

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "limit_days",
			 (json_int_t)(limit->age_ms / DAY_MS), "limit_bytes",
			 (json_int_t)limit->bytes, "stored_bytes",
			 (json_int_t)plan->stored[k], "due_runs",
			 (json_int_t)plan->due[k].runs, "due_bytes",
			 (json_int_t)plan->due[k].bytes, "due_ids",
			 ids_json(&plan->due[k]));
}

static json_t *thin_json(const struct retention_policy *policy,
			 const struct retention_plan *plan)
{
	return json_pack("{s:I, s:i, s:I, s:I, s:o}", "limit_days",
			 (json_int_t)(policy->thin_ms / DAY_MS), "interval_s",
			 THIN_INTERVAL_S, "due_runs",
			 (json_int_t)plan->thin.runs, "due_bytes",
			 (json_int_t)plan->thin.bytes, "due_ids",
			 ids_json(&plan->thin));
}

void retention_get(struct request *req, struct reply *rep)
{
	const struct retention_policy policy =
		retention_policy(request_conf(req));
	struct retention_plan *plan = calloc(1, sizeof(*plan));
	json_t *kinds = json_object();
	int err = plan ? retention_plan(request_store(req), &policy,
					store_now_ms(), plan)
		       : -ENOMEM;

	for (unsigned k = 0; k < RETENTION_KINDS && !err; k++)
		err = json_object_set_new(
			kinds, retention_kind_name((enum retention_kind)k),
			kind_json(&policy, plan, k));
	if (!err)
		err = json_object_set_new(kinds, "thinning",
					  thin_json(&policy, plan));
	if (err) {
		json_decref(kinds);
		reply_store_error(rep, err, "retention");
	} else {
		json_object_set_new(kinds, "measured_runs",
				    json_integer(plan->measured));
		reply_json(rep, 200, json_pack("{s:o}", "retention", kinds));
	}
	free(plan);
}

static void set_keep(struct request *req, struct reply *rep, bool keep)
{
	json_t *run;
	int err =
		store_run_get(request_store(req), request_param(req, 0), &run);

	if (!err) {
		err = store_run_keep(
			request_store(req),
			json_integer_value(json_object_get(run, "id")), keep);
		json_decref(run);
	}
	if (err)
		reply_store_error(rep, err, "run");
	else
		reply_empty(rep, 204);
}

void run_keep(struct request *req, struct reply *rep)
{
	set_keep(req, rep, true);
}

void run_keep_end(struct request *req, struct reply *rep)
{
	set_keep(req, rep, false);
}
