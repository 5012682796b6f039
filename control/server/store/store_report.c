#include "control/server/store/store_report.h"

#include "base/buf.h"
#include "control/server/store/record_db.h"
#include "control/server/store/store_bounds.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_point.h"
#include "control/server/store/store_run_internal.h"
#include "control/wire/json_text.h"
#include "control/wire/measure.h"
#include "control/wire/share.h"
#include "control/wire/text.h"
#include "control/wire/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Convert jansson's result to a row handler's value: a failure ends the query.
 */
static int check(int set)
{
	return set ? -ENOMEM : 0;
}

/* ---- the run ---- */

static const char *const run_columns[] = {
	"session_id",     "test_name",          "testcase_name", "project_name",
	"agentpool_name", "result_description", "status",        "phase",
};
static const char *const removed_times[] = {
	"metrics_removed_at",
	"sip_removed_at",
	"artifacts_removed_at",
	"metrics_thinned_at",
};
#define REMOVED_TIMES (sizeof(removed_times) / sizeof(*removed_times))
#define RUN_TEXTS     (sizeof(run_columns) / sizeof(*run_columns))

static int run_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct db_value *rest = row + 1 + RUN_TEXTS;
	const char *verdicts = rest[5].type == DB_TEXT ? rest[5].bytes : "";
	struct report_run *run = arg;
	int err = 0;

	(void)columns;
	run->id = row[0].integer;
	run->interval_s = rest[4].integer;
	/* null: not judged */
	run->verdicts = strdup(verdicts[0] == '[' ? verdicts : "[]");
	run->shown = json_object();
	for (size_t i = 0; i < RUN_TEXTS; i++)
		err |= json_object_set_new(run->shown, run_columns[i],
					   record_value(&row[1 + i]));
	err |= json_object_set_new(run->shown, "id",
				   json_integer(row[0].integer));
	err |= json_object_set_new(run->shown, "test_id",
				   record_value(&rest[6]));
	err |= json_object_set_new(run->shown, "project_id",
				   record_value(&rest[7]));
	err |= json_object_set_new(run->shown, "attempt",
				   json_integer(rest[0].integer));
	err |= json_object_set_new(run->shown, "progress",
				   json_real(rest[1].real));
	err |= json_object_set_new(run->shown, "started_at",
				   record_time(&rest[2]));
	err |= json_object_set_new(run->shown, "stopped_at",
				   record_time(&rest[3]));
	err |= json_object_set_new(run->shown, "interval_s",
				   json_integer(rest[4].integer));
	err |= json_object_set_new(run->shown, "keep",
				   json_boolean(rest[8].integer));
	for (size_t i = 0; i < REMOVED_TIMES; i++)
		err |= json_object_set_new(run->shown, removed_times[i],
					   record_time(&rest[9 + i]));
	err |= json_object_set_new(
		run->shown, "reduced",
		json_boolean(rest[9 + REMOVED_TIMES].integer > 0));
	err |= json_object_set_new(
		run->shown, "shards_lost",
		json_integer(rest[9 + REMOVED_TIMES].integer));
	err |= json_object_set_new(run->shown, "warnings",
				   record_json(&rest[10 + REMOVED_TIMES]));
	return check(err || !run->verdicts);
}

void report_run_release(struct report_run *run)
{
	json_decref(run->shown);
	free(run->verdicts);
	*run = (struct report_run){.id = 0};
}

int store_report_run(struct store *store, const char *session_id,
		     const char *kiosk_id, struct report_run *ret)
{
	static const char sql[] =
		"SELECT id, session_id, test_name, testcase_name,"
		" project_name, agentpool_name, result_description, status,"
		" phase, attempt, CAST(progress AS DOUBLE PRECISION), started_at,"
		" stopped_at, interval_s, verdicts_json, test_id, project_id,"
		" keep, metrics_removed_at, sip_removed_at, artifacts_removed_at,"
		" metrics_thinned_at, shards_lost, warnings_json FROM run"
		" WHERE session_id = $1 AND " RUN_SHOWN
		" AND (CAST($2 AS TEXT) IS NULL OR kiosk_id = $2)";
	const struct db_value params[] = {db_text(session_id),
					  db_text(kiosk_id)};
	struct report_run run = {.id = 0};
	int rows;

	rows = db_query(store_reader(store), sql, params, 2, run_row, &run);
	if (rows < 0) {
		report_run_release(&run);
		return rows;
	}
	if (rows == 0)
		return -ENOENT;
	*ret = run;
	return 0;
}

static int history_row(const struct db_value *row, size_t columns, void *arg)
{
	json_t *run = json_pack(
		"{s:I, s:o, s:o, s:o}", "id", (json_int_t)row[0].integer,
		"session_id", record_value(&row[1]), "status",
		record_value(&row[2]), "started_at", record_time(&row[3]));

	(void)columns;
	return check(json_array_append_new(arg, run));
}

int store_report_history(struct store *store, int64_t run_id, json_t **ret)
{
	/* up to 10 runs after this one; the rest before it. One list of ids:
	 * with OR PostgreSQL goes through all runs. */
	static const char sql[] =
		"WITH this AS (SELECT test_id FROM run WHERE id = $1), "
		"later AS (SELECT id FROM run WHERE id > $1 AND test_id = "
		"(SELECT test_id FROM this) ORDER BY id LIMIT 10), "
		"earlier AS (SELECT id FROM run WHERE id < $1 AND test_id = "
		"(SELECT test_id FROM this) ORDER BY id DESC LIMIT "
		"$2 - 1 - (SELECT count(*) FROM later)) "
		"SELECT id, session_id, status, started_at FROM run "
		"WHERE id IN (SELECT CAST($1 AS BIGINT) UNION ALL "
		"SELECT id FROM later UNION ALL SELECT id FROM earlier) "
		"ORDER BY id";
	const struct db_value params[] = {DB_I(run_id),
					  DB_I(REPORT_HISTORY_RUNS)};
	json_t *runs = json_array();
	int rows = runs ? db_query(store_reader(store), sql, params, 2,
				   history_row, runs)
			: -ENOMEM;

	if (rows < 0) {
		json_decref(runs);
		return rows;
	}
	*ret = runs;
	return 0;
}

struct last_attempt {
	int64_t run_id; /* of the report */
	bool is_public;
	json_t *shown;
};

static int last_attempt_row(const struct db_value *row, size_t columns,
			    void *arg)
{
	struct last_attempt *last = arg;
	const char *session = row[1].bytes;
	bool same = row[0].integer == last->run_id;
	bool due = row[4].integer == 1;
	json_t *link = NULL;

	(void)columns;
	if (same && !due)
		return 0;
	if (!same && !last->is_public)
		link = json_sprintf("/run/details/%s", session);
	else if (!same && row[5].type == DB_TEXT)
		link = json_sprintf("/kiosk/%s/%s", session,
				    (const char *)row[5].bytes);
	last->shown = json_pack(
		"{s:s, s:I, s:o?}", "status",
		due ? "running" : (const char *)row[3].bytes, "attempt",
		/* an attempt that is due has the next number */
		(json_int_t)row[2].integer + (due ? 1 : 0), "link", link);
	return check(!last->shown);
}

int store_report_last_attempt(struct store *store, int64_t run_id,
			      bool is_public, json_t **ret)
{
	static const char sql[] =
		"SELECT r.id, r.session_id, r.attempt, CASE WHEN " RUN_DONE
		" THEN r.status ELSE 'running' END, CASE WHEN "
		"r.retry_state = 'due' THEN 1 ELSE 0 END, r.kiosk_id "
		"FROM run r WHERE r.id = " RUN_LAST_ATTEMPT("id = $1");
	const struct db_value params[] = {DB_I(run_id)};
	struct last_attempt last = {.run_id = run_id, .is_public = is_public};
	int err = db_query(store_reader(store), sql, params, 1,
			   last_attempt_row, &last);

	if (err < 0)
		return err;
	*ret = last.shown ? last.shown : json_null();
	return 0;
}

/* ---- events ---- */

/* Parse an object and set its `role`: its text cannot be searched. */
static int add_parsed(struct buf *b, const char *role, struct json_text object)
{
	json_t *tree = json_loadb(object.at, object.len, 0, NULL);
	struct writer w;

	writer_init(&w, b);
	if (json_object_set_new(tree, "role", json_string(role)))
		w.err = -ENOMEM;
	writer_json(&w, NULL, tree);
	json_decref(tree);
	return w.err;
}

/* Append the text of an object up to `until`, then the member `role`. */
static int add_role(struct buf *b, struct json_text object, const char *until,
		    const char *name, const char *role)
{
	struct writer w;
	int err = buf_add(b, object.at, (size_t)(until - object.at));

	writer_init(&w, b);
	w.err = err;
	w.follows = name != NULL; /* events are never empty objects */
	writer_text(&w, name, role);
	return w.err;
}

/* Append an event. A `role` that the agent sent is replaced in place. */
static int add_event(const char *role, struct json_text object, void *arg)
{
	const char *end = object.at + object.len;
	const char *next; /* text to copy after the role */
	struct buf *b = arg;
	struct json_text own;
	int found = json_text_member(object, "role", &own);
	int err = b->data[b->used - 1] == '[' ? 0 : buf_add(b, ",", 1);

	if (err)
		return err;
	if (found < 0)
		return add_parsed(b, role, object);
	next = found ? own.at + own.len : memrchr(object.at, '}', object.len);
	if (!next)
		return -EIO;
	err = found ? add_role(b, object, own.at, NULL, role)
		    : add_role(b, object, next, "role", role);
	return err ? err : buf_add(b, next, (size_t)(end - next));
}

int store_report_events(struct store *store, int64_t run_id, const char *kind,
			struct buf *text)
{
	int err = buf_add(text, "[", 1);

	if (!err)
		err = store_run_event_texts(store, run_id, kind,
					    REPORT_EVENTS_MAX, add_event, text);
	return err ? err : buf_add(text, "]", 1);
}

int store_report_event_count(struct store *store, int64_t run_id,
			     const char *kind, int64_t *ret)
{
	const struct db_value params[] = {DB_I(run_id), db_text(kind)};
	int rows = db_query(store_reader(store),
			    "SELECT count(*) FROM event "
			    "WHERE run_id = $1 AND kind = $2",
			    params, 2, db_integer_row, ret);

	return rows < 0 ? rows : 0;
}

/* ---- SIP messages ---- */

int store_report_message_count(struct store *store, int64_t run_id,
			       int64_t *ret)
{
	const struct db_value id = DB_I(run_id);
	int rows = db_query(store_reader(store),
			    "SELECT count(*) FROM sip_message "
			    "WHERE run_id = $1 AND " RUN_HAS("sip"),
			    &id, 1, db_integer_row, ret);

	return rows < 0 ? rows : 0;
}

/* ---- series ---- */

struct series_query {
	struct writer *w;
	json_t *bounds; /* of store_bounds_read() */
	int64_t left;   /* points that may still be written */
	int64_t omitted;
};

/* Points of several leases at one time, taken together. */
struct together {
	int64_t t_s;
	uint64_t n, least_n, most_n;
	double min, max, sum; /* of avg * n */
	double sum_min, sum_max;
};

static void take_point(struct together *t, const struct series_point *p)
{
	const struct distribution *d = &p->d;

	if (t->n == 0 || d->min < t->min)
		t->min = d->min;
	if (t->n == 0 || d->max > t->max)
		t->max = d->max;
	if (t->n == 0 || d->n < t->least_n)
		t->least_n = d->n;
	if (d->n > t->most_n)
		t->most_n = d->n;
	t->t_s = p->t_s;
	t->n += d->n;
	t->sum += d->avg * (double)d->n;
	t->sum_min += d->min;
	t->sum_max += d->max;
}

/* Calls of shards are not samples of one set: those of a second add up. Each shard has the
 * mean of its seconds, of which the sum is exact where all have as many; the least and the most
 * of a sum are within the sums of these. */
static void add_up(struct together *t)
{
	t->n = t->most_n;
	t->max = t->sum_max;
	if (t->least_n == t->most_n)
		t->min = t->sum_min;
}

static bool is_of_calls(const char *measure)
{
	return strcmp(measure, "calls_active") == 0 ||
	       strcmp(measure, "calls_per_sec") == 0;
}

static void write_together(struct writer *w, const struct together *t)
{
	writer_open(w, NULL, '{');
	writer_integer(w, "t", t->t_s);
	writer_integer(w, "n", (int64_t)t->n);
	writer_real(w, "min", t->min);
	writer_real(w, "avg", t->sum / (double)t->n);
	writer_real(w, "max", t->max);
	writer_close(w, '}');
}

static void write_points(struct series_query *q,
			 const struct points_series *series)
{
	for (size_t i = 0; i < series->count;) {
		const int64_t t_s = series->points[i].p.t_s;
		struct together t = {.n = 0};

		while (i < series->count && series->points[i].p.t_s == t_s)
			take_point(&t, &series->points[i++].p);
		if (q->left == 0) {
			q->omitted++;
			continue;
		}
		q->left--;
		if (is_of_calls(series->measure))
			add_up(&t);
		write_together(q->w, &t);
	}
}

/* @return 0; the writer's error */
static int series_row(const struct points_series *series, void *arg)
{
	struct series_query *q = arg;
	enum measure m;
	double bound;

	if (q->left == 0) {
		write_points(q, series); /* counts them */
		return 0;
	}
	writer_open(q->w, NULL, '{');
	writer_text(q->w, "role", series->role);
	writer_text(q->w, "dir", series->dir);
	writer_text(q->w, "measure", series->measure);
	writer_text(q->w, "unit",
		    measure_parse(series->measure, &m) ? measure_unit(m) : "");
	if (store_bounds_find(q->bounds, series->role, series->dir,
			      series->measure, &bound))
		writer_real(q->w, "bound", bound);
	writer_open(q->w, "points", '[');
	write_points(q, series);
	writer_close(q->w, ']');
	writer_close(q->w, '}');
	return q->w->err;
}

/* @param measures  ended by NULL; NULL: all */
static int write_series(struct store *store, int64_t run_id,
			const char *const *measures, struct writer *w,
			const char *name, int64_t *ret_omitted)
{
	const struct points_query query = {
		.run_id = run_id, .measures = measures, .by_name = true};
	struct series_query q = {.w = w, .left = REPORT_POINTS_MAX};
	int err = store_bounds_read(store, run_id, &q.bounds);

	if (err < 0)
		return err;
	writer_open(w, name, '[');
	err = points_read(store_reader(store), &query, series_row, &q);
	writer_close(w, ']');
	json_decref(q.bounds);
	if (err >= 0)
		err = w->err;
	if (err == 0)
		*ret_omitted = q.omitted;
	return err;
}

int store_report_series(struct store *store, int64_t run_id, struct writer *w,
			const char *name, int64_t *ret_omitted)
{
	return write_series(store, run_id, NULL, w, name, ret_omitted);
}

int store_report_plots(struct store *store, int64_t run_id,
		       const char *const *measures, struct writer *w)
{
	int64_t omitted;

	return write_series(store, run_id, measures, w, NULL, &omitted);
}

/* ---- agents ---- */

static int agent_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)columns;
	return check(json_array_append_new(arg, json_pack("{s:s, s:s}", "role",
							  row[0].bytes, "name",
							  row[1].bytes)));
}

int store_report_agents(struct store *store, int64_t run_id, json_t **ret)
{
	const struct db_value id = DB_I(run_id);
	json_t *agents = json_array();
	int rows =
		agents ? db_query(store_reader(store),
				  "SELECT DISTINCT l.role, l.agent_name FROM "
				  "lease l WHERE l.run_id = $1 AND "
				  "l.agent_name IS NOT NULL "
				  "ORDER BY l.role, l.agent_name",
				  &id, 1, agent_row, agents)
		       : -ENOMEM;

	if (rows < 0) {
		json_decref(agents);
		return rows;
	}
	*ret = agents;
	return 0;
}

static json_t *ms_or_null(const struct db_value *us)
{
	return us->type == DB_INT ? json_real((double)us->integer / 1000)
				  : json_null();
}

/* What the shards of a role have of its calls. */
struct shards {
	json_t *rows;
	uint32_t calls[WIRE_SHARDS_MAX];
	double calls_per_second; /* of each: the highest of its actions */
};

static void add_calls(struct shards *s, const json_t *action, uint32_t of)
{
	const json_t *rate = json_object_get(action, "calls_per_second");
	const json_int_t total =
		json_integer_value(json_object_get(action, "max_total_calls"));
	/* both have the default 1 */
	const double each = (rate ? json_number_value(rate) : 1) / of;

	for (uint32_t k = 0; k < of; k++) {
		const struct wire_share share = {.index = k, .of = of};

		s->calls[k] += wire_share_count(
			&share, total > 0 ? (uint32_t)total : 1);
	}
	if (each > s->calls_per_second)
		s->calls_per_second = each;
}

/* Read the calls of a role from the job of its first shard. */
static int read_calls(struct shards *s, const struct db_value *spec,
		      uint32_t of)
{
	json_t *job = json_loadb(spec->bytes, spec->len, 0, NULL);
	const json_t *step, *action;
	size_t i, k;

	if (!job)
		return -ENOMEM;
	s->calls_per_second = 0;
	memset(s->calls, 0, sizeof(s->calls));
	json_array_foreach(json_object_get(job, "steps"), i, step)
	{
		json_array_foreach(step, k, action)
		{
			const char *type = text_of(action, "type");

			if (strcmp(type, "call") == 0 ||
			    strcmp(type, "stream") == 0)
				add_calls(s, action, of);
		}
	}
	json_decref(job);
	return 0;
}

static int shard_row(const struct db_value *row, size_t columns, void *arg)
{
	struct shards *s = arg;
	const uint32_t k = (uint32_t)row[1].integer;
	const uint32_t of = (uint32_t)row[2].integer;
	int err = 0;

	(void)columns;
	if (k >= WIRE_SHARDS_MAX || of > WIRE_SHARDS_MAX)
		return -EIO;
	if (row[8].type == DB_TEXT)
		err = read_calls(s, &row[8], of);
	if (err)
		return err;
	return check(json_array_append_new(
		s->rows,
		json_pack("{s:s, s:I, s:I, s:o, s:s, s:o, s:I, s:f, s:o, s:o}",
			  "role", row[0].bytes, "shard", (json_int_t)k + 1,
			  "shards", (json_int_t)of, "agent",
			  record_value(&row[3]), "state", row[4].bytes,
			  "reason", record_value(&row[7]), "calls",
			  (json_int_t)s->calls[k], "calls_per_second",
			  s->calls_per_second, "start_offset_ms",
			  ms_or_null(&row[5]), "clock_error_ms",
			  ms_or_null(&row[6]))));
}

int store_report_shards(struct store *store, int64_t run_id, json_t **ret)
{
	/* starts count from that of the role's first shard to begin; the shards of a
	 * role have one job but for their share */
	static const char sql[] =
		"SELECT l.role, l.shard, l.shards, coalesce(l.agent_name, "
		"a.name), l.state, l.began_us - (SELECT min(o.began_us) FROM "
		"lease o WHERE o.run_id = l.run_id AND o.role = l.role), "
		"l.began_error_us, CASE WHEN l.state = 'lost' THEN l.reason "
		"END, CASE WHEN l.shard = 0 THEN l.spec_json END "
		"FROM lease l LEFT JOIN agent a ON "
		"a.id = l.agent_id WHERE l.run_id = $1 AND l.shards > 1 "
		"ORDER BY l.role, l.shard";
	const struct db_value id = DB_I(run_id);
	struct shards s = {.rows = json_array()};
	int rows = s.rows ? db_query(store_reader(store), sql, &id, 1,
				     shard_row, &s)
			  : -ENOMEM;

	if (rows < 0) {
		json_decref(s.rows);
		return rows;
	}
	*ret = s.rows;
	return 0;
}

/* ---- what runs are compared by ---- */

static int spec_row(const struct db_value *row, size_t columns, void *arg)
{
	json_t *spec = json_loadb(row[0].bytes, row[0].len, 0, NULL);

	(void)columns;
	return spec ? check(json_array_append_new(arg, spec)) : 0;
}

int store_report_specs(struct store *store, int64_t run_id, json_t **ret)
{
	const struct db_value id = DB_I(run_id);
	json_t *specs = json_array();
	int rows = specs ? db_query(store_reader(store),
				    "SELECT spec_json FROM lease "
				    "WHERE run_id = $1 AND shard = 0 "
				    "ORDER BY role",
				    &id, 1, spec_row, specs)
			 : -ENOMEM;

	if (rows < 0) {
		json_decref(specs);
		return rows;
	}
	*ret = specs;
	return 0;
}

int store_report_last_passed(struct store *store, int64_t run_id, int64_t *ret)
{
	static const char sql[] =
		"SELECT id FROM run WHERE id < $1 AND status = 'passed' "
		"AND test_id = (SELECT test_id FROM run WHERE id = $1) "
		"ORDER BY id DESC LIMIT 1";
	const struct db_value id = DB_I(run_id);
	int rows =
		db_query(store_reader(store), sql, &id, 1, db_integer_row, ret);

	return rows < 0 ? rows : rows ? 0 : -ENOENT;
}
