#include "control/server/request/fields.h"
#include "control/server/request/body.h"

#include "base/str.h"
#include "control/wire/decode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void field_error(struct reply *rep, const char *pointer, const char *fmt, ...)
{
	char text[640]; /* as long as a condition's problem */
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (reply_status(rep) != 422)
		reply_problem(rep, 422, "%s: %s", pointer[0] ? pointer : "body",
			      text);
	reply_pointer(rep, pointer, "%s", text);
}

bool time_parse(const char *text, int64_t *ret_ms)
{
	struct tm tm = {.tm_sec = 0};
	const char *end = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);

	if (!end || *end || tm.tm_year < 70)
		return false;
	*ret_ms = (int64_t)timegm(&tm) * 1000;
	return true;
}

static json_t *read_text(const struct field *f, json_t *value,
			 const char *pointer, struct reply *rep)
{
	size_t len = json_string_length(value);

	if (!json_is_string(value))
		field_error(rep, pointer, "must be a text");
	else if ((int64_t)len < f->min)
		field_error(rep, pointer, "must not be empty");
	else if (f->max && (int64_t)len > f->max)
		field_error(rep, pointer, "is longer than %lld bytes",
			    (long long)f->max);
	else
		return json_incref(value);
	return NULL;
}

static json_t *read_integer(const struct field *f, json_t *value, bool strings,
			    const char *pointer, struct reply *rep)
{
	json_int_t number = json_integer_value(value);
	bool is_number = json_is_integer(value);

	if (strings && json_is_string(value)) {
		uint64_t parsed;

		is_number = str_to_u64(json_string_value(value), INT64_MAX,
				       &parsed) == 0;
		if (is_number)
			number = (json_int_t)parsed;
	}
	if (is_number && number >= f->min && number <= f->max)
		return json_integer(number);
	field_error(rep, pointer, "must be a whole number from %lld to %lld",
		    (long long)f->min, (long long)f->max);
	return NULL;
}

static json_t *read_flag(json_t *value, bool strings, const char *pointer,
			 struct reply *rep)
{
	const char *text = strings ? json_string_value(value) : NULL;

	if (json_is_true(value) || json_integer_value(value) == 1 ||
	    (text && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0)))
		return json_integer(1);
	if (json_is_false(value) ||
	    (json_is_integer(value) && json_integer_value(value) == 0) ||
	    (text && (strcmp(text, "0") == 0 || strcmp(text, "false") == 0)))
		return json_integer(0);
	field_error(rep, pointer, "must be 0 or 1");
	return NULL;
}

static json_t *read_choice(const struct field *f, json_t *value,
			   const char *pointer, struct reply *rep)
{
	const char *text = json_string_value(value);

	if (text && str_has_word(f->choices, text))
		return json_incref(value);
	field_error(rep, pointer, "must be one of: %s", f->choices);
	return NULL;
}

static json_t *read_document(const struct field *f, json_t *value, bool strings,
			     const char *pointer, struct reply *rep)
{
	bool array = f->kind != FIELD_OBJECT;
	bool text_allowed = strings || f->kind == FIELD_TAGS;
	json_t *document = NULL;

	if (json_is_string(value) && text_allowed)
		document = body_json_text(json_string_value(value));
	else if (json_is_array(value) || json_is_object(value))
		document = json_deep_copy(value);
	if (array ? !json_is_array(document) : !json_is_object(document)) {
		field_error(rep, pointer, "must be a JSON %s",
			    array ? "array" : "object");
	} else if (array && f->max &&
		   (int64_t)json_array_size(document) > f->max) {
		field_error(rep, pointer, "has more than %lld elements",
			    (long long)f->max);
	} else {
		return document;
	}
	json_decref(document);
	return NULL;
}

static json_t *read_tags(const struct field *f, json_t *value, bool strings,
			 const char *pointer, struct reply *rep)
{
	json_t *tags = read_document(f, value, strings, pointer, rep);
	json_t *tag;
	size_t i;

	json_array_foreach(tags, i, tag)
	{
		if (json_is_string(tag))
			continue;
		field_error(rep, pointer, "must be an array of texts");
		json_decref(tags);
		return NULL;
	}
	return tags;
}

static json_t *read_time(json_t *value, const char *pointer, struct reply *rep)
{
	int64_t ms;

	if (json_is_string(value) && time_parse(json_string_value(value), &ms))
		return json_integer(ms);
	field_error(rep, pointer, "must be a time as YYYY-MM-DD HH:MM:SS");
	return NULL;
}

static json_t *read_value(const struct field *f, json_t *value, bool strings,
			  const char *pointer, struct reply *rep)
{
	switch (f->kind) {
	case FIELD_TEXT:
		return read_text(f, value, pointer, rep);
	case FIELD_INTEGER:
		return read_integer(f, value, strings, pointer, rep);
	case FIELD_FLAG:
		return read_flag(value, strings, pointer, rep);
	case FIELD_CHOICE:
		return read_choice(f, value, pointer, rep);
	case FIELD_TAGS:
		return read_tags(f, value, strings, pointer, rep);
	case FIELD_TIME:
		return read_time(value, pointer, rep);
	case FIELD_ARRAY:
	case FIELD_OBJECT:
	default:
		return read_document(f, value, strings, pointer, rep);
	}
}

static void read_field(struct request *req, const struct field *f,
		       json_t *given, bool strings, const char *base,
		       json_t *values, struct reply *rep)
{
	char pointer[POINTER_BYTES];
	json_t *value;

	str_print(pointer, sizeof(pointer), "%s/%s", base, f->name);
	if (given && json_is_null(given))
		given = NULL;
	/* a form cannot leave a field out any other way */
	if (given && strings && !f->required && f->kind != FIELD_TEXT &&
	    json_string_length(given) == 0)
		given = NULL;
	if (!given && f->required) {
		field_error(rep, pointer, "is missing");
		return;
	}
	if (!given) {
		value = f->fallback
				? json_loads(f->fallback, JSON_DECODE_ANY, NULL)
				: json_null();
		json_object_set_new(values, f->name, value);
		return;
	}
	value = read_value(f, given, strings, pointer, rep);
	if (value && f->check)
		f->check(req, value, pointer, rep);
	if (value)
		json_object_set_new(values, f->name, value);
}

static const struct field *find_field(const struct field *fields, size_t count,
				      const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	}
	return NULL;
}

json_t *fields_read(struct request *req, json_t *object, bool strings,
		    const char *base, const struct field *fields, size_t count,
		    struct reply *rep)
{
	json_t *values, *value;
	const char *name;

	if (object && !json_is_object(object)) {
		field_error(rep, base, "must be an object");
		return NULL;
	}
	values = json_object();
	json_object_foreach(object, name, value)
	{
		char pointer[POINTER_BYTES];

		if (find_field(fields, count, name))
			continue;
		str_print(pointer, sizeof(pointer), "%s/%.80s", base, name);
		field_error(rep, pointer, "is not known");
	}
	for (size_t i = 0; i < count; i++)
		read_field(req, &fields[i],
			   json_object_get(object, fields[i].name), strings,
			   base, values, rep);
	if (reply_status(rep) == 422) {
		json_decref(values);
		return NULL;
	}
	return values;
}

void fields_read_elements(struct request *req, json_t *array,
			  const char *pointer, const struct field *fields,
			  size_t count, struct reply *rep)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		char element[POINTER_BYTES];
		json_t *read;

		str_print(element, sizeof(element), "%.100s/%zu", pointer, i);
		read = fields_read(req, json_array_get(array, i), false,
				   element, fields, count, rep);
		if (read)
			json_array_set_new(array, i, read);
	}
}

const char *query_get(const struct request *req, const char *name)
{
	json_t *pair;
	size_t i;

	json_array_foreach(request_query(req), i, pair)
	{
		if (strcmp(json_string_value(json_array_get(pair, 0)), name) ==
		    0)
			return json_string_value(json_array_get(pair, 1));
	}
	return NULL;
}

void field_line(struct request *req, json_t *value, const char *pointer,
		struct reply *rep)
{
	(void)req;
	if (!decode_text_allowed(TEXT_LINE, json_string_value(value)))
		field_error(rep, pointer, "must hold no control characters");
}

void field_word(struct request *req, json_t *value, const char *pointer,
		struct reply *rep)
{
	(void)req;
	if (!decode_text_allowed(TEXT_WORD, json_string_value(value)))
		field_error(rep, pointer,
			    "must hold no blanks, quotes, angle brackets, "
			    "commas, semicolons or control characters");
}
