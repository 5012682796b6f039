#include "control/server/retention/retention.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/store/store_audit.h"
#include "control/server/store/store_capacity.h"
#include "control/server/store/store_thinning.h"

#include <errno.h>
#include <inttypes.h>

#define DAY_MS     INT64_C(86400000)
#define TEXT_BYTES 8192

struct retention_policy retention_policy(const struct controller_conf *conf)
{
	return (struct retention_policy){
		.limits =
			{
				[RETENTION_METRICS] =
					{conf->retention_metrics_days * DAY_MS,
					 (int64_t)
						 conf->retention_metrics_bytes},
				[RETENTION_SIP] =
					{conf->retention_sip_days * DAY_MS,
					 (int64_t)conf->retention_sip_bytes},
				[RETENTION_ARTIFACTS] =
					{conf->retention_artifacts_days *
						 DAY_MS,
					 (int64_t)conf
						 ->retention_artifacts_bytes},
				[RETENTION_RUN] =
					{conf->retention_runs_days * DAY_MS,
					 (int64_t)conf->retention_runs_bytes},
			},
		.thin_ms = conf->retention_thin_days * DAY_MS,
	};
}

/* ---- the plan ---- */

struct planning {
	const struct retention_policy *policy;
	int64_t now_ms;
	int64_t left[RETENTION_KINDS]; /* bytes stored after what is due */
	struct retention_plan *plan;
};

static void add_due(struct retention_due *due, int64_t run_id, int64_t bytes)
{
	if (due->runs < RETENTION_IDS_MAX)
		due->ids[due->runs] = run_id;
	due->runs++;
	due->bytes += bytes;
}

static int plan_run(const struct retention_run *run, void *arg)
{
	struct planning *p = arg;
	struct retention_plan *plan = p->plan;
	unsigned due = retention_due(p->policy, p->now_ms, run, p->left);

	plan->measured++;
	for (unsigned k = 0; k < RETENTION_KINDS; k++)
		if (due & 1u << k)
			add_due(&plan->due[k], run->id, run->bytes[k]);
	if (due & RETENTION_THIN)
		add_due(&plan->thin, run->id, run->bytes[RETENTION_METRICS]);
	return 0;
}

int retention_plan(struct store *store, const struct retention_policy *policy,
		   int64_t now_ms, struct retention_plan *ret)
{
	struct planning p = {.policy = policy, .now_ms = now_ms, .plan = ret};
	int err;

	ret->measured = 0;
	for (unsigned k = 0; k < RETENTION_KINDS; k++)
		ret->due[k].runs = ret->due[k].bytes = 0;
	ret->thin.runs = ret->thin.bytes = 0;
	err = store_retention_stored(store, ret->stored);
	for (unsigned k = 0; k < RETENTION_KINDS; k++)
		p.left[k] = ret->stored[k];
	return err ? err : store_retention_each(store, plan_run, &p);
}

/* ---- a pass ---- */

struct pass {
	const struct retention_policy *policy;
	int64_t now_ms;
	int64_t left[RETENTION_KINDS];
	struct retention_mark marks[RETENTION_BATCH];
	int64_t bytes[RETENTION_BATCH][RETENTION_KINDS];
	size_t count;
};

/* @return -ECANCELED the batch is full */
static int pass_run(const struct retention_run *run, void *arg)
{
	struct pass *p = arg;
	unsigned due = retention_due(p->policy, p->now_ms, run, p->left);

	if (!due)
		return 0;
	p->marks[p->count] = (struct retention_mark){run->id, due};
	for (unsigned k = 0; k < RETENTION_KINDS; k++)
		p->bytes[p->count][k] = run->bytes[k];
	return ++p->count == RETENTION_BATCH ? -ECANCELED : 0;
}

/* "metrics of 2 runs, 5123 bytes: 4, 5; runs: ..."
 * @param what  "metrics of "; "" whole runs
 * @param done  what becomes of them, if they are not deleted */
static int describe(struct buf *text, const struct pass *p, unsigned bit,
		    enum retention_kind kind, const char *what,
		    const char *done)
{
	const char *separator = ": ";
	int64_t runs = 0, bytes = 0;
	int err;

	for (size_t i = 0; i < p->count; i++)
		if (p->marks[i].kinds & bit) {
			runs++;
			bytes += p->bytes[i][kind];
		}
	if (!runs)
		return 0;
	err = buf_print(text, "%s%s%" PRId64 " run%s, %" PRId64 " bytes%s",
			text->used ? "; " : "", what, runs,
			runs == 1 ? "" : "s", bytes, done);
	for (size_t i = 0; i < p->count && !err; i++)
		if (p->marks[i].kinds & bit) {
			err = buf_print(text, "%s%" PRId64, separator,
					p->marks[i].run_id);
			separator = ", ";
		}
	return err;
}

static int describe_all(struct buf *text, const struct pass *p)
{
	char thinned[48];
	int err = 0;

	for (unsigned k = 0; k < RETENTION_KINDS && !err; k++) {
		const enum retention_kind kind = (enum retention_kind)k;
		char what[32] = "";

		if (kind != RETENTION_RUN)
			str_print(what, sizeof(what), "%s of ",
				  retention_kind_name(kind));
		err = describe(text, p, 1u << k, kind, what, "");
	}
	str_print(thinned, sizeof(thinned), ", thinned to %d s",
		  THIN_INTERVAL_S);
	return err ? err
		   : describe(text, p, RETENTION_THIN, RETENTION_METRICS,
			      "metrics of ", thinned);
}

static int mark(struct store *store, const struct pass *p)
{
	struct audit audit = {.method = "DELETE",
			      .path = "/runs",
			      .address = "",
			      .request_id = "",
			      .actor_kind = "retention",
			      .actor = "retention"};
	struct buf text;
	int err;

	buf_init(&text, TEXT_BYTES);
	err = describe_all(&text, p);
	if (!err) {
		store_audit_of(store, &audit);
		err = store_retention_mark(store, p->marks, p->count, p->now_ms,
					   text.data);
		store_audit_of(store, NULL);
	}
	if (!err)
		log_info("retention: %s", text.data);
	buf_release(&text);
	return err;
}

/* Searches of which retention has deleted all runs. Without a limit by age a day counts: a search
 * that ended before its first trial never had one. */
static int expire_searches(struct store *store,
			   const struct retention_limit *runs, int64_t now_ms)
{
	struct audit audit = {.method = "DELETE",
			      .path = "/capacity-searches",
			      .address = "",
			      .request_id = "",
			      .actor_kind = "retention",
			      .actor = "retention"};
	int deleted;

	if (!runs->age_ms && !runs->bytes)
		return 0;
	store_audit_of(store, &audit);
	deleted = store_capacity_expire(
		store, now_ms - (runs->age_ms ? runs->age_ms : DAY_MS));
	store_audit_of(store, NULL);
	if (deleted > 0)
		log_info("retention: capacity searches without runs: %d",
			 deleted);
	return deleted;
}

int retention_step(struct store *store, const struct controller_conf *conf,
		   int64_t now_ms, struct retention_cursor *cursor)
{
	const struct retention_policy policy = retention_policy(conf);
	struct pass p = {.policy = &policy, .now_ms = now_ms};
	int err = store_retention_measure(
		store, now_ms - INT64_C(1000) * conf->upload_grace_s, cursor);

	if (err)
		return err < 0 ? err : 1;
	if (!retention_limits_anything(&policy))
		return 0;
	err = store_retention_stored(store, p.left);
	if (!err)
		err = store_retention_each(store, pass_run, &p);
	if (err && err != -ECANCELED)
		return err;
	if (!p.count)
		return expire_searches(store, &policy.limits[RETENTION_RUN],
				       now_ms);
	err = mark(store, &p);
	return err ? err : 1;
}
