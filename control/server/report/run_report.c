#include "control/server/report/run_report.h"

#include "base/buf.h"
#include "base/log.h"
#include "control/render/plot.h"
#include "control/render/render.h"
#include "control/server/compare/run_difference.h"
#include "control/server/report/run_figures.h"
#include "control/server/store/store_ingest.h"
#include "control/server/store/store_project.h"
#include "control/server/store/store_report.h"
#include "control/server/store/store_run.h"
#include "control/wire/text.h"
#include "control/wire/writer.h"

#include <errno.h>
#include <string.h>

/* Of the JSON text of a run's events, or of its series. */
#define PART_BYTES ((size_t)256 << 20)

/* SIP messages of a run that are read for its report. */
#define MESSAGES_MAX 500

static const struct {
	const char *content_type;
	const char *suffix;
	size_t ceiling;
} formats[] = {
	[RENDER_JUNIT] = {"application/xml", "xml", RENDER_JUNIT_BYTES},
	[RENDER_MARKDOWN] = {"text/markdown; charset=utf-8", "md",
			     RENDER_MARKDOWN_BYTES},
	[RENDER_HTML] = {"text/html; charset=utf-8", "html", RENDER_HTML_BYTES},
};

void run_report_url(const struct request *req, json_t *run)
{
	const char *session =
		json_string_value(json_object_get(run, "session_id"));
	const char *kiosk = json_string_value(json_object_get(run, "kiosk_id"));

	json_object_set_new(
		run, "report_url",
		kiosk ? json_sprintf("%s/kiosk/%s/%s", request_base_url(req),
				     session, kiosk)
		      : json_sprintf("%s/run/details/%s", request_base_url(req),
				     session));
	json_object_del(run, "kiosk_id");
}

/* ---- the data of a report (control/render/render.h) ---- */

/* @param text  JSON text, taken over */
static int set_text(json_t *report, const char *name, struct buf *text)
{
	json_t *value = json_loadb(text->data, text->used, 0, NULL);

	buf_release(text);
	return json_object_set_new(report, name, value) ? -ENOMEM : 0;
}

static int set_events(struct store *store, int64_t run_id, json_t *report,
		      const char *kind, const char *name)
{
	struct buf text;
	int err;

	buf_init(&text, PART_BYTES);
	err = store_report_events(store, run_id, kind, &text);
	if (err) {
		buf_release(&text);
		return err;
	}
	return set_text(report, name, &text);
}

static int set_number(json_t *report, const char *name, int64_t value)
{
	return json_object_set_new(report, name, json_integer(value)) ? -ENOMEM
								      : 0;
}

static int set_calls(struct store *store, int64_t run_id, int64_t total,
		     json_t *report)
{
	int err = set_events(store, run_id, report, "call", "calls");

	if (!err && total > REPORT_EVENTS_MAX)
		err = set_number(report, "calls_omitted",
				 total - REPORT_EVENTS_MAX);
	return err;
}

/* The report has only the first calls, or registrations. */
static int set_figures(struct store *store, int64_t run_id, int64_t calls,
		       json_t *report)
{
	json_t *figures;
	int err = run_figures(store, run_id, &figures);

	if (!err && json_object_set_new(report, "figures", figures))
		err = -ENOMEM;
	if (!err && calls > REPORT_FIGURES_MAX)
		err = set_number(report, "figures_omitted",
				 calls - REPORT_FIGURES_MAX);
	return err;
}

/* What happened: the first calls and registrations, and the figures of all. */
static int set_calls_and_registrations(struct store *store, int64_t run_id,
				       json_t *report)
{
	int64_t calls, registrations;
	int err = store_report_event_count(store, run_id, "call", &calls);

	if (!err)
		err = store_report_event_count(store, run_id, "register",
					       &registrations);
	if (!err)
		err = set_calls(store, run_id, calls, report);
	if (!err)
		err = set_events(store, run_id, report, "register",
				 "registrations");
	if (!err &&
	    (calls > REPORT_EVENTS_MAX || registrations > REPORT_EVENTS_MAX))
		err = set_figures(store, run_id, calls, report);
	return err;
}

static int set_series(struct store *store, int64_t run_id, json_t *report)
{
	struct writer w;
	struct buf text;
	int err;

	buf_init(&text, PART_BYTES);
	writer_init(&w, &text);
	err = store_report_plots(store, run_id, plot_measures, &w);
	if (err) {
		buf_release(&text);
		return err;
	}
	return set_text(report, "series", &text);
}

struct ladder {
	json_t *messages;
	json_int_t first_us;
};

static int add_message(const char *role, json_t *message, void *arg)
{
	const char *data = text_of(message, "data");
	json_int_t t_us = json_integer_value(json_object_get(message, "t"));
	bool binary = json_object_get(message, "encoding") != NULL;
	struct ladder *ladder = arg;

	if (!json_array_size(ladder->messages))
		ladder->first_us = t_us;
	return json_array_append_new(
		       ladder->messages,
		       json_pack("{s:f, s:s, s:s, s:s, s:s, s:s%, s:s}", "t_ms",
				 (double)(t_us - ladder->first_us) / 1000,
				 "role", role, "dir", text_of(message, "dir"),
				 "transport", text_of(message, "transport"),
				 "peer", text_of(message, "peer"), "line",
				 binary ? "(not text, in base64)" : data,
				 binary ? (size_t)21 : strcspn(data, "\r\n"),
				 "text", data))
		       ? -ENOMEM
		       : 0;
}

static int set_messages(struct store *store, int64_t run_id, json_t *report)
{
	struct ladder ladder = {.messages = json_array()};
	int64_t total;
	int err = store_report_message_count(store, run_id, &total);

	if (!err)
		err = store_run_messages_by_time(store, run_id, MESSAGES_MAX,
						 add_message, &ladder);
	if (!err)
		json_object_set_new(
			report, "messages_omitted",
			json_integer(total - (int64_t)json_array_size(
						     ladder.messages)));
	return json_object_set_new(report, "messages", ladder.messages)
		       ? -ENOMEM
		       : err;
}

/* What changed since the last run that passed, if there is one. */
static int set_differences(struct store *store, const json_t *run,
			   json_t *report)
{
	json_t *found, *list, *one;
	size_t i;
	int err = run_difference_last_passed(store, run, &found);

	if (err)
		return err == -ENOENT ? 0 : err;
	list = json_object_get(found, "differences");
	json_array_foreach(json_object_get(found, "not_compared"), i, one)
	{
		if (json_array_append_new(list,
					  json_pack("{s:O}", "sentence", one)))
			err = -ENOMEM;
	}
	if (json_object_set(report, "differences", list))
		err = -ENOMEM;
	json_decref(found);
	return err;
}

/* @param run  of store_run_get(), borrowed
 * @return 0 and a new reference; -errno */
static int collect(struct store *store, enum render_format format, json_t *run,
		   json_t **ret)
{
	int64_t id = json_integer_value(json_object_get(run, "id"));
	json_t *agents = NULL, *shards = NULL;
	json_t *report = json_pack("{s:O, s:O?}", "run", run, "verdicts",
				   json_object_get(run, "verdicts"));
	int err = report ? store_report_agents(store, id, &agents) : -ENOMEM;

	if (!err)
		err = json_object_set_new(report, "agents", agents) ? -ENOMEM
								    : 0;
	if (!err)
		err = store_report_shards(store, id, &shards);
	if (!err)
		err = json_object_set_new(report, "shards", shards) ? -ENOMEM
								    : 0;
	if (!err)
		err = set_calls_and_registrations(store, id, report);
	if (!err && format == RENDER_JUNIT)
		err = set_events(store, id, report, "evidence", "evidence");
	if (!err && strcmp(text_of(run, "status"), "failed") == 0)
		err = set_differences(store, run, report);
	if (!err && format == RENDER_HTML)
		err = set_series(store, id, report);
	if (!err && format == RENDER_HTML)
		err = set_messages(store, id, report);
	if (err) {
		json_decref(report);
		return err;
	}
	*ret = report;
	return 0;
}

static int add_run(const struct request *req, struct render *r, json_t *run)
{
	json_t *report;
	int err;

	run_report_url(req, run);
	err = collect(request_store(req), r->format, run, &report);
	if (err)
		return err;
	err = render_run(r, report);
	json_decref(report);
	return err;
}

/* ---- the answers ---- */

/* @param out  taken over */
static void answer(struct reply *rep, enum render_format format,
		   const char *name, struct buf *out, int err)
{
	if (err == -EBADMSG) {
		reply_store_error(rep, err, "run");
	} else if (err) {
		log_error("report of %s: %s", name, strerror(-err));
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the report could not be made: %s",
				  strerror(-err));
	} else {
		reply_document(rep, out, formats[format].content_type);
		reply_header(rep, "Content-Disposition",
			     "attachment; filename=\"run-%s.%s\"", name,
			     formats[format].suffix);
	}
	buf_release(out);
	reply_header(rep, "Cache-Control", "no-store");
}

static void reply_run(struct request *req, struct reply *rep,
		      enum render_format format)
{
	struct render r;
	struct buf out;
	json_t *run;
	int err =
		store_run_get(request_store(req), request_param(req, 0), &run);

	if (err) {
		reply_store_error(rep, err, "run");
		return;
	}
	if (!json_integer_value(json_object_get(run, "is_finished"))) {
		json_decref(run);
		reply_problem(rep, 409,
			      "the run is in progress: its report is made when "
			      "it is over");
		return;
	}
	buf_init(&out, formats[format].ceiling);
	err = render_begin(&r, format, &out, NULL);
	if (!err)
		err = add_run(req, &r, run);
	if (!err)
		err = render_end(&r);
	answer(rep, format, text_of(run, "session_id"), &out, err);
	json_decref(run);
}

void run_report_junit(struct request *req, struct reply *rep)
{
	reply_run(req, rep, RENDER_JUNIT);
}

void run_report_markdown(struct request *req, struct reply *rep)
{
	reply_run(req, rep, RENDER_MARKDOWN);
}

void run_report_html(struct request *req, struct reply *rep)
{
	reply_run(req, rep, RENDER_HTML);
}

/* ---- project runs ---- */

/* Runs are read one after another: all of them may not fit into memory. */
static int render_project(struct request *req, enum render_format format,
			  const json_t *head, struct buf *out)
{
	const json_t *entry;
	struct render r;
	size_t i;
	int err = render_begin(&r, format, out, head);

	json_array_foreach(json_object_get(head, "runs"), i, entry)
	{
		json_t *run;

		if (!err)
			err = store_run_get(request_store(req),
					    text_of(entry, "session_id"), &run);
		if (err)
			return err;
		err = add_run(req, &r, run);
		json_decref(run);
	}
	return err ? err : render_end(&r);
}

static void reply_project(struct request *req, struct reply *rep,
			  enum render_format format)
{
	const char *uuid = request_param(req, 0);
	struct buf out;
	json_t *head;
	int err = store_project_run_page(request_store(req), uuid, NULL, &head);

	if (err) {
		reply_store_error(rep, err, "project run");
		return;
	}
	if (strcmp(text_of(head, "run_status"), "running") == 0) {
		json_decref(head);
		reply_problem(rep, 409,
			      "the project run is in progress: its report is "
			      "made when it is over");
		return;
	}
	json_object_set_new(
		head, "report_url",
		json_sprintf("%s/run/project/%s", request_base_url(req), uuid));
	buf_init(&out, formats[format].ceiling);
	err = render_project(req, format, head, &out);
	json_decref(head);
	answer(rep, format, uuid, &out, err);
}

void project_report_junit(struct request *req, struct reply *rep)
{
	reply_project(req, rep, RENDER_JUNIT);
}

void project_report_markdown(struct request *req, struct reply *rep)
{
	reply_project(req, rep, RENDER_MARKDOWN);
}

void project_report_html(struct request *req, struct reply *rep)
{
	reply_project(req, rep, RENDER_HTML);
}
