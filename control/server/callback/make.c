#include "control/server/callback/callback.h"
#include "control/server/callback/render.h"

#include "base/buf.h"
#include "base/log.h"
#include "control/server/compare/run_difference.h"
#include "control/server/store/store.h"
#include "control/server/store/store_callback.h"
#include "control/server/store/store_follow.h"
#include "control/server/store/store_run.h"
#include "control/wire/json.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Callbacks made in one pass; the next pass continues. */
#define TURNS_MAX 64

static const char *text_or_null(const json_t *object, const char *member)
{
	return json_string_value(json_object_get(object, member));
}

/* Append a sentence to a text. */
static int add_sentence(struct buf *text, const char *sentence)
{
	return buf_texts(text, text->used ? " " : "", sentence, NULL);
}

/* What changed since the last passed run: `differences`, as GET
 * /runs/ID/differences has them, and `what_changed`, their sentences and those
 * of `not_compared`. Both are empty for a run that did not fail, or if no run
 * passed before. */
static int add_differences(struct store *store, json_t *run)
{
	json_t *found = NULL, *list, *one;
	struct buf text;
	size_t i;
	int err = -ENOENT;

	if (strcmp(text_of(run, "session_status"), "failed") == 0)
		err = run_difference_last_passed(store, run, &found);
	if (err && err != -ENOENT)
		return err;
	list = found ? json_incref(json_object_get(found, "differences"))
		     : json_array();
	err = 0;
	buf_init(&text, RENDER_BYTES_MAX);
	json_array_foreach(list, i, one)
	{
		if (!err)
			err = add_sentence(&text, text_of(one, "sentence"));
	}
	json_array_foreach(json_object_get(found, "not_compared"), i, one)
	{
		if (!err)
			err = add_sentence(&text, json_string_value(one));
	}
	json_decref(found);
	if (json_object_set_new(run, "differences", list) ||
	    json_object_set_new(run, "what_changed",
				json_string(text.used ? text.data : "")))
		err = -ENOMEM;
	buf_release(&text);
	return err;
}

/* The body about a run: the run object, report_url, conditions, differences. */
static int read_run(struct store *store, const struct callback_due *due,
		    const char *base_url, json_t **ret)
{
	json_t *run = NULL, *conditions = NULL;
	const char *kiosk;
	int err = store_run_get(store, due->key, &run);

	if (!err)
		err = store_run_conditions(store, due->run_id, &conditions);
	if (err) {
		json_decref(run);
		return err;
	}
	kiosk = text_or_null(run, "kiosk_id");
	if (json_object_set_new(run, "conditions", conditions) ||
	    json_object_set_new(run, "report_url",
				kiosk ? json_sprintf("%s/kiosk/%s/%s", base_url,
						     due->key, kiosk)
				      : json_sprintf("%s/run/details/%s",
						     base_url, due->key)))
		err = -ENOMEM;
	(void)json_object_del(run, "kiosk_id");
	if (!err)
		err = add_differences(store, run);
	*ret = run;
	return err;
}

static int read_project_run(struct store *store, const struct callback_due *due,
			    const char *base_url, json_t **ret)
{
	int err = store_project_run_get(store, due->key, NULL, ret, NULL);

	if (!err && (json_object_set_new(*ret, "project_run_uuid",
					 json_string(due->key)) ||
		     json_object_set_new(*ret, "report_url",
					 json_sprintf("%s/run/project/%s",
						      base_url, due->key))))
		err = -ENOMEM;
	return err;
}

/* Make the body to send. */
static json_t *body_of(const json_t *how, json_t *told, const char *type,
		       int *err)
{
	const char *template = text_or_null(how, "body");
	struct buf body;
	json_t *text = NULL;
	char *whole;

	buf_init(&body, RENDER_BYTES_MAX);
	if (template) {
		*err = render_template(&body, template, type, told);
	} else {
		whole = json_dumps(told, JSON_COMPACT | JSON_DECIMAL);
		*err = whole ? buf_print(&body, "%s", whole) : -ENOMEM;
		free(whole);
	}
	if (!*err)
		text = json_string(body.data ? body.data : "");
	buf_release(&body);
	return text;
}

static int make_one(struct store *store, const struct callback_due *due,
		    const char *base_url)
{
	const char *url = text_or_null(due->how, "url");
	const char *method = text_or_null(due->how, "method");
	const char *type = text_or_null(due->how, "content_type");
	struct callback_new callback = {
		.url = url ? url : "",
		.method = method ? method : "POST",
		.created_at = store_now_ms(),
	};
	json_t *told = NULL, *body = NULL;
	int err = 0;

	if (!type)
		type = "application/json";
	if (!due->how)
		log_error("run=%s: its callback cannot be sent: it was "
			  "encrypted with another key file",
			  due->key);
	else
		err = due->run_id
			      ? read_run(store, due, base_url, &told)
			      : read_project_run(store, due, base_url, &told);
	if (!err && told)
		body = body_of(due->how, told, type, &err);
	if (!err && body)
		callback.request = json_pack(
			"{s:s, s:O, s:O?}", "content_type", type, "body", body,
			"secret", json_object_get(due->how, "secret"));
	if (!err && due->how && !callback.request)
		err = -ENOMEM; /* tried again: it must not be lost */
	if (err == -EMSGSIZE) {
		log_error("run=%s: its callback is larger than %u bytes and is "
			  "not sent",
			  due->key, RENDER_BYTES_MAX);
		err = 0;
	}
	if (!err)
		err = store_callback_make(store, due, &callback);
	json_decref(callback.request);
	json_decref(body);
	json_decref(told);
	return err == -EALREADY ? 0 : err;
}

int callback_make(struct store *store, const char *base_url)
{
	struct callback_due due;
	int count = 0, err = 0;

	while (count < TURNS_MAX &&
	       (err = store_callback_due(store, &due)) > 0) {
		err = make_one(store, &due, base_url);
		json_decref(due.how);
		if (err < 0)
			return err;
		count++;
	}
	return err < 0 ? err : count > 0;
}
