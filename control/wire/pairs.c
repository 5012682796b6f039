#include "control/wire/pairs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Load an array, or an array as text. @return a new reference; NULL: the reason
 * is set */
static json_t *array_load(struct decoder *d, json_t *value, size_t max)
{
	json_t *array = NULL;

	if (json_is_string(value))
		array = json_loads(json_string_value(value),
				   JSON_REJECT_DUPLICATES, NULL);
	else if (json_is_array(value))
		array = json_incref(value);
	if (!json_is_array(array)) {
		decoder_refuse(d, "must be a JSON array");
	} else if (json_array_size(array) > max) {
		decoder_refuse(d, "has more than %zu entries", max);
	} else {
		return array;
	}
	json_decref(array);
	return NULL;
}

int decode_pairs(struct decoder *d, json_t *value, size_t max, size_t size,
		 int (*item_h)(struct decoder *d, json_t *entry, void *item),
		 void **ret, size_t *ret_count)
{
	json_t *array = array_load(d, value, max);
	void *list;
	int err = 0;

	if (!array)
		return -EINVAL;
	list = decode_items(d, array, "", size, item_h, &err);
	if (list) {
		*ret = list;
		*ret_count = json_array_size(array);
	}
	json_decref(array);
	return err;
}

int decode_pair_text(struct decoder *d, json_t *entry, size_t i, size_t max,
		     const char **ret)
{
	json_t *value = json_array_get(entry, i);
	size_t mark = decoder_enter(d, "/%zu", i);
	char digits[32];
	const char *text;

	if (!value || json_is_null(value)) {
		decoder_leave(d, mark);
		return 0;
	}
	if (json_is_integer(value)) {
		snprintf(digits, sizeof(digits), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(value));
		text = digits;
	} else if (json_is_string(value)) {
		text = json_string_value(value);
	} else {
		return decoder_refuse(d, "must be a string");
	}
	if (strlen(text) > max)
		return decoder_refuse(d, "is longer than %zu bytes", max);
	for (const char *p = text; *p; p++) {
		if (iscntrl((unsigned char)*p))
			return decoder_refuse(d, "holds a control character");
	}
	decoder_leave(d, mark);
	*ret = arena_text(d->arena, text);
	return *ret ? 0 : -ENOMEM;
}
