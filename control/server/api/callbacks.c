#include "control/server/api/callbacks.h"

#include "conf/controller_conf.h"
#include "control/server/api/page.h"
#include "control/server/api/resource_type.h"
#include "control/server/callback/address.h"
#include "control/server/callback/render.h"
#include "control/server/run/override.h"
#include "control/server/store/store_callback.h"
#include "control/server/store/store_run.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define TEMPLATE_BYTES_MAX 65536

/* ---- deliveries ---- */

static const struct column columns[] = {
	{"id", "c.id", NULL, COLUMN_INT},
	{"run_id", "c.run_id", NULL, COLUMN_INT},
	{"session_id", "r.session_id", NULL, COLUMN_TEXT},
	{"project_run_uuid", "p.uuid", NULL, COLUMN_TEXT},
	{"url", "c.url", NULL, COLUMN_TEXT},
	{"method", "c.method", NULL, COLUMN_TEXT},
	{"state", "c.state", NULL, COLUMN_TEXT},
	{"try_count", "c.tries", NULL, COLUMN_INT},
	{"next_try_at", "CASE WHEN c.state = 'waiting' THEN c.next_at END",
	 NULL, COLUMN_TIME},
	{"created_at", "c.created_at", NULL, COLUMN_TIME},
	{"ended_at", "c.ended_at", NULL, COLUMN_TIME},
};

static const struct table table = {
	.name = "callback",
	.from = "callback c LEFT JOIN run r ON r.id = c.run_id "
		"LEFT JOIN project_run p ON p.id = c.project_run_id",
	.id = "c.id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

static int detail(struct request *req, json_t *row)
{
	json_t *tries;
	int err = store_callback_tries(
		request_store(req),
		json_integer_value(json_object_get(row, "id")), &tries);

	if (err)
		return err;
	return json_object_set_new(row, "tries", tries) ? -ENOMEM : 0;
}

const struct resource callback_resource = {
	.path = "/callbacks",
	.plural = "callbacks",
	.singular = "callback",
	.table = &table,
	.detail = detail,
};

void run_callbacks(struct request *req, struct reply *rep)
{
	json_t *run = NULL, *rows = NULL, *row;
	struct page page;
	int64_t total;
	size_t i;
	int err;

	if (!page_read(req, &page, rep))
		return;
	err = store_run_get(request_store(req), request_param(req, 0), &run);
	if (!err)
		err = record_list_of(
			request_store(req), &table, "c.run_id",
			json_integer_value(json_object_get(run, "id")), &page,
			&rows, &total);
	json_decref(run);
	json_array_foreach(rows, i, row)
	{
		if (!err)
			err = detail(req, row);
	}
	if (err) {
		json_decref(rows);
		reply_store_error(rep, err, "run");
	} else {
		page_reply(req, rep, "callbacks", rows, &page, total);
	}
}

/* ---- templates ---- */

static const struct column template_columns[] = {
	{"id", "t.id", NULL, COLUMN_INT},
	{"name", "t.name", "name", COLUMN_TEXT},
	{"method", "t.method", "method", COLUMN_TEXT},
	{"content_type", "t.content_type", "content_type", COLUMN_TEXT},
	{"body", "t.body", "body", COLUMN_TEXT},
	{"created_at", "t.created_at", "created_at", COLUMN_TIME},
	{"updated_at", "t.updated_at", "updated_at", COLUMN_TIME},
};

static const struct table template_table = {
	.name = "callback_template",
	.from = "callback_template t",
	.id = "t.id",
	.columns = template_columns,
	.column_count = sizeof(template_columns) / sizeof(*template_columns),
};

static void check_type(struct request *req, json_t *value, const char *pointer,
		       struct reply *rep)
{
	const char *text = json_string_value(value);
	const char *slash = strchr(text, '/');
	bool good = slash && slash > text && isalnum((unsigned char)slash[1]);

	(void)req;
	for (const char *c = text; *c; c++)
		good &= *c >= ' ' && *c < 0x7f;
	if (!good)
		field_error(rep, pointer,
			    "must be a media type such as application/json");
}

static void check_body(struct request *req, json_t *value, const char *pointer,
		       struct reply *rep)
{
	char unknown[RENDER_NAME_BYTES];

	(void)req;
	if (render_check(json_string_value(value), unknown) == 0)
		return;
	if (unknown[0])
		field_error(rep, pointer, "there is no placeholder {{%s}}",
			    unknown);
	else
		field_error(rep, pointer, "has {{ without }}");
}

static const struct field template_fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 200},
	{.name = "method",
	 .kind = FIELD_CHOICE,
	 .choices = "POST PUT PATCH",
	 .fallback = "\"POST\""},
	{.name = "content_type",
	 .kind = FIELD_TEXT,
	 .min = 3,
	 .max = 100,
	 .fallback = "\"application/json\"",
	 .check = check_type},
	{.name = "body",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .max = TEMPLATE_BYTES_MAX,
	 .check = check_body},
};

const struct resource callback_template_resource = {
	.path = "/callback-templates",
	.plural = "callback_templates",
	.singular = "callback_template",
	.table = &template_table,
	.fields = template_fields,
	.field_count = sizeof(template_fields) / sizeof(*template_fields),
	.updated_at = true,
};

/* ---- tests and starts ---- */

static int check_url(struct request *req, const char *url,
		     char reason[static CALLBACK_REASON_BYTES])
{
	struct netlist allow;

	/* callback_allow was checked when the configuration was read */
	if (netlist_parse(&allow, request_conf(req)->callback_allow))
		allow.count = 0;
	return callback_url_check(url, &allow, reason);
}

void callback_check_url(struct request *req, json_t *value, const char *pointer,
			struct reply *rep)
{
	char reason[CALLBACK_REASON_BYTES];
	const char *url = json_string_value(value);

	if (url[0] && check_url(req, url, reason))
		field_error(rep, pointer, "%s", reason);
}

/* @return false: the member is absent, or it is no text of this length (the
 * error was added) */
static bool text_key(const json_t *body, const char *key, size_t max,
		     json_t *errors, json_t **ret)
{
	json_t *value = json_object_get(body, key);

	if (!value || json_is_null(value))
		return false;
	if (!json_is_string(value) || json_string_length(value) > max) {
		plan_key_error(errors, key, "",
			       "must be a text of at most %zu bytes", max);
		return false;
	}
	*ret = value;
	return true;
}

static void set_flag(const json_t *body, json_t *test, json_t *errors)
{
	const json_t *value = json_object_get(body, "callback_on_failure");
	const char *text = json_string_value(value);
	bool on = json_is_true(value) || json_integer_value(value) == 1 ||
		  (text && (!strcmp(text, "1") || !strcmp(text, "true")));
	bool off = json_is_false(value) ||
		   (json_is_integer(value) && !json_integer_value(value)) ||
		   (text && (!strcmp(text, "0") || !strcmp(text, "false")));

	if (!value || json_is_null(value))
		return;
	if (!on && !off)
		plan_key_error(errors, "callback_on_failure", "",
			       "must be 0 or 1");
	json_object_set_new(test, "callback_on_failure", json_integer(on));
}

static int set_template(struct request *req, const char *name, json_t *callback,
			json_t *errors)
{
	static const char *const parts[] = {"method", "content_type", "body"};
	json_t *template = NULL;
	int err = 0;

	if (name[0])
		err = store_callback_template(request_store(req), name,
					      &template);
	if (err == -ENOENT) {
		plan_key_error(errors, "callback_template_name", "",
			       "there is no callback template of this name");
		return 0;
	}
	for (size_t i = 0; !err && i < sizeof(parts) / sizeof(*parts); i++) {
		json_t *part = json_object_get(template, parts[i]);

		if (json_object_set(callback, parts[i],
				    part ? part : json_null()))
			err = -ENOMEM;
	}
	json_decref(template);
	return err;
}

int callback_override(struct request *req, json_t *test, json_t *errors)
{
	json_t *callback = json_object_get(test, "callback"), *value;
	char reason[CALLBACK_REASON_BYTES];
	int err = 0;

	if (!json_is_object(callback)) {
		callback = json_object();
		if (!callback ||
		    json_object_set_new(test, "callback", callback))
			return -ENOMEM;
	}
	if (text_key(request_body(req), "callback_url", CALLBACK_URL_BYTES - 1,
		     errors, &value)) {
		if (json_string_length(value) &&
		    check_url(req, json_string_value(value), reason))
			plan_key_error(errors, "callback_url", "", "%s",
				       reason);
		err |= json_object_set(callback, "url", value);
		err |= json_object_set_new(
			test, "callback_on_failure",
			json_integer(json_string_length(value) > 0));
	}
	if (text_key(request_body(req), "callback_secret", 255, errors, &value))
		err |= json_object_set(callback, "secret", value);
	set_flag(request_body(req), test, errors);
	if (err)
		return -ENOMEM;
	if (text_key(request_body(req), "callback_template_name", 200, errors,
		     &value))
		return set_template(req, json_string_value(value), callback,
				    errors);
	return 0;
}
