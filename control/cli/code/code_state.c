#include "control/cli/code/code_state.h"

#include "base/str.h"
#include "control/cli/common/exit_code.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct code_state {
	struct client *client;
	json_t *schema;
	json_t *names[CODE_KINDS];
};

/* Members that hold a name in files and an id in the API. */
static const struct reference {
	enum code_kind_index of, to;
	const char *name, *id;
} references[] = {
	{CODE_TEST, CODE_PROJECT, "project", "project_id"},
	{CODE_TEST, CODE_AGENT_POOL, "agent_pool", "agentpool_id"},
	{CODE_SCHEDULE, CODE_PROJECT, "project", "project_id"},
	{CODE_SCHEDULE, CODE_TEST, "test", "test_id"},
	{CODE_SCHEDULE, CODE_TEST, "tests", "test_ids"},
};

/* Parameters of actions that do. */
static const struct {
	const char *name;
	enum code_kind_index to;
} parameters[] = {
	{"credential_pool", CODE_CREDENTIAL_POOL},
	{"challenge_pool", CODE_CREDENTIAL_POOL},
	{"turn_credential_pool", CODE_CREDENTIAL_POOL},
	{"target_pool", CODE_TARGET},
};

#define REFERENCES (sizeof(references) / sizeof(*references))
#define PARAMETERS (sizeof(parameters) / sizeof(*parameters))

void code_name(enum code_kind_index kind, json_t *record,
	       char name[static CODE_NAME_BYTES])
{
	const char *own = json_string_value(json_object_get(record, "name"));
	const char *version =
		kind == CODE_APPIMAGE
			? json_string_value(json_object_get(record, "version"))
			: NULL;

	str_print(name, CODE_NAME_BYTES, "%s%s%s", own ? own : "",
		  version && *version ? " " : "", version ? version : "");
}

static int list(struct code_state *s, enum code_kind_index kind)
{
	json_t *rows = json_array(), *row;
	char name[CODE_NAME_BYTES];
	int status = client_list(s->client, code_kinds[kind].path,
				 code_kinds[kind].plural, rows);
	size_t i;

	s->names[kind] = json_object();
	json_array_foreach(rows, i, row)
	{
		code_name(kind, row, name);
		json_object_set(s->names[kind], name,
				json_object_get(row, "id"));
	}
	json_decref(rows);
	return status;
}

int code_state_new(struct code_state **ret, struct client *client,
		   json_t *schema)
{
	struct code_state *s = calloc(1, sizeof(*s));
	int status = 0;

	if (!s)
		return CLI_EXIT_ERRORED;
	s->client = client;
	s->schema = schema;
	for (size_t i = 0; !status && i < CODE_KINDS; i++)
		status = list(s, (enum code_kind_index)i);
	if (status)
		code_state_free(s);
	else
		*ret = s;
	return status;
}

struct code_state *code_state_free(struct code_state *s)
{
	if (s) {
		for (size_t i = 0; i < CODE_KINDS; i++)
			json_decref(s->names[i]);
		free(s);
	}
	return NULL;
}

json_t *code_state_names(const struct code_state *s, enum code_kind_index kind)
{
	return s->names[kind];
}

void code_state_add(struct code_state *s, enum code_kind_index kind,
		    const char *name, json_int_t id)
{
	json_object_set_new(s->names[kind], name, json_integer(id));
}

/* ---- ids become names ---- */

static json_t *name_of(const struct code_state *s, enum code_kind_index kind,
		       json_t *id)
{
	json_int_t number = json_is_string(id)
				    ? strtoll(json_string_value(id), NULL, 10)
				    : json_integer_value(id);
	const char *name;
	json_t *value;

	json_object_foreach(s->names[kind], name, value)
	{
		if (json_integer_value(value) == number)
			return json_string(name);
	}
	return NULL;
}

static void name_references(const struct code_state *s,
			    enum code_kind_index kind, json_t *record)
{
	for (size_t r = 0; r < REFERENCES; r++) {
		json_t *id = json_object_get(record, references[r].id);
		json_t *names = json_array(), *v;
		size_t i;

		if (references[r].of != kind || !id || json_is_null(id)) {
			json_decref(names);
			continue;
		}
		json_array_foreach(id, i, v)
		{
			json_array_append_new(names,
					      name_of(s, references[r].to, v));
		}
		json_object_set_new(record, references[r].name,
				    json_is_array(id)
					    ? json_incref(names)
					    : name_of(s, references[r].to, id));
		json_decref(names);
	}
}

static void name_parameters(const struct code_state *s, json_t *steps)
{
	json_t *step, *action;
	size_t i, j;

	json_array_foreach(steps, i, step) json_array_foreach(step, j, action)
	{
		for (size_t p = 0; p < PARAMETERS; p++) {
			const char *key = parameters[p].name;
			json_t *id = json_object_get(action, key);
			json_t *name =
				id ? name_of(s, parameters[p].to, id) : NULL;

			if (name)
				json_object_set_new(action, key, name);
		}
	}
}

/* {"env": "PHONES_1001"}, the variable that apply reads the secret from. */
static json_t *variable(const char *first, const char *second)
{
	char name[CODE_NAME_BYTES];

	str_print(name, sizeof(name), "%s_%s", first, second);
	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) && !(*c & 0x80)
			     ? (char)toupper((unsigned char)*c)
			     : '_';
	if (isdigit((unsigned char)name[0]))
		name[0] = '_';
	return json_pack("{s:s}", "env", name);
}

static void name_secrets(enum code_kind_index kind, json_t *record)
{
	const char *name = json_string_value(json_object_get(record, "name"));
	json_t *credential;
	size_t i;

	if (kind == CODE_TEST &&
	    json_integer_value(json_object_get(record, "has_callback_secret")))
		json_object_set_new(record, "callback_secret",
				    variable(name, "callback_secret"));
	json_array_foreach(json_object_get(record, "credentials"), i,
			   credential)
	{
		if (json_is_true(json_object_get(credential, "has_password")))
			json_object_set_new(
				credential, "password",
				variable(name,
					 json_string_value(json_object_get(
						 credential, "username"))));
	}
}

static void tags_to_array(json_t *record)
{
	const char *text = json_string_value(json_object_get(record, "tags"));
	json_t *tags = text ? json_loads(text, 0, NULL) : NULL;

	if (tags)
		json_object_set_new(record, "tags", tags);
}

int code_state_read(struct code_state *s, enum code_kind_index kind,
		    json_int_t id, json_t **ret,
		    char etag[static REMOTE_ETAG_BYTES])
{
	struct remote_answer a;
	char path[CODE_POINTER_BYTES];
	json_t *record;
	int status;

	str_print(path, sizeof(path), "%s/%" JSON_INTEGER_FORMAT,
		  code_kinds[kind].path, id);
	status = client_call(s->client, "GET", path, NULL, NULL, &a);
	if (status)
		return status;
	record = json_object_get(a.body, code_kinds[kind].singular);
	name_references(s, kind, record);
	name_parameters(s, json_object_get(record, "steps"));
	name_secrets(kind, record);
	tags_to_array(record);
	if (json_object_get(record, "callback_template_name"))
		json_object_set(
			record, "callback_template",
			json_object_get(record, "callback_template_name"));
	*ret = code_schema_reduce(s->schema, kind, record);
	if (kind == CODE_APPIMAGE)
		json_object_set(*ret, "sha256",
				json_object_get(record, "sha256"));
	str_copy(etag, REMOTE_ETAG_BYTES, a.etag);
	remote_answer_release(&a);
	return 0;
}

/* ---- names become ids ---- */

struct referring {
	const struct code_state *s;
	json_t *known;
	code_unknown_h *unknown;
	void *arg;
};

static json_t *id_of(const struct referring *r, enum code_kind_index kind,
		     json_t *name, const char *pointer)
{
	const char *text = json_string_value(name);
	json_t *id = text ? json_object_get(r->s->names[kind], text) : NULL;

	if (!id && text)
		id = json_object_get(
			json_object_get(r->known, code_kinds[kind].plural),
			text);
	if (!id && text)
		r->unknown(r->arg, pointer, kind, text);
	return id ? json_deep_copy(id) : json_null();
}

static void refer_member(const struct referring *r, json_t *record,
			 const struct reference *reference)
{
	json_t *value = json_object_get(record, reference->name), *ids, *v;
	char pointer[CODE_POINTER_BYTES];
	size_t i;

	if (!value)
		return;
	ids = json_is_array(value) ? json_array() : NULL;
	json_array_foreach(value, i, v)
	{
		str_print(pointer, sizeof(pointer), "/%s/%zu", reference->name,
			  i);
		json_array_append_new(ids, id_of(r, reference->to, v, pointer));
	}
	str_print(pointer, sizeof(pointer), "/%s", reference->name);
	json_object_set_new(record, reference->id,
			    ids ? ids
				: id_of(r, reference->to, value, pointer));
	json_object_del(record, reference->name);
}

static void refer_parameters(const struct referring *r, json_t *steps)
{
	char pointer[CODE_POINTER_BYTES];
	json_t *step, *action;
	size_t i, j;

	json_array_foreach(steps, i, step) json_array_foreach(step, j, action)
	{
		for (size_t p = 0; p < PARAMETERS; p++) {
			const char *key = parameters[p].name;
			json_t *name = json_object_get(action, key);

			str_print(pointer, sizeof(pointer), "/steps/%zu/%zu/%s",
				  i, j, key);
			if (name)
				json_object_set_new(action, key,
						    id_of(r, parameters[p].to,
							  name, pointer));
		}
	}
}

json_t *code_state_refer(const struct code_state *s, enum code_kind_index kind,
			 json_t *record, json_t *known, code_unknown_h *unknown,
			 void *arg)
{
	const struct referring r = {s, known, unknown, arg};
	json_t *body = json_deep_copy(record), *template;

	for (size_t i = 0; i < REFERENCES; i++)
		if (references[i].of == kind)
			refer_member(&r, body, &references[i]);
	refer_parameters(&r, json_object_get(body, "steps"));
	template = json_object_get(body, "callback_template");
	if (template) {
		json_decref(id_of(&r, CODE_CALLBACK_TEMPLATE, template,
				  "/callback_template"));
		json_object_set(body, "callback_template_name", template);
		json_object_del(body, "callback_template");
	}
	return body;
}
