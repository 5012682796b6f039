#include "control/server/api/resource_type.h"
#include "control/server/schedule/schedule.h"
#include "control/server/store/store.h"
#include "control/server/store/store_schedule.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Add the members that only a record shown alone has. */
#define NEXT_TIMES    5
#define HISTORY_COUNT 20

static const struct column columns[] = {
	{"id", "s.id", NULL, COLUMN_INT},
	{"name", "s.name", "name", COLUMN_TEXT},
	{"test_id", "s.test_id", "test_id", COLUMN_INT},
	{"test_name", "t.name", NULL, COLUMN_TEXT},
	{"project_id", "s.project_id", "project_id", COLUMN_INT},
	{"project_name", "p.name", NULL, COLUMN_TEXT},
	{"test_ids", "s.test_ids_json", "test_ids_json", COLUMN_JSON},
	{"tags", "s.tags_json", "tags_json", COLUMN_JSON},
	{"report_mode", "s.report_mode", "report_mode", COLUMN_TEXT},
	{"cron", "s.cron", "cron", COLUMN_TEXT},
	{"run_at", "s.run_at", "run_at", COLUMN_TIME},
	{"timezone", "s.timezone", "timezone", COLUMN_TEXT},
	{"overlap", "s.overlap", "overlap", COLUMN_TEXT},
	{"missed", "s.missed", "missed", COLUMN_TEXT},
	{"enabled", "s.enabled", "enabled", COLUMN_INT},
	{"next_at", "s.next_at", "next_at", COLUMN_TIME},
	{"waiting_for", "s.waiting_for", "waiting_for", COLUMN_TIME},
	{"created_at", "s.created_at", "created_at", COLUMN_TIME},
	{"updated_at", "s.updated_at", "updated_at", COLUMN_TIME},
};

static const struct table table = {
	.name = "schedule",
	.from = "schedule s LEFT JOIN test t ON t.id = s.test_id "
		"LEFT JOIN project p ON p.id = s.project_id",
	.id = "s.id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

static void check_ids(struct request *req, json_t *value, const char *pointer,
		      struct reply *rep)
{
	json_t *id;
	size_t i;

	(void)req;
	json_array_foreach(value, i, id)
	{
		if (!json_is_integer(id))
			field_error(rep, pointer,
				    "must be an array of whole numbers");
	}
}

static const struct field fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 200},
	{.name = "test_id", .kind = FIELD_INTEGER, .min = 1, .max = INT64_MAX},
	{.name = "project_id",
	 .kind = FIELD_INTEGER,
	 .min = 1,
	 .max = INT64_MAX},
	{.name = "test_ids",
	 .kind = FIELD_ARRAY,
	 .max = 10000,
	 .check = check_ids},
	{.name = "tags", .kind = FIELD_TAGS, .max = 64},
	{.name = "report_mode",
	 .kind = FIELD_CHOICE,
	 .choices = "full kiosk print",
	 .fallback = "\"full\""},
	{.name = "cron", .kind = FIELD_TEXT, .max = 200},
	{.name = "run_at", .kind = FIELD_TIME},
	{.name = "timezone",
	 .kind = FIELD_TEXT,
	 .max = 63,
	 .fallback = "\"UTC\""},
	{.name = "overlap",
	 .kind = FIELD_CHOICE,
	 .choices = "skip wait parallel",
	 .fallback = "\"skip\""},
	{.name = "missed",
	 .kind = FIELD_CHOICE,
	 .choices = "skip run",
	 .fallback = "\"skip\""},
	{.name = "enabled", .kind = FIELD_FLAG, .fallback = "1"},
};

static bool given(json_t *values, const char *name)
{
	return !json_is_null(json_object_get(values, name));
}

static void check_what(struct request *req, json_t *values, struct reply *rep)
{
	if (given(values, "test_id") == given(values, "project_id"))
		field_error(rep, "/test_id",
			    "exactly one of test_id and project_id must be "
			    "given");
	if (given(values, "test_ids") && !given(values, "project_id"))
		field_error(rep, "/test_ids", "selects tests of a project");
	if (given(values, "tags") && !given(values, "project_id"))
		field_error(rep, "/tags", "selects tests of a project");
	resource_reference(req, rep, &test_resource,
			   json_object_get(values, "test_id"), "/test_id");
	resource_reference(req, rep, &project_resource,
			   json_object_get(values, "project_id"),
			   "/project_id");
}

/* The first time of the new values; 0: there is none, or they are wrong. */
static int64_t first_time(json_t *values, struct reply *rep)
{
	const char *cron = json_string_value(json_object_get(values, "cron"));
	json_t *run_at = json_object_get(values, "run_at");
	char reason[SCHEDULE_REASON_BYTES];
	struct schedule_times *times;
	int64_t now = store_now_ms(), next;
	bool is_cron;
	int err;

	if (!cron == json_is_null(run_at)) {
		field_error(rep, "/cron",
			    "exactly one of cron and run_at must be given");
		return 0;
	}
	err = schedule_times_new(
		&times, cron,
		json_string_value(json_object_get(values, "timezone")), reason,
		&is_cron);
	if (err == -EINVAL)
		field_error(rep, is_cron ? "/cron" : "/timezone", "%s", reason);
	else if (err)
		reply_store_error(rep, err, "time zone");
	if (err)
		return 0;
	next = cron ? schedule_times_next(times, now)
		    : json_integer_value(run_at);
	schedule_times_free(times);
	if (cron && !next)
		field_error(rep, "/cron", "has no time within 40 years");
	return next;
}

/* True if the new values do not change the times of a stored schedule: then a
 * time that is due at this moment is not lost. */
static bool same_times(json_t *stored, json_t *values)
{
	static const char *const names[] = {"cron", "timezone", "enabled"};
	char text[CLOCK_TEXT_BYTES] = "";
	json_t *run_at = json_object_get(values, "run_at");
	const char *was = json_string_value(json_object_get(stored, "run_at"));

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!json_equal(json_object_get(stored, names[i]),
				json_object_get(values, names[i])))
			return false;
	if (json_is_integer(run_at))
		clock_format_ms(text, json_integer_value(run_at));
	return strcmp(text, was ? was : "") == 0;
}

/* Leave the members that the run engine sets unchanged. @return false: they
 * must be set */
static bool keep_times(struct request *req, json_t *values)
{
	json_t *stored = NULL;
	bool same;
	int64_t id;

	if (!param_id(req, 0, &id) ||
	    record_get(request_store(req), &table, id, &stored))
		return false;
	same = same_times(stored, values);
	json_decref(stored);
	return same;
}

static void check(struct request *req, json_t *values, struct reply *rep)
{
	bool enabled =
		json_integer_value(json_object_get(values, "enabled")) == 1;
	int64_t next;

	check_what(req, values, rep);
	next = first_time(values, rep);
	if (reply_status(rep) || keep_times(req, values))
		return;
	if (enabled && next <= store_now_ms())
		field_error(rep, "/run_at", "is over");
	json_object_set_new(values, "next_at",
			    enabled ? json_integer(next) : json_null());
	json_object_set_new(values, "waiting_for", json_null());
}

static json_t *next_times(json_t *row)
{
	const char *cron = json_string_value(json_object_get(row, "cron"));
	const char *next = json_string_value(json_object_get(row, "next_at"));
	char reason[SCHEDULE_REASON_BYTES], text[CLOCK_TEXT_BYTES];
	struct schedule_times *times = NULL;
	json_t *list = json_array();
	int64_t at = 0;
	bool is_cron;

	if (!next || !time_parse(next, &at))
		return list;
	if (schedule_times_new(
		    &times, cron,
		    json_string_value(json_object_get(row, "timezone")), reason,
		    &is_cron))
		times = NULL; /* the zone is no longer installed: show the one time that is stored */
	for (size_t i = 0; at && i < NEXT_TIMES; i++) {
		clock_format_ms(text, at);
		json_array_append_new(list, json_string(text));
		at = times ? schedule_times_next(times, at) : 0;
	}
	schedule_times_free(times);
	return list;
}

/* As in all answers, tags are text that holds a JSON array. */
static int present(struct request *req, json_t *row)
{
	json_t *tags = json_object_get(row, "tags");
	char *text;

	(void)req;
	if (!json_is_array(tags))
		return 0;
	text = json_dumps(tags, JSON_COMPACT);
	if (!text)
		return -ENOMEM;
	json_object_set_new(row, "tags", json_string(text));
	free(text);
	return 0;
}

static int detail(struct request *req, json_t *row)
{
	json_t *history;
	int err = store_schedule_history(
		request_store(req),
		json_integer_value(json_object_get(row, "id")), HISTORY_COUNT,
		&history);

	if (err)
		return err;
	if (json_object_set_new(row, "next_times", next_times(row)) ||
	    json_object_set_new(row, "history", history))
		return -ENOMEM;
	return 0;
}

const struct resource schedule_resource = {
	.path = "/schedules",
	.plural = "schedules",
	.singular = "schedule",
	.table = &table,
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.updated_at = true,
	.observed = "next_at waiting_for next_times history",
	.check = check,
	.present = present,
	.detail = detail,
};
