/*
 * A request body and its Content-Type: the first line of the input is the type,
 * the rest the body.
 */
#include "control/server/request/body.h"
#include "control/server/request/path.h"
#include "tests/fuzz/check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_object(const struct body *body)
{
	const char *name;
	json_t *value;

	check(json_is_object(body->object));
	json_object_foreach(body->object, name, value)
	{
		check(!body->is_form || json_is_string(value));
		if (body->is_form)
			json_decref(body_json_text(json_string_value(value)));
	}
}

static void parse(const char *type, const char *data, size_t len)
{
	struct body body;

	if (body_parse(&body, type, data, len, 32) == 0) {
		check_object(&body);
		body_whole_numbers(body.object);
		json_decref(body.object);
	} else {
		check(!body.object);
	}
}

/* As an upload is read: a form may hold a file. */
static void parse_file(const char *type, const char *data, size_t len)
{
	struct body_file file;
	struct body body;

	if (body_parse_file(&body, type, data, len, 32, 256, &file) < 0)
		return;
	check_object(&body);
	check(memchr(file.filename, '\0', sizeof(file.filename)) &&
	      memchr(file.media_type, '\0', sizeof(file.media_type)));
	if (file.data) {
		check(file.data >= data && file.len <= len &&
		      file.data + file.len <= data + len);
		check(len - file.len <= 256);
	}
	json_decref(body.object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	size_t type_len = end ? (size_t)(end - data) : 0;
	size_t len = end ? size - type_len - 1 : size;
	char *type, *copy;

	type = strndup((const char *)data, type_len);
	copy = malloc(len + 1);
	memcpy(copy, data + size - len, len);
	copy[len] = '\0';
	parse(end ? type : NULL, copy, len);
	parse_file(end ? type : NULL, copy, len);
	free(type);
	free(copy);
	return 0;
}
