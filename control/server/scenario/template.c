#include "control/server/scenario/template.h"

#include "base/buf.h"

#include <errno.h>
#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX 2048
#define NAME_BYTES     64

static bool is_set(const json_t *value)
{
	return value && !json_is_null(value);
}

static int put_value(struct buf *out, const json_t *value)
{
	char *text;
	int err;

	if (json_is_string(value))
		return buf_print(out, "%s", json_string_value(value));
	/* 3.6 does not become 3.6000000000000001, nor 3 3.0 */
	if (json_is_real(value))
		return buf_print(out, "%.*g", DBL_DIG, json_real_value(value));
	text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	err = text ? buf_print(out, "%s", text) : -ENOMEM;
	free(text);
	return err;
}

/* "...${name}..." @return 0, out is NULL-terminated; -ENOENT without value */
static int interpolate(struct buf *out, const char *text, json_t *values)
{
	while (*text) {
		const char *open = strstr(text, "${");
		const char *close = open ? strchr(open, '}') : NULL;
		json_t *value;
		int err;

		if (!close)
			return buf_print(out, "%s", text);
		value = json_object_getn(values, open + 2,
					 (size_t)(close - open - 2));
		if (!is_set(value))
			return -ENOENT;
		err = buf_print(out, "%.*s", (int)(open - text), text);
		if (!err)
			err = put_value(out, value);
		if (err)
			return err;
		text = close + 1;
	}
	return 0;
}

static int fill_text(const char *text, json_t *values, json_t **ret)
{
	struct buf out;
	int err;

	if (text[0] == '$' && text[1] != '{') {
		json_t *value = json_object_get(values, text + 1);

		*ret = is_set(value) ? json_deep_copy(value) : NULL;
		return is_set(value) && !*ret ? -ENOMEM : 0;
	}
	buf_init(&out, TEXT_BYTES_MAX);
	err = interpolate(&out, text, values);
	if (err == 0) {
		*ret = json_string(out.data ? out.data : "");
		err = *ret ? 0 : -ENOMEM;
	} else if (err == -ENOENT) {
		*ret = NULL;
		err = 0;
	}
	buf_release(&out);
	return err;
}

static int fill_array(json_t *part, json_t *values, json_t **ret)
{
	json_t *array = json_array(), *element;
	size_t i;

	json_array_foreach(part, i, element)
	{
		json_t *filled = NULL;
		int err = array ? template_fill(element, values, &filled)
				: -ENOMEM;

		if (!err && filled && json_array_append_new(array, filled))
			err = -ENOMEM;
		if (err) {
			json_decref(array);
			return err;
		}
	}
	*ret = array;
	return array ? 0 : -ENOMEM;
}

static bool is_true(const json_t *value)
{
	return json_is_true(value) ||
	       (json_is_integer(value) && json_integer_value(value) != 0);
}

static int fill_object(json_t *part, json_t *values, json_t **ret)
{
	json_t *object = json_object(), *member;
	const char *name;
	int err = object ? 0 : -ENOMEM;

	json_object_foreach(part, name, member)
	{
		json_t *filled = NULL;

		if (!err)
			err = template_fill(member, values, &filled);
		if (!err && strcmp(name, "if") == 0) {
			bool wanted = is_true(filled);

			json_decref(filled);
			if (wanted)
				continue;
			json_decref(object);
			*ret = NULL;
			return 0;
		}
		if (!err && filled && json_object_set_new(object, name, filled))
			err = -ENOMEM;
	}
	if (err) {
		json_decref(object);
		return err;
	}
	*ret = object;
	return 0;
}

int template_fill(json_t *part, json_t *values, json_t **ret)
{
	if (json_is_string(part))
		return fill_text(json_string_value(part), values, ret);
	if (json_is_array(part))
		return fill_array(part, values, ret);
	if (json_is_object(part))
		return fill_object(part, values, ret);
	*ret = json_deep_copy(part);
	return *ret ? 0 : -ENOMEM;
}

/* A step whose actions were all left out is left out too. */
static int add_step(json_t *step, json_t *values, json_t *steps)
{
	json_t *filled = NULL;
	int err = template_fill(step, values, &filled);

	if (err || !json_array_size(filled)) {
		json_decref(filled);
		return err;
	}
	return json_array_append_new(steps, filled) ? -ENOMEM : 0;
}

static int add_steps(json_t *list, json_t *values, json_t *steps)
{
	json_t *step;
	size_t i;
	int err;

	json_array_foreach(list, i, step)
	{
		err = add_step(step, values, steps);
		if (err)
			return err;
	}
	return 0;
}

static int repeat_steps(json_t *loop, json_t *values, json_t *steps)
{
	json_t *count = NULL;
	int err =
		template_fill(json_object_get(loop, "repeat"), values, &count);

	for (json_int_t i = 0; !err && i < json_integer_value(count); i++)
		err = add_steps(json_object_get(loop, "steps"), values, steps);
	json_decref(count);
	return err;
}

static int each_steps(json_t *loop, json_t *values, json_t *steps)
{
	const char *as = json_string_value(json_object_get(loop, "as"));
	json_t *list = NULL, *element;
	size_t i;
	int err = template_fill(json_object_get(loop, "each"), values, &list);

	json_array_foreach(list, i, element)
	{
		if (!err && json_object_set(values, as, element))
			err = -ENOMEM;
		if (!err)
			err = add_steps(json_object_get(loop, "steps"), values,
					steps);
	}
	(void)json_object_del(values, as);
	json_decref(list);
	return err;
}

int template_steps(json_t *list, json_t *values, json_t **ret)
{
	json_t *steps = json_array();
	json_t *step;
	size_t i;
	int err = steps ? 0 : -ENOMEM;

	json_array_foreach(list, i, step)
	{
		if (err)
			break;
		if (json_is_array(step))
			err = add_step(step, values, steps);
		else if (json_object_get(step, "repeat"))
			err = repeat_steps(step, values, steps);
		else
			err = each_steps(step, values, steps);
	}
	if (err) {
		json_decref(steps);
		return err;
	}
	*ret = steps;
	return 0;
}
