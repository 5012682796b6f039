#include "control/server/report/report_data.h"

#include "control/server/report/public.h"
#include "control/server/run/start.h"
#include "control/server/store/store_artifact.h"
#include "control/server/store/store_report.h"

#include <errno.h>
#include <string.h>

#define ARTIFACTS_SHOWN 1000

/* A line of the ladder: time since the first message, in ms. */
static json_t *ladder_line(json_t *message, json_int_t first_us, bool with_text)
{
	const char *data = json_string_value(json_object_get(message, "data"));
	size_t len = data ? strcspn(data, "\r\n") : 0;
	json_int_t t_us = json_integer_value(json_object_get(message, "t"));
	json_t *line = json_object();

	json_object_set_new(line, "t_ms",
			    json_real((double)(t_us - first_us) / 1000));
	json_object_set(line, "role", json_object_get(message, "role"));
	json_object_set(line, "dir", json_object_get(message, "dir"));
	json_object_set(line, "transport",
			json_object_get(message, "transport"));
	json_object_set(line, "peer", json_object_get(message, "peer"));
	if (json_object_get(message, "encoding"))
		json_object_set_new(line, "line",
				    json_string("(not text, in base64)"));
	else
		json_object_set_new(line, "line",
				    json_stringn(data ? data : "", len));
	if (with_text)
		json_object_set(line, "text", json_object_get(message, "data"));
	return line;
}

static int add_ladder(struct store *store, int64_t run_id, bool with_text,
		      json_t *report)
{
	json_int_t first_us = 0;
	json_t *messages;
	json_t *lines;
	json_t *message;
	int64_t total;
	size_t i;
	int err;

	err = store_report_messages(store, run_id, &messages, &total);
	if (err)
		return err;
	lines = json_array();
	json_array_foreach(messages, i, message)
	{
		if (i == 0)
			first_us = json_integer_value(
				json_object_get(message, "t"));
		json_array_append_new(
			lines, ladder_line(message, first_us, with_text));
	}
	total -= (int64_t)json_array_size(lines);
	json_decref(messages);
	if (json_object_set_new(report, "messages", lines) ||
	    json_object_set_new(report, "messages_omitted",
				json_integer(total)))
		return -ENOMEM;
	return 0;
}

static int add_events(struct store *store, int64_t run_id, json_t *report)
{
	static const struct {
		const char *kind;
		const char *member;
	} parts[] = {
		{"call", "calls"},
		{"register", "registrations"},
		{"assert", "assertions"},
		{"evidence", "evidence"},
		{"dtmf", "digits"},
		{"flaw", "flaws"},
		{"artifact_lost", "artifacts_lost"},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		json_t *events;
		int err = store_report_events(store, run_id, parts[i].kind,
					      &events);

		if (err)
			return err;
		if (json_object_set_new(report, parts[i].member, events))
			return -ENOMEM;
	}
	return 0;
}

static int add_artifacts(struct store *store, int64_t run_id, json_t *report)
{
	const struct page page = {.count = ARTIFACTS_SHOWN};
	json_t *rows;
	int64_t total;
	int err = store_artifact_list(store, run_id, &page, &rows, &total);

	if (err)
		return err;
	total -= (int64_t)json_array_size(rows);
	if (json_object_set_new(report, "artifacts", rows) ||
	    json_object_set_new(report, "artifacts_omitted",
				json_integer(total)))
		return -ENOMEM;
	return 0;
}

/* What changes while a run waits, or starts again. */
static int add_state(struct store *store, const struct controller_conf *conf,
		     int64_t run_id, bool is_public, json_t *run)
{
	json_t *last;
	int err = store_report_last_attempt(store, run_id, is_public, &last);

	if (err)
		return err;
	if (json_object_set_new(run, "last_attempt", last) ||
	    json_object_set_new(run, "waiting_for",
				run_waiting_for(store, conf, run_id)))
		return -ENOMEM;
	return 0;
}

int report_data(struct store *store, const struct controller_conf *conf,
		const char *session_id, const char *kiosk_id, json_t **ret)
{
	json_t *report;
	json_t *series;
	int64_t run_id;
	int err;

	run_id = store_report_run(store, session_id, kiosk_id, &report);
	if (run_id < 0)
		return (int)run_id;
	err = add_state(store, conf, run_id, kiosk_id != NULL,
			json_object_get(report, "run"));
	if (!err)
		err = add_events(store, run_id, report);
	if (!err)
		err = add_ladder(store, run_id, kiosk_id == NULL, report);
	/* their files are not public */
	if (!err && !kiosk_id)
		err = add_artifacts(store, run_id, report);
	if (!err)
		err = store_report_series(store, run_id, &series);
	if (!err && json_object_set_new(report, "series", series))
		err = -ENOMEM;
	if (!err && kiosk_id)
		err = public_mask(report);
	if (err) {
		json_decref(report);
		return err;
	}
	*ret = report;
	return 0;
}
