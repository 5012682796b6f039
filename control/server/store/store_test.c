#include "control/server/store/store_test.h"

#include "base/str.h"
#include "control/server/store/store_db.h"

#include <jansson.h>
#include <string.h>

struct search {
	const char *parameter;
	int64_t id;
	const char *text; /* looked for instead of the id; or NULL */
	char *name;
};

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
			json_t *value =
				json_object_get(action, search->parameter);

			if (search->text
				    ? json_is_string(value) &&
					      strcmp(json_string_value(value),
						     search->text) == 0
				    : json_is_integer(value) &&
					      json_integer_value(value) ==
						      search->id)
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
	/* LIKE narrows; the document decides */
	result = db_query(store_reader(s),
			  "SELECT name, steps_json FROM test "
			  "WHERE steps_json LIKE '%' || $1 || '%'",
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

int store_test_names(struct store *s, const char *parameter, const char *text,
		     char name[STORE_NAME_BYTES])
{
	struct search search = {
		.parameter = parameter,
		.text = text,
		.name = name,
	};

	return look(s, &search);
}
