#include "control/cli/code/code_diff.h"

#include "base/str.h"
#include "control/cli/common/terminal.h"
#include "control/wire/json.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_BYTES 512
#define VALUE_BYTES 160 /* longer values are cut */

static bool is_secret(const char *key)
{
	return strcmp(key, "password") == 0 ||
	       strcmp(key, "callback_secret") == 0;
}

static bool same_objects(json_t *a, json_t *b)
{
	const char *key;
	json_t *v;

	if (json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach(a, key, v)
	{
		json_t *other = json_object_get(b, key);

		if (!other || (!is_secret(key) && !code_same(v, other)))
			return false;
	}
	return true;
}

bool code_same(json_t *a, json_t *b)
{
	json_t *v;
	size_t i;

	if (json_is_number(a) && json_is_number(b) &&
	    json_typeof(a) != json_typeof(b)) {
		double x = json_number_value(a), y = json_number_value(b);

		return !(x < y) && !(x > y);
	}
	if (json_is_object(a) && json_is_object(b))
		return same_objects(a, b);
	if (!json_is_array(a) || !json_is_array(b))
		return json_equal(a, b);
	if (json_array_size(a) != json_array_size(b))
		return false;
	json_array_foreach(a, i, v)
	{
		if (!code_same(v, json_array_get(b, i)))
			return false;
	}
	return true;
}

static void print_value(FILE *out, json_t *value, bool secret)
{
	char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_DECIMAL)
			   : NULL;
	char cut[VALUE_BYTES];

	if (!value) {
		fputs("-", out);
	} else if (secret) {
		fputs("(secret)", out);
	} else {
		str_print(cut, sizeof(cut), "%s", text ? text : "?");
		terminal_print(out, cut, 0);
		if (text && strlen(text) >= sizeof(cut))
			fputs("...", out);
	}
	free(text);
}

static void diff(FILE *out, const char *field, json_t *old, json_t *new,
		 bool secret);

static void diff_member(FILE *out, const char *field, const char *key,
			json_t *old, json_t *new)
{
	char inner[FIELD_BYTES];

	str_print(inner, sizeof(inner), "%s%s%s", field, *field ? "." : "",
		  key);
	diff(out, inner, json_object_get(old, key), json_object_get(new, key),
	     is_secret(key));
}

static void diff_objects(FILE *out, const char *field, json_t *old, json_t *new)
{
	const char *key;
	json_t *v;

	json_object_foreach(new, key, v) diff_member(out, field, key, old, new);
	json_object_foreach(old, key, v)
	{
		if (!json_object_get(new, key))
			diff_member(out, field, key, old, new);
	}
}

static void diff(FILE *out, const char *field, json_t *old, json_t *new,
		 bool secret)
{
	char inner[FIELD_BYTES];
	json_t *v;
	size_t i;

	if (old && new && (secret || code_same(old, new)))
		return;
	if (!secret && json_is_object(old) && json_is_object(new)) {
		diff_objects(out, field, old, new);
	} else if (json_is_array(old) && json_is_array(new) &&
		   json_array_size(old) == json_array_size(new)) {
		json_array_foreach(new, i, v)
		{
			str_print(inner, sizeof(inner), "%s.%zu", field, i);
			diff(out, inner, json_array_get(old, i), v, false);
		}
	} else {
		fputs("    ", out);
		terminal_print(out, field, 0);
		fputs(": ", out);
		print_value(out, old, secret);
		fputs(" -> ", out);
		print_value(out, new, secret);
		fputc('\n', out);
	}
}

void code_diff_print(FILE *out, json_t *old, json_t *new)
{
	diff(out, "", old, new, false);
}
