#include "control/server/store/store_test.h"

#include "base/str.h"
#include "control/server/store/store_db.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

struct search {
	const char *parameter;
	int64_t id;
	const char *upload; /* searched for instead of the id; or NULL */
	char *name;
};

static bool is_text(const json_t *value, const char *text)
{
	return json_is_string(value) &&
	       strcmp(json_string_value(value), text) == 0;
}

/* @param script  of an action: an array, or JSON text with one */
static bool script_plays(json_t *script, const char *upload)
{
	json_t *list = json_is_string(script)
			       ? json_loads(json_string_value(script), 0, NULL)
			       : json_incref(script);
	json_t *entry;
	bool found = false;
	size_t i;

	json_array_foreach(list, i, entry)
	{
		if (is_text(json_array_get(entry, 0), "play") &&
		    is_text(json_array_get(entry, 1), upload))
			found = true;
	}
	json_decref(list);
	return found;
}

static bool action_refers(const json_t *action, const struct search *search)
{
	json_t *value;

	if (search->upload)
		return is_text(json_object_get(action, "prompt"),
			       search->upload) ||
		       is_text(json_object_get(action, "expect_prompt"),
			       search->upload) ||
		       script_plays(
			       json_object_get(action, "sipclient_actions"),
			       search->upload);
	value = json_object_get(action, search->parameter);
	return json_is_integer(value) &&
	       json_integer_value(value) == search->id;
}

static int look_through(const struct db_value *row, size_t columns, void *arg)
{
	struct search *search = arg;
	json_t *steps = json_loadb(row[1].bytes, row[1].len, 0, NULL);
	json_t *step, *action;
	size_t i, k;
	int found = 0;

	(void)columns;
	json_array_foreach(steps, i, step)
	{
		json_array_foreach(step, k, action)
		{
			if (action_refers(action, search))
				found = 1;
		}
	}
	if (found)
		str_print(search->name, STORE_NAME_BYTES, "%s",
			  (const char *)row[0].bytes);
	json_decref(steps);
	return found;
}

static int look(struct store *s, struct search *search)
{
	const struct db_value param = db_text(search->parameter);
	int result;

	search->name[0] = '\0';
	/* LIKE preselects; the parsed document decides */
	result = db_query(store_reader(s),
			  "SELECT name, steps_json FROM test "
			  "WHERE lower(steps_json) LIKE "
			  "'%' || lower($1) || '%'",
			  &param, 1, look_through, search);
	if (result < 0)
		return result;
	return search->name[0] ? 1 : 0;
}

int store_test_refers(struct store *s, const char *parameter, int64_t id,
		      char name[STORE_NAME_BYTES])
{
	struct search search = {.parameter = parameter, .id = id, .name = name};

	return look(s, &search);
}

int store_test_plays(struct store *s, const char *upload,
		     char name[STORE_NAME_BYTES])
{
	struct search search = {
		.parameter = "", /* several parameters may name an upload */
		.upload = upload,
		.name = name,
	};

	return look(s, &search);
}
