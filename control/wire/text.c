#include "control/wire/text.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

const char *text_of(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? text : "";
}

json_t *wire_text(const char *text)
{
	json_t *value = text ? json_string(text) : NULL;
	char *copy;

	if (value || !text)
		return value;
	copy = strdup(text);
	if (!copy)
		return NULL;
	str_utf8_repair(copy);
	value = json_string(copy);
	free(copy);
	return value;
}
