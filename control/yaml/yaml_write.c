#include "control/yaml/yaml_write.h"

#include "base/str.h"
#include "control/yaml/yaml_read.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define FLOW_BYTES_MAX 72 /* of a collection on one line */
#define WIDTH          100

/* True if a value is written on one line: [wait, "2000"]. */
static bool is_short(json_t *value)
{
	const char *key;
	json_t *v;
	size_t i, size;

	json_array_foreach(value, i, v)
	{
		if (json_is_array(v) || json_is_object(v))
			return false;
	}
	json_object_foreach(value, key, v)
	{
		if (json_is_array(v) || json_is_object(v))
			return json_object_size(value) == 1 && is_short(v);
	}
	size = json_dumpb(value, NULL, 0, JSON_COMPACT);
	return size <= FLOW_BYTES_MAX;
}

static int emit_text(yaml_emitter_t *e, const char *text, size_t len)
{
	yaml_scalar_style_t style = YAML_ANY_SCALAR_STYLE;
	yaml_event_t event;

	if (memchr(text, '\n', len))
		style = YAML_LITERAL_SCALAR_STYLE;
	else if (yaml_plain_differs(text, len))
		style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
	return yaml_scalar_event_initialize(
		       &event, NULL, NULL, (const yaml_char_t *)text, (int)len,
		       style == YAML_ANY_SCALAR_STYLE, 1, style) &&
	       yaml_emitter_emit(e, &event);
}

static int emit_plain(yaml_emitter_t *e, const char *text)
{
	yaml_event_t event;

	return yaml_scalar_event_initialize(
		       &event, NULL, NULL, (const yaml_char_t *)text,
		       (int)strlen(text), 1, 0, YAML_PLAIN_SCALAR_STYLE) &&
	       yaml_emitter_emit(e, &event);
}

static int emit(yaml_emitter_t *e, json_t *value);

static int emit_array(yaml_emitter_t *e, json_t *value)
{
	bool flow = is_short(value);
	yaml_event_t event;
	json_t *v;
	size_t i;

	if (!yaml_sequence_start_event_initialize(
		    &event, NULL, NULL, 1,
		    flow ? YAML_FLOW_SEQUENCE_STYLE
			 : YAML_BLOCK_SEQUENCE_STYLE) ||
	    !yaml_emitter_emit(e, &event))
		return 0;
	json_array_foreach(value, i, v)
	{
		if (!emit(e, v))
			return 0;
	}
	return yaml_sequence_end_event_initialize(&event) &&
	       yaml_emitter_emit(e, &event);
}

static int emit_object(yaml_emitter_t *e, json_t *value)
{
	bool flow = is_short(value);
	yaml_event_t event;
	const char *key;
	json_t *v;

	if (!yaml_mapping_start_event_initialize(
		    &event, NULL, NULL, 1,
		    flow ? YAML_FLOW_MAPPING_STYLE
			 : YAML_BLOCK_MAPPING_STYLE) ||
	    !yaml_emitter_emit(e, &event))
		return 0;
	json_object_foreach(value, key, v)
	{
		if (!emit_text(e, key, strlen(key)) || !emit(e, v))
			return 0;
	}
	return yaml_mapping_end_event_initialize(&event) &&
	       yaml_emitter_emit(e, &event);
}

static int emit(yaml_emitter_t *e, json_t *value)
{
	char text[64];

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return emit_object(e, value);
	case JSON_ARRAY:
		return emit_array(e, value);
	case JSON_STRING:
		return emit_text(e, json_string_value(value),
				 json_string_length(value));
	case JSON_TRUE:
		return emit_plain(e, "true");
	case JSON_FALSE:
		return emit_plain(e, "false");
	case JSON_NULL:
		return emit_plain(e, "null");
	case JSON_INTEGER:
	case JSON_REAL:
	default:
		text[json_dumpb(value, text, sizeof(text) - 1,
				JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) %
		     sizeof(text)] = '\0';
		return emit_plain(e, text);
	}
}

static int put(void *arg, unsigned char *data, size_t len)
{
	return fwrite(data, 1, len, arg) == len;
}

int yaml_write(FILE *out, json_t *value)
{
	yaml_emitter_t e;
	yaml_event_t event;
	int ok;

	if (!yaml_emitter_initialize(&e))
		return -EIO;
	yaml_emitter_set_output(&e, put, out);
	yaml_emitter_set_unicode(&e, 1);
	yaml_emitter_set_width(&e, WIDTH);
	ok = yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) &&
	     yaml_emitter_emit(&e, &event) &&
	     yaml_document_start_event_initialize(&event, NULL, NULL, NULL,
						  1) &&
	     yaml_emitter_emit(&e, &event) && emit(&e, value) &&
	     yaml_document_end_event_initialize(&event, 1) &&
	     yaml_emitter_emit(&e, &event) &&
	     yaml_stream_end_event_initialize(&event) &&
	     yaml_emitter_emit(&e, &event) && yaml_emitter_flush(&e);
	yaml_emitter_delete(&e);
	return ok && !ferror(out) ? 0 : -EIO;
}
