#include "control/server/store/store_run.h"

#include "base/str.h"
#include "control/server/store/record_db.h"
#include "control/server/store/record_text.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_run_internal.h"
#include "control/server/store/store_run_list.h"

#include <errno.h>
#include <string.h>

/* A run is `running` until it is judged, whatever the row says. */
#define STATUS "CASE WHEN " RUN_DONE " THEN r.status ELSE 'running' END"
#define PASSED \
	"CASE WHEN " RUN_DONE " AND r.status = 'passed' THEN 1 ELSE 0 END"
#define FAILED                                                \
	"CASE WHEN " RUN_DONE " AND r.status " RUN_NOT_PASSED \
	" THEN 1 ELSE 0 END"
#define REDUCED  "CASE WHEN r.shards_lost > 0 THEN 'true' ELSE 'false' END"
#define FINISHED "CASE WHEN " RUN_DONE " THEN 1 ELSE 0 END"

/* clang-format off */
#define LISTED_COLUMNS \
	{"id", "r.id", NULL, COLUMN_INT}, \
	{"session_id", "r.session_id", NULL, COLUMN_TEXT}, \
	{"status", STATUS, NULL, COLUMN_TEXT}, \
	{"session_status", STATUS, NULL, COLUMN_TEXT}, \
	{"has_passed", PASSED, NULL, COLUMN_INT}, \
	{"is_failed", FAILED, NULL, COLUMN_INT}, \
	{"is_finished", FINISHED, NULL, COLUMN_INT}, \
	{"result_description", "r.result_description", NULL, COLUMN_TEXT}, \
	{"started_at", "r.started_at", NULL, COLUMN_TIME}, \
	{"stopped_at", "r.stopped_at", NULL, COLUMN_TIME}, \
	{"tags", "r.tags_json", NULL, COLUMN_TEXT}, \
	{"test_id", "r.test_id", NULL, COLUMN_INT}, \
	{"test_name", "r.test_name", NULL, COLUMN_TEXT}, \
	{"testcase_name", "r.testcase_name", NULL, COLUMN_TEXT}, \
	{"project_id", "r.project_id", NULL, COLUMN_INT}, \
	{"project_name", "r.project_name", NULL, COLUMN_TEXT}, \
	{"agentpool_name", "r.agentpool_name", NULL, COLUMN_TEXT}
#define ATTEMPT_COLUMNS \
	{"attempt", "r.attempt", NULL, COLUMN_INT}, \
	{"retry_of", "r.retry_of", NULL, COLUMN_TEXT}
/* clang-format on */

static const struct column columns[] = {
	LISTED_COLUMNS,
	/* not in listings from here on */
	ATTEMPT_COLUMNS,
	/* for single runs only from here on */
	{"retried_by",
	 "(SELECT n.session_id FROM run n WHERE n.retry_of = r.session_id)",
	 NULL, COLUMN_TEXT},
	{"phase", "r.phase", NULL, COLUMN_TEXT},
	{"progress", "r.progress", NULL, COLUMN_REAL},
	{"reduced", REDUCED, NULL, COLUMN_JSON},
	{"shards_lost", "r.shards_lost", NULL, COLUMN_INT},
	{"warnings", "r.warnings_json", NULL, COLUMN_JSON},
	{"created_at", "r.created_at", NULL, COLUMN_TIME},
	{"verdicts", "r.verdicts_json", NULL, COLUMN_JSON},
	{"report_mode", "r.report_mode", NULL, COLUMN_TEXT},
	{"kiosk_id", "r.kiosk_id", NULL, COLUMN_TEXT},
	{"keep", "r.keep", NULL, COLUMN_INT},
	{"metrics_removed_at", "r.metrics_removed_at", NULL, COLUMN_TIME},
	{"sip_removed_at", "r.sip_removed_at", NULL, COLUMN_TIME},
	{"artifacts_removed_at", "r.artifacts_removed_at", NULL, COLUMN_TIME},
	{"metrics_thinned_at", "r.metrics_thinned_at", NULL, COLUMN_TIME},
	{"interval_s", "r.interval_s", NULL, COLUMN_INT},
};

/* the first columns: listings can be sorted and filtered by them
 * (docs/reference/api.md) */
#define LISTED_COUNT 17

/* with the columns about attempts */
#define ATTEMPT_COUNT 19

const struct table store_run_listed = {
	.name = "run",
	.from = "run r",
	.id = "r.id",
	.columns = columns,
	.column_count = LISTED_COUNT,
};

static const struct table attempts = {
	.name = "run",
	.from = "run r",
	.id = "r.id",
	.columns = columns,
	.column_count = ATTEMPT_COUNT,
};

static const struct table whole = {
	.name = "run",
	.from = "run r",
	.id = "r.id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

/* The columns of a status poll; the last column is not shown. */
static const struct column polled_columns[] = {
	LISTED_COLUMNS,
	ATTEMPT_COLUMNS,
	{"over", "CASE WHEN " RUN_OVER " THEN 1 ELSE 0 END", NULL, COLUMN_INT},
};

#define POLLED_COUNT (sizeof(polled_columns) / sizeof(*polled_columns))

static const struct table polled = {
	.name = "run",
	.from = "run r",
	.id = "r.id",
	.columns = polled_columns,
	.column_count = POLLED_COUNT,
};

/* Page of the newest run that a condition selects. */
static const struct page first = {.start = 0, .count = 1};

static struct selection newest(const char *where, const struct db_value *value)
{
	return (struct selection){
		.where = where,
		.params = value,
		.count = 1,
		.order = "r.id DESC",
	};
}

static int get_one(struct store *s, const struct table *t, const char *where,
		   struct db_value value, json_t **ret)
{
	const struct selection selection = newest(where, &value);
	json_t *rows;
	int err;

	err = record_select(s, t, &selection, &first, &rows, NULL);
	if (err)
		return err;
	if (json_array_size(rows) > 0)
		*ret = json_incref(json_array_get(rows, 0));
	else
		err = -ENOENT;
	json_decref(rows);
	return err;
}

#define BY_ID      "id = $1 AND " RUN_SHOWN
#define BY_SESSION "session_id = lower($1) AND " RUN_SHOWN

/* Parse a numeric id or a UUID. @return 0; -ENOENT neither */
static int read_key(const char *id_or_uuid, bool *by_id, struct db_value *value)
{
	uint64_t id;

	*by_id = str_to_u64(id_or_uuid, INT64_MAX, &id) == 0;
	*value = *by_id ? DB_I((int64_t)id) : db_text(id_or_uuid);
	return *by_id || uuid_valid(id_or_uuid) ? 0 : -ENOENT;
}

int store_run_get(struct store *s, const char *id_or_uuid, json_t **ret)
{
	struct db_value value;
	bool by_id;
	int err = read_key(id_or_uuid, &by_id, &value);

	return err ? err
		   : get_one(s, &whole, by_id ? BY_ID : BY_SESSION, value, ret);
}

const char *run_status_alias(const char *status)
{
	return strcmp(status, "errored") == 0 || strcmp(status, "stopped") == 0
		       ? "failed"
		       : status;
}

struct status_reading {
	struct run_status *status;
	bool found;
};

static int status_row(const struct db_value *row, size_t count, void *arg)
{
	struct status_reading *reading = arg;
	struct run_status *status = reading->status;
	struct db_value shown[POLLED_COUNT];

	reading->found = true;
	status->finished = row[count - 1].integer == 1;
	if (!status->finished)
		return 0;
	for (size_t i = 0; i < count; i++) {
		shown[i] = row[i];
		if (status->alias &&
		    strcmp(polled_columns[i].name, "session_status") == 0)
			shown[i] = db_text(run_status_alias(row[i].bytes));
	}
	return record_text_row(status->text, &polled, shown, count - 1);
}

static int read_status(struct store *s, const char *where,
		       struct db_value value, struct run_status *status)
{
	const struct selection selection = newest(where, &value);
	struct status_reading reading = {.status = status};
	int err = record_select_rows(s, &polled, &selection, &first, status_row,
				     &reading);

	if (err)
		return err;
	return reading.found ? 0 : -ENOENT;
}

int store_run_status(struct store *s, const char *id_or_uuid,
		     struct run_status *status)
{
	struct db_value value;
	bool by_id;
	int err = read_key(id_or_uuid, &by_id, &value);

	return err ? err
		   : read_status(s,
				 by_id ? "r.id = " RUN_LAST_ATTEMPT(BY_ID)
				       : "r.id = " RUN_LAST_ATTEMPT(BY_SESSION),
				 value, status);
}

/* SQL: the latest run of a test. A run with a further attempt due precedes all
 * others, as that attempt will be the latest. The unary + keeps SQLite from
 * searching all runs of the test for it. */
#define LATEST                                                              \
	"r.id = coalesce((SELECT max(id) FROM run WHERE retry_state = "     \
	"'due' AND +test_id = $1), (SELECT max(id) FROM run WHERE test_id " \
	"= $1))"

int store_run_status_last(struct store *s, int64_t test_id,
			  struct run_status *status)
{
	return read_status(s, LATEST, DB_I(test_id), status);
}

/* Show a failed attempt as running, because the next attempt is due. */
static int present_running(json_t *run)
{
	json_t *running = json_pack("{s:s, s:s, s:i, s:i, s:s, s:n}", "status",
				    "running", "session_status", "running",
				    "is_failed", 0, "is_finished", 0,
				    "result_description", "", "stopped_at");
	int err = running && !json_object_update(run, running) ? 0 : -ENOMEM;

	json_decref(running);
	return err;
}

int store_run_last(struct store *s, int64_t test_id, json_t **ret)
{
	json_t *run;
	int err = get_one(s, &polled, LATEST, DB_I(test_id), &run);
	bool over;

	if (err)
		return err;
	over = json_integer_value(json_object_get(run, "over")) == 1;
	json_object_del(run, "over");
	if (!over && json_integer_value(json_object_get(run, "is_finished")))
		err = present_running(run);
	if (err)
		json_decref(run);
	else
		*ret = run;
	return err;
}

int store_run_of_project_run(struct store *s, int64_t project_run_id,
			     const struct page *page, json_t **ret,
			     int64_t *total)
{
	return record_list_of(s, &attempts, "r.project_run_id", project_run_id,
			      page, ret, total);
}

/* Change one run. @return 0; -ENOENT no run was changed; -EIO; -EBUSY */
static int update(struct store *s, const char *sql,
		  const struct db_value *params, size_t count)
{
	struct db *db;
	int err;

	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = db_query(db, sql, params, count, NULL, NULL);
	err = store_write_end(s, err == 0 ? -ENOENT : err);
	return err < 0 ? err : 0;
}

int store_run_share(struct store *s, int64_t run_id, const char *kiosk_id)
{
	const struct db_value params[] = {DB_I(run_id), db_text(kiosk_id)};

	return update(s,
		      "UPDATE run SET kiosk_id = coalesce(kiosk_id, $2), "
		      "report_mode = 'kiosk' WHERE id = $1",
		      params, 2);
}

int store_run_revoke(struct store *s, int64_t run_id)
{
	const struct db_value param = DB_I(run_id);

	return update(s,
		      "UPDATE run SET kiosk_id = NULL, report_mode = 'full' "
		      "WHERE id = $1 AND kiosk_id IS NOT NULL",
		      &param, 1);
}

static int conditions_row(const struct db_value *row, size_t count, void *arg)
{
	json_t **ret = arg;

	(void)count;
	*ret = json_loadb(row[0].bytes, row[0].len, 0, NULL);
	return *ret ? 0 : -EIO;
}

int store_run_conditions(struct store *s, int64_t run_id, json_t **ret)
{
	const struct db_value id = DB_I(run_id);
	int err = db_query(store_reader(s),
			   "SELECT conditions_json FROM run WHERE id = $1", &id,
			   1, conditions_row, ret);

	return err < 0 ? err : err == 0 ? -ENOENT : 0;
}
