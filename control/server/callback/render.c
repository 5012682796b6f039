#include "control/server/callback/render.h"

#include "base/str.h"
#include "control/server/request/markup.h"
#include "control/wire/json.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Placeholders of a run, of a project run, and of both. */
static const char *const names[] = {
	"id",
	"session_id",
	"status",
	"session_status",
	"has_passed",
	"is_failed",
	"is_finished",
	"result_description",
	"started_at",
	"stopped_at",
	"created_at",
	"tags",
	"test_id",
	"test_name",
	"testcase_name",
	"project_id",
	"project_name",
	"agentpool_name",
	"attempt",
	"retry_of",
	"verdicts",
	"conditions",
	"report_mode",
	"report_url",
	"differences",
	"what_changed",
	"project_run_uuid",
	"run_status",
	"total_tests",
	"tests_started",
	"tests_passed",
	"tests_failed",
	"runs",
};

enum escape {
	ESCAPE_NONE,
	ESCAPE_JSON,
	ESCAPE_MARKUP,
	ESCAPE_FORM,
};

/* Find the next "{{ name }}". @return the text behind it; NULL: there is none,
 * or it is not closed (*ret_open tells) */
static const char *next_place(const char *text, const char **ret_open,
			      char name[static RENDER_NAME_BYTES])
{
	const char *open = strstr(text, "{{"), *close, *from, *until;

	*ret_open = open;
	close = open ? strstr(open, "}}") : NULL;
	if (!close)
		return NULL;
	from = open + 2;
	until = close;
	while (from < until && *from == ' ')
		from++;
	while (until > from && until[-1] == ' ')
		until--;
	str_print(name, RENDER_NAME_BYTES, "%.*s",
		  (int)(until - from < RENDER_NAME_BYTES - 1
				? until - from
				: RENDER_NAME_BYTES - 1),
		  from);
	return close + 2;
}

int render_check(const char *template, char unknown[static RENDER_NAME_BYTES])
{
	const char *open, *rest = template;

	unknown[0] = '\0';
	while ((rest = next_place(template, &open, unknown))) {
		bool known = false;

		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			known |= strcmp(names[i], unknown) == 0;
		if (!known)
			return -EINVAL;
		template = rest;
	}
	unknown[0] = '\0';
	return open ? -EINVAL : 0;
}

static enum escape escape_of(const char *content_type)
{
	size_t len = strcspn(content_type, "; ");
	char type[100];

	str_print(type, sizeof(type), "%.*s", (int)(len < 99 ? len : 99),
		  content_type);
	if (strcasestr(type, "json"))
		return ESCAPE_JSON;
	if (strcasestr(type, "xml") || strcasecmp(type, "text/html") == 0)
		return ESCAPE_MARKUP;
	if (strcasecmp(type, "application/x-www-form-urlencoded") == 0)
		return ESCAPE_FORM;
	return ESCAPE_NONE;
}

static int put_form(struct buf *out, const char *text)
{
	int err = 0;

	for (; *text && !err; text++)
		err = isalnum((unsigned char)*text) || strchr("-._~", *text)
			      ? buf_add(out, text, 1)
			      : buf_print(out, "%%%02X", (unsigned char)*text);
	return err;
}

/* Append a text as the inside of a JSON string. */
static int put_json(struct buf *out, const char *text)
{
	json_t *string = json_string(text);
	char *dumped = json_dumps(string, JSON_ENCODE_ANY);
	int err = -ENOMEM;

	if (dumped)
		err = buf_add(out, dumped + 1, strlen(dumped) - 2);
	free(dumped);
	json_decref(string);
	return err;
}

static int put_text(struct buf *out, const char *text, enum escape escape)
{
	switch (escape) {
	case ESCAPE_JSON:
		return put_json(out, text);
	case ESCAPE_MARKUP:
		return markup_add(out, text);
	case ESCAPE_FORM:
		return put_form(out, text);
	case ESCAPE_NONE:
	default:
		return buf_print(out, "%s", text);
	}
}

static int put_value(struct buf *out, json_t *value, enum escape escape)
{
	char *text;
	int err;

	if (!value || json_is_null(value))
		return 0;
	if (json_is_string(value))
		return put_text(out, json_string_value(value), escape);
	text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_DECIMAL);
	if (!text)
		return -ENOMEM;
	err = escape == ESCAPE_JSON ? buf_print(out, "%s", text)
				    : put_text(out, text, escape);
	free(text);
	return err;
}

int render_template(struct buf *out, const char *template,
		    const char *content_type, json_t *object)
{
	enum escape escape = escape_of(content_type);
	char name[RENDER_NAME_BYTES];
	const char *open, *rest;
	int err = 0;

	while (!err && (rest = next_place(template, &open, name))) {
		err = buf_add(out, template, (size_t)(open - template));
		if (!err)
			err = put_value(out, json_object_get(object, name),
					escape);
		template = rest;
	}
	return err ? err : buf_print(out, "%s", template);
}
