#include "control/server/run/params.h"
#include "control/server/request/body.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>

const char *param_type_name(const struct step_param *p)
{
	if (strcmp(p->type, "integer") == 0)
		return "a whole number";
	if (strcmp(p->type, "number") == 0)
		return "a number";
	if (strcmp(p->type, "boolean") == 0)
		return "0 or 1";
	if (strcmp(p->type, "array") == 0)
		return "a JSON array, or a string with one";
	return "a string";
}

static int new_value(json_t *value, json_t **ret)
{
	if (!value)
		return -ENOMEM;
	*ret = value;
	return 0;
}

static int integer_of(json_t *value, json_t **ret)
{
	const char *text = json_string_value(value);
	uint64_t number;

	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return new_value(json_incref(value), ret);
	if (!text || str_to_u64(text, INT64_MAX, &number))
		return -EINVAL;
	return new_value(json_integer((json_int_t)number), ret);
}

static int number_of(json_t *value, json_t **ret)
{
	const char *text = json_string_value(value);
	double number;

	if (json_is_number(value))
		return new_value(json_incref(value), ret);
	if (!text || str_to_double(text, &number))
		return -EINVAL;
	return new_value(json_real(number), ret);
}

static int flag_of(json_t *value, json_t **ret)
{
	const char *text = json_string_value(value);

	if (json_is_boolean(value))
		return new_value(json_incref(value), ret);
	if (json_is_integer(value) && json_integer_value(value) >= 0 &&
	    json_integer_value(value) <= 1)
		return new_value(json_boolean(json_integer_value(value)), ret);
	if (!text)
		return -EINVAL;
	if (strcmp(text, "1") == 0 || strcmp(text, "true") == 0)
		return new_value(json_true(), ret);
	if (strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
		return new_value(json_false(), ret);
	return -EINVAL;
}

static int list_of(json_t *value, json_t **ret)
{
	const char *text = json_string_value(value);
	json_t *array;

	if (json_is_array(value))
		return new_value(json_incref(value), ret);
	if (!text)
		return -EINVAL;
	array = body_json_text(text);
	if (!json_is_array(array)) {
		json_decref(array);
		return -EINVAL;
	}
	*ret = array;
	return 0;
}

int param_normalize(const struct step_param *p, json_t *value, json_t **ret)
{
	if (strcmp(p->type, "integer") == 0)
		return integer_of(value, ret);
	if (strcmp(p->type, "number") == 0)
		return number_of(value, ret);
	if (strcmp(p->type, "boolean") == 0)
		return flag_of(value, ret);
	if (strcmp(p->type, "array") == 0)
		return list_of(value, ret);
	/* a duration in seconds, and a number of agents, may be a number */
	if (!json_is_string(value) &&
	    !(json_is_number(value) && (strcmp(p->name, "call_duration") == 0 ||
					strcmp(p->name, "agents") == 0)))
		return -EINVAL;
	return new_value(json_incref(value), ret);
}
