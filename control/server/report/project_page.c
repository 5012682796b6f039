#include "control/server/report/project_page.h"

#include "base/buf.h"
#include "control/server/report/public.h"
#include "control/server/store/store_project.h"
#include "control/wire/text.h"

#include <errno.h>
#include <string.h>

#define SENTENCE_BYTES_MAX (1u << 20)

/* A result of a public page: digits, which may be a PIN, are masked. */
static int mask_result(json_t *run)
{
	struct buf masked;
	json_t *text = NULL;
	int err;

	buf_init(&masked, SENTENCE_BYTES_MAX);
	err = public_sentence(&masked, text_of(run, "result_description"));
	if (!err)
		text = json_string(masked.data ? masked.data : "");
	buf_release(&masked);
	if (!text || json_object_set_new(run, "result_description", text))
		return -ENOMEM;
	return 0;
}

/* The address of the run's report in place of its ids. A run's kiosk link may
 * have been revoked. */
static int set_link(json_t *run, bool kiosk)
{
	const char *session = text_of(run, "session_id");
	const char *kiosk_id = text_of(run, "kiosk_id");
	json_t *link;

	if (kiosk && kiosk_id[0])
		link = json_sprintf("/kiosk/%s/%s", session, kiosk_id);
	else if (kiosk)
		link = json_null();
	else
		link = json_sprintf("/run/details/%s", session);
	if (!link || json_object_set_new(run, "link", link))
		return -ENOMEM;
	(void)json_object_del(run, "kiosk_id");
	if (kiosk)
		(void)json_object_del(run, "session_id");
	return 0;
}

static int show_runs(json_t *doc, bool kiosk)
{
	json_t *run;
	size_t i;
	int err = 0;

	json_array_foreach(json_object_get(doc, "runs"), i, run)
	{
		if (!err)
			err = set_link(run, kiosk);
		if (!err && kiosk)
			err = mask_result(run);
	}
	return err;
}

static void reply_data(struct request *req, struct reply *rep,
		       const char *kiosk_id)
{
	json_t *doc = NULL;
	int err = store_project_run_page(request_store(req),
					 request_param(req, 0), kiosk_id, &doc);

	if (err == -ENOENT) {
		reply_problem(rep, 404, "there is no project run of this id");
		return;
	}
	if (!err)
		err = show_runs(doc, kiosk_id != NULL);
	if (err)
		reply_unavailable(rep, REPLY_RETRY_S,
				  "the report could not be read: %s",
				  strerror(-err));
	else
		reply_json(rep, 200, json_incref(doc));
	json_decref(doc);
	reply_header(rep, "Cache-Control", "no-store");
}

void project_data(struct request *req, struct reply *rep)
{
	reply_data(req, rep, NULL);
}

void project_data_kiosk(struct request *req, struct reply *rep)
{
	reply_data(req, rep, request_param(req, 1));
}
