#include "control/server/store/store_report.h"

#include "control/server/store/record_db.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_run_internal.h"
#include "control/wire/measure.h"

#include <errno.h>
#include <string.h>

/* Rows stop being delivered when a handler returns this. */
static int check(int set)
{
	return set ? -ENOMEM : 0;
}

static json_t *document(const struct db_value *v)
{
	json_t *doc = NULL;

	if (v->type == DB_TEXT)
		doc = json_loadb(v->bytes, v->len, JSON_DECODE_ANY, NULL);
	return doc ? doc : json_null();
}

/* ---- the run ---- */

struct run_query {
	int64_t id;
	json_t *report;
};

static const char *const run_columns[] = {
	"session_id",     "test_name",          "testcase_name", "project_name",
	"agentpool_name", "result_description", "status",        "phase",
};
#define RUN_TEXTS (sizeof(run_columns) / sizeof(*run_columns))

static int run_row(const struct db_value *row, size_t columns, void *arg)
{
	struct run_query *q = arg;
	const struct db_value *rest = row + 1 + RUN_TEXTS;
	json_t *run = json_object();
	json_t *verdicts = document(&rest[5]);
	int err = 0;

	(void)columns;
	for (size_t i = 0; i < RUN_TEXTS; i++)
		err |= json_object_set_new(run, run_columns[i],
					   record_value(&row[1 + i]));
	err |= json_object_set_new(run, "attempt",
				   json_integer(rest[0].integer));
	err |= json_object_set_new(run, "progress", json_real(rest[1].real));
	err |= json_object_set_new(run, "started_at", record_time(&rest[2]));
	err |= json_object_set_new(run, "stopped_at", record_time(&rest[3]));
	if (!json_is_array(verdicts)) {
		json_decref(verdicts);
		verdicts = json_array();
	}
	q->id = row[0].integer;
	q->report =
		json_pack("{s:o, s:o, s:I}", "run", run, "verdicts", verdicts,
			  "interval_s", (json_int_t)rest[4].integer);
	return check(err || !q->report);
}

int64_t store_report_run(struct store *store, const char *session_id,
			 const char *kiosk_id, json_t **ret)
{
	static const char sql[] =
		"SELECT id, session_id, test_name, testcase_name,"
		" project_name, agentpool_name, result_description, status,"
		" phase, attempt, CAST(progress AS REAL), started_at,"
		" stopped_at, interval_s, verdicts_json FROM run"
		" WHERE session_id = $1 AND ($2 IS NULL OR kiosk_id = $2)";
	const struct db_value params[] = {db_text(session_id),
					  db_text(kiosk_id)};
	struct run_query q = {0};
	int rows;

	rows = db_query(store_reader(store), sql, params, 2, run_row, &q);
	if (rows < 0) {
		json_decref(q.report);
		return rows;
	}
	if (rows == 0)
		return -ENOENT;
	*ret = q.report;
	return q.id;
}

struct last_attempt {
	int64_t run_id; /* whose report it is */
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
		/* the one that is due follows this one */
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

static int collect(const char *role, json_t *object, void *arg)
{
	json_object_set_new(object, "role", json_string(role));
	return check(json_array_append(arg, object));
}

int store_report_events(struct store *store, int64_t run_id, const char *kind,
			json_t **ret)
{
	json_t *array = json_array();
	int err = store_run_events(store, run_id, kind, REPORT_EVENTS_MAX,
				   collect, array);

	if (err) {
		json_decref(array);
		return err;
	}
	*ret = array;
	return 0;
}

/* ---- SIP messages ---- */

int store_report_messages(struct store *store, int64_t run_id, json_t **ret,
			  int64_t *ret_total)
{
	static const char count_sql[] =
		"SELECT count(*) FROM sip_message WHERE run_id = $1";
	const struct db_value id = DB_I(run_id);
	json_t *array;
	int64_t total = 0;
	int rows = db_query(store_reader(store), count_sql, &id, 1,
			    db_integer_row, &total);
	int err;

	if (rows < 0)
		return rows;
	array = json_array();
	err = store_run_messages_by_time(store, run_id, REPORT_MESSAGES_MAX,
					 collect, array);
	if (err) {
		json_decref(array);
		return err;
	}
	*ret = array;
	*ret_total = total;
	return 0;
}

/* ---- series ---- */

struct series_query {
	json_t *list;
	json_t *points; /* of the last series in list, borrowed */
	int64_t series_id;
};

static int start_series(struct series_query *q, const struct db_value *row)
{
	enum measure m;
	const char *unit = "";
	json_t *series;

	if (measure_parse(row[3].bytes, &m))
		unit = measure_unit(m);
	q->points = json_array();
	q->series_id = row[0].integer;
	series = json_pack("{s:o, s:o, s:o, s:s, s:o}", "role",
			   record_value(&row[1]), "dir", record_value(&row[2]),
			   "measure", record_value(&row[3]), "unit", unit,
			   "points", q->points);
	return check(!series || json_array_append_new(q->list, series));
}

static int point_row(const struct db_value *row, size_t columns, void *arg)
{
	struct series_query *q = arg;
	json_t *point;
	int err;

	(void)columns;
	if (row[0].integer != q->series_id) {
		err = start_series(q, row);
		if (err)
			return err;
	}
	point = json_pack("{s:I, s:I, s:f, s:f, s:f}", "t",
			  (json_int_t)row[4].integer, "n",
			  (json_int_t)row[5].integer, "min", row[6].real, "avg",
			  row[7].real, "max", row[8].real);
	return check(!point || json_array_append_new(q->points, point));
}

int store_report_series(struct store *store, int64_t run_id, json_t **ret)
{
	static const char sql[] =
		"SELECT s.id, s.role, s.dir, s.measure, p.t, sum(p.n),"
		" min(p.min), sum(p.avg * p.n) / sum(p.n), max(p.max)"
		" FROM series s JOIN point p ON p.series_id = s.id"
		" WHERE s.run_id = $1"
		" GROUP BY s.id, s.role, s.dir, s.measure, p.t"
		" ORDER BY s.measure, s.role DESC, s.dir, s.id, p.t LIMIT $2";
	const struct db_value params[] = {DB_I(run_id),
					  DB_I(REPORT_POINTS_MAX)};
	struct series_query q = {.list = json_array(), .series_id = -1};
	int rows;

	if (!q.list)
		return -ENOMEM;
	rows = db_query(store_reader(store), sql, params, 2, point_row, &q);
	if (rows < 0) {
		json_decref(q.list);
		return rows;
	}
	*ret = q.list;
	return 0;
}
