/*
 * A request body and its Content-Type: the first line of the input is the type,
 * the rest the body.
 */
#include "control/server/request/body.h"
#include "control/server/request/path.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t type_len = end ? (size_t)(end - data) : 0;
	size_t len = end ? size - type_len - 1 : size;
	struct body body;
	char *type, *copy;

	type = strndup((const char *)data, type_len);
	copy = malloc(len + 1);
	memcpy(copy, data + size - len, len);
	copy[len] = '\0';
	if (body_parse(&body, end ? type : NULL, copy, len, 32) == 0) {
		const char *name;
		json_t *value;

		if (!json_is_object(body.object))
			abort();
		json_object_foreach(body.object, name, value)
		{
			if (body.is_form && !json_is_string(value))
				abort();
		}
		json_decref(body.object);
	} else if (body.object) {
		abort();
	}
	free(type);
	free(copy);
	return 0;
}
