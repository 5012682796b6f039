#include "control/server/request/body.h"

#include "base/str.h"
#include "control/server/request/multipart.h"
#include "control/server/request/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Depth of brackets outside strings; jansson has no limit of its own that is
 * low enough. Broken text may give any figure, the parser refuses it. */
static bool too_deep(const char *data, size_t len, unsigned max)
{
	bool in_string = false;
	unsigned depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = data[i];

		if (in_string) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_string = false;
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			if (++depth > max)
				return true;
		} else if ((c == '}' || c == ']') && depth > 0) {
			depth--;
		}
	}
	return false;
}

/* @return a new integer; NULL: it is none, or not exact */
static json_t *whole_number(const json_t *value)
{
	const double limit = 9007199254740992.0; /* 2^53 */
	double number = json_real_value(value);

	if (!json_is_real(value) || number < -limit || number > limit ||
	    number != (double)(json_int_t)number)
		return NULL;
	return json_integer((json_int_t)number);
}

/* The depth is that of the document. */
void body_whole_numbers(json_t *document)
{
	json_t *value, *whole;
	const char *name;
	size_t i;

	json_object_foreach(document, name, value)
	{
		whole = whole_number(value);
		if (whole)
			json_object_set_new(document, name, whole);
		else
			body_whole_numbers(value);
	}
	json_array_foreach(document, i, value)
	{
		whole = whole_number(value);
		if (whole)
			json_array_set_new(document, i, whole);
		else
			body_whole_numbers(value);
	}
}

json_t *body_json_text(const char *text)
{
	size_t len = strlen(text);
	json_t *document =
		too_deep(text, len, BODY_DEPTH)
			? NULL
			: json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);

	body_whole_numbers(document);
	return document;
}

static int parse_json(struct body *ret, const char *data, size_t len,
		      unsigned depth)
{
	json_error_t error;
	json_t *value;

	if (too_deep(data, len, depth)) {
		str_print(ret->reason, sizeof(ret->reason),
			  "the JSON document is nested deeper than %u", depth);
		return -EBADMSG;
	}
	value = json_loadb(data, len, JSON_REJECT_DUPLICATES, &error);
	if (!value) {
		str_print(ret->reason, sizeof(ret->reason),
			  "not a JSON document: line %d column %d: %s",
			  error.line, error.column, error.text);
		return -EBADMSG;
	}
	if (!json_is_object(value)) {
		json_decref(value);
		str_print(ret->reason, sizeof(ret->reason),
			  "the body must be a JSON object");
		return -EBADMSG;
	}
	ret->object = value;
	return 0;
}

int form_add(struct body *form, const char *name, const char *value, size_t len)
{
	if (!utf8_valid(value, len)) {
		str_print(form->reason, sizeof(form->reason),
			  "field %.80s is not UTF-8 text", name);
		return -EBADMSG;
	}
	if (json_object_get(form->object, name)) {
		str_print(form->reason, sizeof(form->reason),
			  "field %.80s is there twice", name);
		return -EBADMSG;
	}
	if (json_object_size(form->object) >= BODY_MEMBERS_MAX) {
		str_print(form->reason, sizeof(form->reason),
			  "more than %d fields", BODY_MEMBERS_MAX);
		return -EBADMSG;
	}
	return json_object_set_new(form->object, name, json_stringn(value, len))
		       ? -ENOMEM
		       : 0;
}

static int parse_pair(struct body *form, char *pair)
{
	char *value = strchrnul(pair, '=');
	int len;

	if (*value == '=')
		*value++ = '\0';
	if (percent_decode(pair, true) < 0 ||
	    (len = percent_decode(value, true)) < 0) {
		str_print(form->reason, sizeof(form->reason),
			  "a form field is not percent-encoded UTF-8 text");
		return -EBADMSG;
	}
	return form_add(form, pair, value, (size_t)len);
}

static int parse_urlencoded(struct body *form, const char *data, size_t len)
{
	char *copy, *rest, *pair;
	int err = 0;

	if (memchr(data, '\0', len)) {
		str_print(form->reason, sizeof(form->reason),
			  "the form holds a NUL byte");
		return -EBADMSG;
	}
	copy = strndup(data, len);
	if (!copy)
		return -ENOMEM;
	rest = copy;
	while (err == 0 && (pair = strsep(&rest, "&")) != NULL) {
		if (*pair)
			err = parse_pair(form, pair);
	}
	free(copy);
	return err;
}

/* True if the media type is this one, parameters aside. */
static bool is_type(const char *content_type, const char *type)
{
	size_t len = strlen(type);

	return strncasecmp(content_type, type, len) == 0 &&
	       (content_type[len] == '\0' || content_type[len] == ';' ||
		content_type[len] == ' ');
}

static int parse(struct body *ret, const char *content_type, const char *data,
		 size_t len)
{
	bool multipart = is_type(content_type, "multipart/form-data");
	int err;

	if (!multipart &&
	    !is_type(content_type, "application/x-www-form-urlencoded"))
		return -EMEDIUMTYPE;
	ret->is_form = true;
	ret->object = json_object();
	if (!ret->object)
		return -ENOMEM;
	err = multipart ? multipart_parse(ret, content_type, data, len)
			: parse_urlencoded(ret, data, len);
	if (err) {
		json_decref(ret->object);
		ret->object = NULL;
	}
	return err;
}

int body_parse(struct body *ret, const char *content_type, const char *data,
	       size_t len, unsigned depth)
{
	memset(ret, 0, sizeof(*ret));
	if (!content_type)
		content_type = "";
	if (is_type(content_type, "application/json"))
		return parse_json(ret, data, len, depth);
	return parse(ret, content_type, data, len);
}

int body_parse_file(struct body *ret, const char *content_type,
		    const char *data, size_t len, unsigned depth, size_t max,
		    struct body_file *file)
{
	int err;

	memset(file, 0, sizeof(*file));
	if (!content_type || !is_type(content_type, "multipart/form-data"))
		return len > max ? -EFBIG
				 : body_parse(ret, content_type, data, len,
					      depth);
	memset(ret, 0, sizeof(*ret));
	ret->file = file;
	err = parse(ret, content_type, data, len);
	if (err == 0 && len - file->len > max) {
		json_decref(ret->object);
		err = -EFBIG;
	}
	return err;
}
