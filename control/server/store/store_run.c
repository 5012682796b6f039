#include "control/server/store/store_run.h"

#include "base/buf.h"
#include "base/str.h"
#include "control/server/store/record_db.h"
#include "control/server/store/record_text.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_run_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WHERE_BYTES 8192

/* A run is `running` until its judge has spoken, whatever the row says. */
#define DONE   "r.phase = 'done'"
#define STATUS "CASE WHEN " DONE " THEN r.status ELSE 'running' END"
#define PASSED "CASE WHEN " DONE " AND r.status = 'passed' THEN 1 ELSE 0 END"
#define FAILED                                                      \
	"CASE WHEN " DONE " AND r.status IN ('failed', 'errored') " \
	"THEN 1 ELSE 0 END"
#define FINISHED "CASE WHEN " DONE " THEN 1 ELSE 0 END"

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

/* contract 4.5: these can be sorted and filtered by */
#define LISTED_COUNT 17

/* these besides, where attempts matter */
#define ATTEMPT_COUNT 19

static const struct table listed = {
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

static const struct column *find_column(const char *name)
{
	if (strcmp(name, "status") == 0)
		return NULL; /* listed, but named session_status in 4.5 */
	for (size_t i = 0; i < LISTED_COUNT; i++) {
		if (strcmp(columns[i].name, name) == 0)
			return &columns[i];
	}
	return NULL;
}

bool store_run_column(const char *name)
{
	return find_column(name) != NULL;
}

/* Seconds since 1970 of `YYYY-MM-DD HH:MM:SS`. */
static bool parse_time(const char *text, int64_t *ret)
{
	struct tm tm = {.tm_sec = 0};
	const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);

	if (!end || *end)
		return false;
	*ret = (int64_t)timegm(&tm);
	return true;
}

bool store_run_value(const char *name, const char *value)
{
	const struct column *c = find_column(name);
	uint64_t number;
	int64_t seconds;

	if (!c)
		return false;
	if (c->kind == COLUMN_INT)
		return str_to_u64(value, INT64_MAX, &number) == 0;
	if (c->kind == COLUMN_TIME)
		return parse_time(value, &seconds);
	return true;
}

/* The selection's text and values while it is put together. */
struct builder {
	struct buf where;
	struct db_value params[RECORD_PARAMS_MAX];
	size_t count;
	char *texts[RUN_FILTERS_MAX]; /* own the values of some params */
	size_t text_count;
};

/* Add "left $n right". */
static int add_condition(struct builder *b, const char *left,
			 struct db_value value, const char *right)
{
	if (b->count == RECORD_PARAMS_MAX)
		return -EINVAL;
	b->params[b->count++] = value;
	return buf_print(&b->where, "%s%s $%zu%s", b->where.used ? " AND " : "",
			 left, b->count, right);
}

/* The tags as they are stored, if the value is an array of them; else one tag
 * as it stands in the stored text. */
static char *tags_value(const char *value, bool *ret_is_array)
{
	json_t *tags = json_loads(value, JSON_DECODE_ANY, NULL);
	char *text = NULL;

	*ret_is_array = json_is_array(tags);
	if (*ret_is_array) {
		text = json_dumps(tags, JSON_COMPACT);
		json_decref(tags);
		return text;
	}
	json_decref(tags);
	tags = json_string(value);
	text = json_dumps(tags, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(tags);
	return text;
}

static int add_tags(struct builder *b, const char *value)
{
	bool is_array;
	char *text = tags_value(value, &is_array);

	if (!text)
		return -ENOMEM;
	b->texts[b->text_count++] = text;
	return is_array ? add_condition(b, "r.tags_json =", db_text(text), "")
			/* LIKE would take capitals for small letters */
			: add_condition(b, "replace(r.tags_json,",
					db_text(text), ", '') <> r.tags_json");
}

static int add_filter(struct builder *b, const struct run_filter *filter)
{
	const struct column *c = find_column(filter->name);
	char left[256];
	uint64_t number = 0;
	int64_t seconds = 0;

	if (!c || !store_run_value(filter->name, filter->value))
		return -EINVAL;
	if (strcmp(c->name, "tags") == 0)
		return add_tags(b, filter->value);
	if (c->kind == COLUMN_TIME) {
		parse_time(filter->value, &seconds);
		snprintf(left, sizeof(left), "%s / 1000 =", c->sql);
		return add_condition(b, left, DB_I(seconds), "");
	}
	snprintf(left, sizeof(left), "%s =", c->sql);
	if (c->kind == COLUMN_TEXT)
		return add_condition(b, left, db_text(filter->value), "");
	str_to_u64(filter->value, INT64_MAX, &number);
	return add_condition(b, left, DB_I((int64_t)number), "");
}

static int build(struct builder *b, const struct run_query *query)
{
	int err = 0;

	if (query->filter_count > RUN_FILTERS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < query->filter_count && err == 0; i++)
		err = add_filter(b, &query->filters[i]);
	if (err == 0 && query->has_start_date)
		err = add_condition(b, "r.started_at >",
				    DB_I(query->start_date_s * 1000), "");
	if (err == 0 && query->has_end_date)
		err = add_condition(b, "r.started_at <",
				    DB_I(query->end_date_s * 1000), "");
	return err;
}

int store_run_list(struct store *s, const struct run_query *query,
		   struct buf *text, int64_t *total)
{
	const struct column *order = find_column(query->order_by);
	struct builder b = {.count = 0};
	struct selection selection;
	char order_sql[256];
	int err;

	if (!order)
		return -EINVAL;
	buf_init(&b.where, WHERE_BYTES);
	err = build(&b, query);
	/* the id makes the order of equals certain, and so the pages */
	snprintf(order_sql, sizeof(order_sql), "%s %s, r.id %s", order->sql,
		 query->descending ? "DESC" : "ASC",
		 query->descending ? "DESC" : "ASC");
	selection = (struct selection){
		.where = b.where.used ? b.where.data : NULL,
		.params = b.params,
		.count = b.count,
		.order = order_sql,
	};
	if (err == 0)
		err = run_text_select(s, &listed, DONE, &selection,
				      &query->page, text, total);
	for (size_t i = 0; i < b.text_count; i++)
		free(b.texts[i]);
	buf_release(&b.where);
	return err;
}

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

struct status_reading {
	struct buf *text;
	bool found;
	bool finished;
};

static int status_row(const struct db_value *row, size_t count, void *arg)
{
	struct status_reading *reading = arg;

	reading->found = true;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(listed.columns[i].name, "is_finished") == 0)
			reading->finished = row[i].integer == 1;
	}
	return reading->finished
		       ? record_text_row(reading->text, &listed, row, count)
		       : 0;
}

static int read_status(struct store *s, const char *where,
		       struct db_value value, struct buf *text, bool *finished)
{
	const struct selection selection = newest(where, &value);
	struct status_reading reading = {.text = text};
	int err = record_select_rows(s, &listed, &selection, &first, status_row,
				     &reading);

	if (err)
		return err;
	if (!reading.found)
		return -ENOENT;
	*finished = reading.finished;
	return 0;
}

int store_run_status(struct store *s, const char *id_or_uuid, struct buf *text,
		     bool *finished)
{
	struct db_value value;
	const char *where;
	int err = select_by(id_or_uuid, &where, &value);

	return err ? err : read_status(s, where, value, text, finished);
}

int store_run_status_last(struct store *s, int64_t test_id, struct buf *text,
			  bool *finished)
{
	return read_status(s, "r.test_id = $1", DB_I(test_id), text, finished);
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
