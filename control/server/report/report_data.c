#include "control/server/report/report_data.h"

#include "base/buf.h"
#include "control/server/report/public.h"
#include "control/server/run/start.h"
#include "control/server/store/store_artifact.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_report.h"
#include "control/wire/writer.h"

#include <errno.h>
#include <string.h>

#define ARTIFACTS_SHOWN 1000

/* A report while it is written. */
struct report {
	struct store *store;
	struct report_run run;
	bool is_public;
	struct writer w;
	/* the ladder */
	int64_t first_us; /* of the first message */
	int64_t messages;
};

/* ---- what a public report masks ---- */

/* Write a member of the report; a public report has its digits masked. */
static int write_masked(struct report *r, const char *name, json_t *tree)
{
	json_t *report = json_pack("{s:o}", name, tree);
	int err = report ? 0 : -ENOMEM;

	if (!err && r->is_public)
		err = public_mask(report);
	if (!err)
		writer_json(&r->w, name, json_object_get(report, name));
	json_decref(report);
	return err ? err : r->w.err;
}

/* Write a member that is JSON text: it is parsed only if it must be masked. */
static int write_text(struct report *r, const char *name, const char *text,
		      size_t len)
{
	json_t *tree;

	if (!r->is_public) {
		writer_value(&r->w, name, (struct json_text){text, len});
		return r->w.err;
	}
	tree = json_loadb(text, len, 0, NULL);
	return tree ? write_masked(r, name, tree) : -ENOMEM;
}

/* ---- the run ---- */

/* Write the members that change while a run waits, or starts again. */
static int add_state(struct report *r, const struct controller_conf *conf)
{
	json_t *last;
	int err = store_report_last_attempt(r->store, r->run.id, r->is_public,
					    &last);

	if (err)
		return err;
	if (json_object_set_new(r->run.shown, "last_attempt", last) ||
	    json_object_set_new(r->run.shown, "waiting_for",
				run_waiting_for(r->store, conf, r->run.id)))
		return -ENOMEM;
	return 0;
}

/* Other runs, and the ids of the API, are for users only. */
static int add_history(struct report *r)
{
	json_t *history;
	int err = store_report_history(r->store, r->run.id, &history);

	if (err)
		return err;
	return json_object_set_new(r->run.shown, "history", history) ? -ENOMEM
								     : 0;
}

/* The shards of a run name its agents. */
static int write_shards(struct report *r)
{
	json_t *shards;
	int err = store_report_shards(r->store, r->run.id, &shards);

	if (err)
		return err;
	writer_json(&r->w, "shards", shards);
	json_decref(shards);
	return 0;
}

static int write_run(struct report *r, const struct controller_conf *conf)
{
	int err = add_state(r, conf);

	if (!err && r->is_public) {
		(void)json_object_del(r->run.shown, "id");
		(void)json_object_del(r->run.shown, "test_id");
		(void)json_object_del(r->run.shown, "project_id");
	} else if (!err) {
		err = add_history(r);
	}
	if (!err)
		err = write_masked(r, "run", json_incref(r->run.shown));
	if (!err)
		err = write_text(r, "verdicts", r->run.verdicts,
				 strlen(r->run.verdicts));
	writer_integer(&r->w, "interval_s", r->run.interval_s);
	return err;
}

/* ---- events ---- */

static int write_events(struct report *r)
{
	static const struct {
		const char *kind;
		const char *member;
	} parts[] = {
		{"state", "states"},
		{"call", "calls"},
		{"register", "registrations"},
		{"assert", "assertions"},
		{"evidence", "evidence"},
		{"generator", "generator"},
		{"dtmf", "digits"},
		{"flaw", "flaws"},
		{"artifact_lost", "artifacts_lost"},
		{"artifact_cut", "artifacts_cut"},
		{"sipp", "sipp"},
	};
	struct buf text;
	int64_t calls = 0;
	int err = 0;

	buf_init(&text, REPORT_DATA_BYTES);
	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(*parts); i++) {
		text.used = 0;
		err = store_report_events(r->store, r->run.id, parts[i].kind,
					  &text);
		if (!err)
			err = write_text(r, parts[i].member, text.data,
					 text.used);
	}
	buf_release(&text);
	if (!err)
		err = store_report_event_count(r->store, r->run.id, "call",
					       &calls);
	if (!err && calls > REPORT_EVENTS_MAX)
		writer_integer(&r->w, "calls_omitted",
			       calls - REPORT_EVENTS_MAX);
	return err;
}

/* ---- the ladder ---- */

/* Write a member that the agent uploaded, of any type; nothing if absent. */
static void copy(struct writer *w, const char *name, const json_t *message,
		 const char *member)
{
	const json_t *value = json_object_get(message, member);

	if (json_is_string(value))
		writer_text_n(w, name, json_string_value(value),
			      json_string_length(value));
	else if (value)
		writer_json(w, name, value);
}

/* A line of the ladder: time since the first message, in ms. */
static int write_line(const char *role, json_t *message, void *arg)
{
	const char *data = json_string_value(json_object_get(message, "data"));
	json_int_t t_us = json_integer_value(json_object_get(message, "t"));
	struct report *r = arg;

	if (r->messages++ == 0)
		r->first_us = t_us;
	writer_open(&r->w, NULL, '{');
	writer_real(&r->w, "t_ms", (double)(t_us - r->first_us) / 1000);
	writer_text(&r->w, "role", role);
	copy(&r->w, "dir", message, "dir");
	copy(&r->w, "transport", message, "transport");
	if (!r->is_public)
		copy(&r->w, "local", message, "local");
	copy(&r->w, "peer", message, "peer");
	if (json_object_get(message, "encoding"))
		writer_text(&r->w, "line", "(not text, in base64)");
	else
		writer_text_n(&r->w, "line", data ? data : "",
			      data ? strcspn(data, "\r\n") : 0);
	if (!r->is_public)
		copy(&r->w, "text", message, "data");
	writer_close(&r->w, '}');
	return r->w.err;
}

static int write_ladder(struct report *r)
{
	int64_t total;
	int err = store_report_message_count(r->store, r->run.id, &total);

	writer_open(&r->w, "messages", '[');
	if (!err)
		err = store_run_messages_by_time(r->store, r->run.id,
						 REPORT_MESSAGES_MAX,
						 write_line, r);
	writer_close(&r->w, ']');
	if (!err)
		writer_integer(&r->w, "messages_omitted", total - r->messages);
	if (!err && r->messages > 0)
		writer_integer(&r->w, "messages_t", r->first_us);
	return err;
}

/* ---- files ---- */

static int write_artifacts(struct report *r)
{
	const struct page page = {.count = ARTIFACTS_SHOWN};
	json_t *rows;
	int64_t total;
	int err =
		store_artifact_list(r->store, r->run.id, &page, &rows, &total);

	if (err)
		return err;
	writer_json(&r->w, "artifacts", rows);
	writer_integer(&r->w, "artifacts_omitted",
		       total - (int64_t)json_array_size(rows));
	json_decref(rows);
	return 0;
}

static int write_all_series(struct report *r)
{
	int64_t omitted;
	int err = store_report_series(r->store, r->run.id, &r->w, "series",
				      &omitted);

	if (!err && omitted > 0)
		writer_integer(&r->w, "points_omitted", omitted);
	return err;
}

/* ---- the whole ---- */

static int write_report(struct report *r, const struct controller_conf *conf)
{
	int err;

	writer_open(&r->w, NULL, '{');
	err = write_run(r, conf);
	if (!err)
		err = write_events(r);
	if (!err)
		err = write_ladder(r);
	/* files and agents are not public */
	if (!err && !r->is_public)
		err = write_artifacts(r);
	if (!err && !r->is_public)
		err = write_shards(r);
	if (!err)
		err = write_all_series(r);
	writer_integer(&r->w, "status", 200); /* as every answer has it */
	writer_close(&r->w, '}');
	return err ? err : r->w.err;
}

int report_data(struct store *store, const struct controller_conf *conf,
		const char *session_id, const char *kiosk_id, struct buf *text)
{
	struct report r = {.store = store, .is_public = kiosk_id != NULL};
	int err = store_report_run(store, session_id, kiosk_id, &r.run);

	if (err)
		return err;
	writer_init_decimal(&r.w, text);
	err = write_report(&r, conf);
	report_run_release(&r.run);
	return err;
}
