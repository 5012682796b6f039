#include "control/cli/code/code_schema.h"

#include "base/str.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define REF_START "#/$defs/"

extern const char code_schema_text[], code_schema_text_end[];

const struct code_kind code_kinds[CODE_KINDS] = {
	{"projects", "/projects", "project", "project"},
	{"targets", "/targets", "target", "target"},
	{"credential_pools", "/credential-pools", "credential_pool",
	 "credential pool"},
	{"agent_pools", "/agent-pools", "agent_pool", "agent pool"},
	{"callback_templates", "/callback-templates", "callback_template",
	 "callback template"},
	{"appimages", "/appimages", "appimage", "appimage"},
	{"tests", "/tests", "test", "test"},
	{"schedules", "/schedules", "schedule", "schedule"},
};

size_t code_kind_find(const char *plural)
{
	size_t i = 0;

	while (i < CODE_KINDS && strcmp(code_kinds[i].plural, plural) != 0)
		i++;
	return i;
}

json_t *code_schema_new(void)
{
	return json_loadb(code_schema_text,
			  (size_t)(code_schema_text_end - code_schema_text), 0,
			  NULL);
}

/* ---- words ---- */

static const char *nearest(json_t *names, const char *name)
{
	const char *best = NULL, *key;
	size_t best_distance = strlen(name) / 3 + 2;
	json_t *value;

	json_object_foreach(names, key, value)
	{
		size_t d = str_distance(name, key);

		if (d < best_distance) {
			best = key;
			best_distance = d;
		}
	}
	return best;
}

/* ---- the schema ---- */

struct checking {
	json_t *schema;
	code_misfit_h *misfit;
	void *arg;
};

static json_t *resolve(json_t *root, json_t *schema)
{
	const char *ref = json_string_value(json_object_get(schema, "$ref"));

	return ref ? json_object_get(json_object_get(root, "$defs"),
				     ref + strlen(REF_START))
		   : schema;
}

/* True if a type stands in a schema. */
static bool allows(json_t *schema, const char *type)
{
	json_t *types = json_object_get(schema, "type");
	json_t *value;
	size_t i;

	if (json_is_string(types))
		return strcmp(json_string_value(types), type) == 0;
	json_array_foreach(types, i, value)
	{
		if (strcmp(json_string_value(value), type) == 0)
			return true;
	}
	return false;
}

static const char *type_of(json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "integer";
	case JSON_REAL:
		return "number";
	case JSON_NULL:
		return "null";
	case JSON_TRUE:
	case JSON_FALSE:
	default:
		return "boolean";
	}
}

/* Choose the alternative of oneOf for a value: an action's by its type, another
 * one by the type of the value. @return NULL: the API decides */
static json_t *choose(const struct checking *c, json_t *schema, json_t *value,
		      bool *unknown_type)
{
	json_t *alternative;
	const char *type = json_string_value(json_object_get(value, "type"));
	bool by_type = false;
	size_t i;

	json_array_foreach(json_object_get(schema, "oneOf"), i, alternative)
	{
		json_t *s = resolve(c->schema, alternative);
		const char *named = json_string_value(json_object_get(
			json_object_get(json_object_get(s, "properties"),
					"type"),
			"const"));

		by_type |= named != NULL;
		if (named ? type && strcmp(named, type) == 0
			  : !json_is_object(value) && allows(s, type_of(value)))
			return s;
	}
	*unknown_type = by_type && json_is_object(value);
	return NULL;
}

static json_t *fit(const struct checking *c, json_t *schema, json_t *value,
		   const char *pointer);

static void unknown(const struct checking *c, json_t *names, const char *name,
		    const char *pointer)
{
	const char *near = nearest(names, name);
	char reason[CODE_REASON_BYTES];

	str_print(reason, sizeof(reason), "%s is unknown here%s%s%s", name,
		  near ? "; did you mean " : "", near ? near : "",
		  near ? "?" : "");
	c->misfit(c->arg, pointer, reason);
}

static void fit_object(const struct checking *c, json_t *schema, json_t *value,
		       const char *pointer)
{
	json_t *properties = json_object_get(schema, "properties");
	char inner[CODE_POINTER_BYTES], reason[CODE_REASON_BYTES];
	const char *key;
	json_t *v;
	size_t i;

	if (!properties)
		return;
	json_object_foreach(value, key, v)
	{
		json_t *s = json_object_get(properties, key);

		str_print(inner, sizeof(inner), "%s/%s", pointer, key);
		if (!s)
			unknown(c, properties, key, inner);
		else if ((v = fit(c, s, v, inner)))
			json_object_set_new(value, key, v);
	}
	json_array_foreach(json_object_get(schema, "required"), i, v)
	{
		key = json_string_value(v);
		if (json_object_get(value, key))
			continue;
		str_print(reason, sizeof(reason), "%s is missing", key);
		c->misfit(c->arg, pointer, reason);
	}
}

static void fit_array(const struct checking *c, json_t *schema, json_t *value,
		      const char *pointer)
{
	json_t *prefix = json_object_get(schema, "prefixItems");
	char inner[CODE_POINTER_BYTES];
	json_t *v;
	size_t i;

	json_array_foreach(value, i, v)
	{
		json_t *s = json_array_get(prefix, i);

		if (!s)
			s = json_object_get(schema, "items");
		str_print(inner, sizeof(inner), "%s/%zu", pointer, i);
		v = s ? fit(c, s, v, inner) : NULL;
		if (v)
			json_array_set_new(value, i, v);
	}
}

/* @return a new value to take its place; NULL: it stays */
static json_t *fit(const struct checking *c, json_t *schema, json_t *value,
		   const char *pointer)
{
	char reason[CODE_REASON_BYTES], text[32];
	bool unknown_type = false;

	schema = resolve(c->schema, schema);
	if (json_object_get(schema, "oneOf")) {
		schema = choose(c, schema, value, &unknown_type);
		if (unknown_type)
			c->misfit(c->arg, pointer,
				  "type is missing or names no action");
		if (!schema)
			return NULL;
	}
	if (json_is_integer(value) && allows(schema, "string") &&
	    !allows(schema, "integer") && !allows(schema, "number")) {
		str_print(text, sizeof(text), "%" JSON_INTEGER_FORMAT,
			  json_integer_value(value));
		return json_string(text);
	}
	if (json_object_get(schema, "type") &&
	    !allows(schema, type_of(value)) &&
	    !(json_is_integer(value) && allows(schema, "number"))) {
		str_print(reason, sizeof(reason), "%s %s is not possible here",
			  strchr("aio", type_of(value)[0]) ? "an" : "a",
			  json_is_string(value)   ? "text"
			  : json_is_object(value) ? "mapping"
			  : json_is_array(value)  ? "list"
						  : type_of(value));
		c->misfit(c->arg, pointer, reason);
	} else if (json_is_object(value)) {
		fit_object(c, schema, value, pointer);
	} else if (json_is_array(value)) {
		fit_array(c, schema, value, pointer);
	}
	return NULL;
}

void code_schema_check(json_t *schema, json_t *document, code_misfit_h *misfit,
		       void *arg)
{
	const struct checking c = {schema, misfit, arg};

	fit(&c, schema, document, "");
}

/* ---- records ---- */

static json_t *reduce(json_t *root, json_t *schema, json_t *value);

static bool is_required(json_t *schema, const char *key)
{
	json_t *name;
	size_t i;

	json_array_foreach(json_object_get(schema, "required"), i, name)
	{
		if (strcmp(json_string_value(name), key) == 0)
			return true;
	}
	return false;
}

static bool is_empty(json_t *value)
{
	return json_is_null(value) ||
	       (json_is_string(value) && !json_string_length(value)) ||
	       (json_is_array(value) && !json_array_size(value)) ||
	       (json_is_object(value) && !json_object_size(value));
}

static json_t *reduce_object(json_t *root, json_t *schema, json_t *value)
{
	json_t *out = json_object(), *s;
	const char *key;

	json_object_foreach(json_object_get(schema, "properties"), key, s)
	{
		json_t *v = json_object_get(value, key);
		json_t *usual = json_object_get(resolve(root, s), "default");
		json_t *reduced;

		if (!v)
			continue;
		if (strcmp(key, "steps") == 0 || strcmp(key, "conditions") == 0)
			reduced = json_deep_copy(v);
		else
			reduced = reduce(root, s, v);
		if (!is_required(schema, key) &&
		    (is_empty(reduced) ||
		     (usual && json_equal(usual, reduced))))
			json_decref(reduced);
		else
			json_object_set_new(out, key, reduced);
	}
	return out;
}

static json_t *reduce(json_t *root, json_t *schema, json_t *value)
{
	json_t *out, *v;
	size_t i;

	schema = resolve(root, schema);
	if (json_is_object(value) && json_object_get(schema, "properties"))
		return reduce_object(root, schema, value);
	if (json_is_integer(value) && allows(schema, "boolean"))
		return json_boolean(json_integer_value(value) != 0);
	if (!json_is_array(value))
		return json_deep_copy(value);
	out = json_array();
	json_array_foreach(value, i, v)
	{
		json_array_append_new(
			out, reduce(root, json_object_get(schema, "items"), v));
	}
	return out;
}

json_t *code_schema_reduce(json_t *schema, enum code_kind_index kind,
			   json_t *record)
{
	json_t *items = json_object_get(
		json_object_get(json_object_get(schema, "properties"),
				code_kinds[kind].plural),
		"items");

	return reduce(schema, items, record);
}
