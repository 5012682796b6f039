#include "control/server/report/project_page.h"

#include "base/buf.h"
#include "control/server/report/public.h"
#include "control/server/store/store_project.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES_MAX (16u << 20)

#define PAGE_POLICY                                              \
	"default-src 'none'; style-src 'self'; img-src 'self'; " \
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Text from outside as HTML text or attribute value. */
static int put_text(struct buf *page, const char *text)
{
	int err = 0;

	for (; *text && !err; text++) {
		switch (*text) {
		case '&':
			err = buf_print(page, "&amp;");
			break;
		case '<':
			err = buf_print(page, "&lt;");
			break;
		case '>':
			err = buf_print(page, "&gt;");
			break;
		case '"':
			err = buf_print(page, "&quot;");
			break;
		default:
			err = buf_print(page, "%c", *text);
			break;
		}
	}
	return err;
}

static int put_cell(struct buf *page, const char *text)
{
	int err = buf_print(page, "<td>");

	if (!err)
		err = put_text(page, text);
	return err ? err : buf_print(page, "</td>");
}

static int put_public_cell(struct buf *page, const char *text)
{
	struct buf masked;
	int err;

	buf_init(&masked, PAGE_BYTES_MAX);
	err = public_sentence(&masked, text);
	if (!err)
		err = put_cell(page, masked.data ? masked.data : "");
	buf_release(&masked);
	return err;
}

/* Ids are UUIDs that the store made. A run's kiosk link may have been revoked. */
static int put_run(struct buf *page, const json_t *run, bool kiosk)
{
	const char *session = text_of(run, "session_id");
	const char *kiosk_id = text_of(run, "kiosk_id");
	const char *result = text_of(run, "result_description");
	bool linked = !kiosk || kiosk_id[0];
	int err = buf_print(page, "<tr><td>");

	if (!err && linked)
		err = kiosk ? buf_print(page, "<a href=\"/kiosk/%s/%s\">",
					session, kiosk_id)
			    : buf_print(page, "<a href=\"/run/details/%s\">",
					session);
	if (!err)
		err = put_text(page, text_of(run, "test_name"));
	if (!err && linked)
		err = buf_print(page, "</a>");
	if (!err)
		err = buf_print(
			page, "</td><td>%" JSON_INTEGER_FORMAT "</td>",
			json_integer_value(json_object_get(run, "attempt")));
	if (!err)
		err = put_cell(page, text_of(run, "status"));
	if (!err)
		err = kiosk ? put_public_cell(page, result)
			    : put_cell(page, result);
	return err ? err : buf_print(page, "</tr>\n");
}

static int put_page(struct buf *page, const json_t *doc, bool kiosk)
{
	const json_t *run;
	size_t i;
	int err;

	err = buf_print(page,
			"<!doctype html>\n<html lang=\"en\"><head>"
			"<meta charset=\"utf-8\"><title>Project run</title>"
			"<link rel=\"stylesheet\" href=\"/static/offhook.css\">"
			"</head><body><main>\n<h1>");
	if (!err)
		err = put_text(page, text_of(doc, "project_name"));
	if (!err)
		err = buf_print(
			page,
			"</h1>\n<p>%s. %" JSON_INTEGER_FORMAT
			" tests, started %s, ended %s (UTC).</p>\n<table>"
			"<tr><th>test</th><th>attempt</th><th>status</th>"
			"<th>result</th></tr>\n",
			text_of(doc, "run_status"),
			json_integer_value(json_object_get(doc, "total_tests")),
			text_of(doc, "created_at"),
			text_of(doc, "stopped_at")[0]
				? text_of(doc, "stopped_at")
				: "not yet");
	json_array_foreach(json_object_get(doc, "runs"), i, run)
	{
		if (!err)
			err = put_run(page, run, kiosk);
	}
	return err ? err : buf_print(page, "</table></main></body></html>\n");
}

static void reply_page(struct request *req, struct reply *rep,
		       const char *kiosk_id)
{
	struct buf page;
	json_t *doc;
	int err = store_project_run_page(request_store(req),
					 request_param(req, 0), kiosk_id, &doc);

	if (err == -ENOENT) {
		reply_problem(rep, 404, "there is no project run of this id");
		return;
	}
	if (err) {
		reply_problem(rep, 503, "the report could not be read");
		return;
	}
	buf_init(&page, PAGE_BYTES_MAX);
	err = put_page(&page, doc, kiosk_id != NULL);
	json_decref(doc);
	if (!err) {
		reply_document(rep, &page, "text/html; charset=utf-8");
		reply_header(rep, "Content-Security-Policy", "%s", PAGE_POLICY);
	} else {
		reply_problem(rep, 503, "the report is too large");
	}
	buf_release(&page);
	reply_header(rep, "Referrer-Policy", "no-referrer");
	reply_header(rep, "Cache-Control", "no-store");
}

void project_page(struct request *req, struct reply *rep)
{
	reply_page(req, rep, NULL);
}

void project_page_kiosk(struct request *req, struct reply *rep)
{
	reply_page(req, rep, request_param(req, 1));
}
