#include "control/wire/put_internal.h"

#include "control/wire/text.h"

json_t *put_finish(json_t *object, int err)
{
	if (err) {
		json_decref(object);
		return NULL;
	}
	return object;
}

int put_value(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value);
}

int put_text(json_t *object, const char *name, const char *text)
{
	return text ? put_value(object, name, wire_text(text)) : 0;
}
