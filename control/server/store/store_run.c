#include "control/server/store/store_run.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/store/record_db.h"
#include "control/server/store/record_text.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_run_internal.h"

#include <errno.h>
#include <string.h>

/* A run is `running` until its judge has spoken, whatever the row says. */
#define STATUS "CASE WHEN " RUN_DONE " THEN r.status ELSE 'running' END"
#define PASSED \
	"CASE WHEN " RUN_DONE " AND r.status = 'passed' THEN 1 ELSE 0 END"
#define FAILED                                                          \
	"CASE WHEN " RUN_DONE " AND r.status IN ('failed', 'errored') " \
	"THEN 1 ELSE 0 END"
#define FINISHED "CASE WHEN " RUN_DONE " THEN 1 ELSE 0 END"

static const struct column columns[] = {
	{"id", "r.id", NULL, COLUMN_INT},
	{"session_id", "r.session_id", NULL, COLUMN_TEXT},
	{"status", STATUS, NULL, COLUMN_TEXT},
	{"session_status", STATUS, NULL, COLUMN_TEXT},
	{"has_passed", PASSED, NULL, COLUMN_INT},
	{"is_failed", FAILED, NULL, COLUMN_INT},
	{"is_finished", FINISHED, NULL, COLUMN_INT},
	{"result_description", "r.result_description", NULL, COLUMN_TEXT},
	{"started_at", "r.started_at", NULL, COLUMN_TIME},
	{"stopped_at", "r.stopped_at", NULL, COLUMN_TIME},
	{"tags", "r.tags_json", NULL, COLUMN_TEXT},
	{"test_id", "r.test_id", NULL, COLUMN_INT},
	{"test_name", "r.test_name", NULL, COLUMN_TEXT},
	{"testcase_name", "r.testcase_name", NULL, COLUMN_TEXT},
	{"project_id", "r.project_id", NULL, COLUMN_INT},
	{"project_name", "r.project_name", NULL, COLUMN_TEXT},
	{"agentpool_name", "r.agentpool_name", NULL, COLUMN_TEXT},
	/* from here on not in listings */
	{"attempt", "r.attempt", NULL, COLUMN_INT},
	{"retry_of", "r.retry_of", NULL, COLUMN_TEXT},
	/* from here on of single runs only */
	{"retried_by",
	 "(SELECT n.session_id FROM run n WHERE n.retry_of = r.session_id)",
	 NULL, COLUMN_TEXT},
	{"phase", "r.phase", NULL, COLUMN_TEXT},
	{"progress", "r.progress", NULL, COLUMN_REAL},
	{"created_at", "r.created_at", NULL, COLUMN_TIME},
	{"verdicts", "r.verdicts_json", NULL, COLUMN_JSON},
	{"report_mode", "r.report_mode", NULL, COLUMN_TEXT},
	{"kiosk_id", "r.kiosk_id", NULL, COLUMN_TEXT},
};

/* docs/api.md: these can be sorted and filtered by */
#define LISTED_COUNT 17

/* these besides, where attempts matter */
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

/* The newest run of which this is true. */
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

static int get_one(struct store *s, const char *where, struct db_value value,
		   json_t **ret)
{
	const struct selection selection = newest(where, &value);
	json_t *rows;
	int err;

	err = record_select(s, &whole, &selection, &first, &rows, NULL);
	if (err)
		return err;
	if (json_array_size(rows) > 0)
		*ret = json_incref(json_array_get(rows, 0));
	else
		err = -ENOENT;
	json_decref(rows);
	return err;
}

/* The condition and the value of an id or UUID. @return 0; -ENOENT */
static int select_by(const char *id_or_uuid, const char **where,
		     struct db_value *value)
{
	uint64_t id;

	if (str_to_u64(id_or_uuid, INT64_MAX, &id) == 0) {
		*where = "r.id = $1";
		*value = DB_I((int64_t)id);
		return 0;
	}
	*where = "r.session_id = lower($1)";
	*value = db_text(id_or_uuid);
	return uuid_valid(id_or_uuid) ? 0 : -ENOENT;
}

int store_run_get(struct store *s, const char *id_or_uuid, json_t **ret)
{
	struct db_value value;
	const char *where;
	int err = select_by(id_or_uuid, &where, &value);

	return err ? err : get_one(s, where, value, ret);
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
	struct db_value shown[LISTED_COUNT];

	reading->found = true;
	for (size_t i = 0; i < count; i++) {
		const char *name = store_run_listed.columns[i].name;

		shown[i] = row[i];
		if (strcmp(name, "is_finished") == 0)
			status->finished = row[i].integer == 1;
		else if (status->alias && strcmp(name, "session_status") == 0)
			shown[i] = db_text(run_status_alias(row[i].bytes));
	}
	return status->finished
		       ? record_text_row(status->text, &store_run_listed, shown,
					 count)
		       : 0;
}

static int read_status(struct store *s, const char *where,
		       struct db_value value, struct run_status *status)
{
	const struct selection selection = newest(where, &value);
	struct status_reading reading = {.status = status};
	int err = record_select_rows(s, &store_run_listed, &selection, &first,
				     status_row, &reading);

	if (err)
		return err;
	return reading.found ? 0 : -ENOENT;
}

int store_run_status(struct store *s, const char *id_or_uuid,
		     struct run_status *status)
{
	struct db_value value;
	const char *where;
	int err = select_by(id_or_uuid, &where, &value);

	return err ? err : read_status(s, where, value, status);
}

int store_run_status_last(struct store *s, int64_t test_id,
			  struct run_status *status)
{
	return read_status(s, "r.test_id = $1", DB_I(test_id), status);
}

int store_run_last(struct store *s, int64_t test_id, json_t **ret)
{
	return get_one(s, "r.test_id = $1", DB_I(test_id), ret);
}

int store_run_of_project_run(struct store *s, int64_t project_run_id,
			     const struct page *page, json_t **ret,
			     int64_t *total)
{
	return record_list_of(s, &attempts, "r.project_run_id", project_run_id,
			      page, ret, total);
}

int store_run_revoke(struct store *s, int64_t run_id)
{
	const struct db_value param = DB_I(run_id);
	struct db *db;
	int err;

	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = db_query(db,
		       "UPDATE run SET kiosk_id = NULL, report_mode = 'full' "
		       "WHERE id = $1 AND kiosk_id IS NOT NULL",
		       &param, 1, NULL, NULL);
	err = store_write_end(s, err == 0 ? -ENOENT : err);
	return err < 0 ? err : 0;
}

static int done_row(const struct db_value *row, size_t columns_read, void *arg)
{
	(void)columns_read;
	*(bool *)arg = row[0].integer == 1;
	return 0;
}

int store_run_delete(struct store *s, int64_t run_id)
{
	const struct db_value param = DB_I(run_id);
	struct db *db;
	bool done = false;
	int err;

	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = db_query(db, "SELECT " FINISHED " FROM run r WHERE r.id = $1",
		       &param, 1, done_row, &done);
	if (err == 0)
		err = -ENOENT;
	else if (err > 0 && !done)
		err = -EBUSY;
	if (err > 0)
		err = db_query(db, "DELETE FROM run WHERE id = $1", &param, 1,
			       NULL, NULL);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
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
