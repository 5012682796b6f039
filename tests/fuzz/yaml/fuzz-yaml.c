/*
 * yaml_read() takes files of users; what yaml_write() makes of it reads as the
 * same value.
 */
#include "control/yaml/yaml_read.h"

#include "control/yaml/yaml_write.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_back(json_t *value)
{
	struct yaml_error error;
	struct yaml_file again;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out || yaml_write(out, value) || fclose(out))
		abort();
	if (len <= YAML_BYTES_MAX) {
		if (yaml_read(text, len, &again, &error))
			abort();
		if (!json_equal(json_array_get(again.documents, 0), value))
			abort();
		yaml_file_release(&again);
	}
	free(text);
}

/* Numbers are written with at most 15 digits. */
static int has_real(json_t *value)
{
	const char *key;
	json_t *v;
	size_t i;

	json_array_foreach(value, i, v)
	{
		if (has_real(v))
			return 1;
	}
	json_object_foreach(value, key, v)
	{
		if (has_real(v))
			return 1;
	}
	return json_is_real(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct yaml_error error;
	struct yaml_file file;
	json_t *value;
	size_t i;

	if (yaml_read((const char *)data, size, &file, &error))
		return 0;
	json_array_foreach(file.documents, i, value)
	{
		struct yaml_place place = yaml_place_of(
			json_array_get(file.places, i), "/tests/0/steps/1");

		if (!place.line || !place.column)
			abort();
		if (!has_real(value))
			write_back(value);
	}
	yaml_file_release(&file);
	return 0;
}
