#include "control/yaml/yaml_read.h"

#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#define COLUMN_BITS  20
#define NUMBER_BYTES 40

struct anchor {
	char *name;
	json_t *value, *place;
};

struct reading {
	yaml_parser_t parser;
	struct yaml_error *error;
	size_t nodes, anchor_count;
	struct anchor anchors[YAML_ANCHORS_MAX]; /* of the document */
};

static int refuse(struct reading *r, yaml_mark_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct reading *r, yaml_mark_t at, const char *fmt, ...)
{
	va_list args;

	r->error->place = (struct yaml_place){.line = at.line + 1,
					      .column = at.column + 1};
	va_start(args, fmt);
	vsnprintf(r->error->reason, sizeof(r->error->reason), fmt, args);
	va_end(args);
	return -EINVAL;
}

static int next(struct reading *r, yaml_event_t *event)
{
	if (yaml_parser_parse(&r->parser, event))
		return 0;
	if (r->parser.error == YAML_MEMORY_ERROR)
		return -ENOMEM;
	return refuse(r,
		      r->parser.error == YAML_READER_ERROR
			      ? r->parser.mark
			      : r->parser.problem_mark,
		      "%s%s%s", r->parser.context ? r->parser.context : "",
		      r->parser.context ? ": " : "",
		      r->parser.problem ? r->parser.problem : "no YAML");
}

/* ---- scalars ---- */

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
static const char *const trues[] = {"true", "True", "TRUE", NULL};
static const char *const falses[] = {"false", "False", "FALSE", NULL};
static const char *const specials[] = {
	".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF", "-.inf",
	"-.Inf", "-.INF", "+.inf", "+.Inf", "+.INF", "<<",   NULL,
};

#define DIGITS "0123456789"

/* Length of the number at the start: [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static size_t number_length(const char *text, bool *integer)
{
	const char *p = text + (*text == '-' || *text == '+');
	size_t whole = strspn(p, DIGITS), part = 0;

	p += whole;
	*integer = true;
	if (*p == '.') {
		*integer = false;
		part = strspn(p + 1, DIGITS);
		p += 1 + part;
	}
	if (!whole && !part)
		return 0;
	if (*p == 'e' || *p == 'E') {
		const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');
		size_t digits = strspn(exponent, DIGITS);

		if (!digits)
			return 0;
		*integer = false;
		p = exponent + digits;
	}
	return (size_t)(p - text);
}

/* True if readers of YAML disagree about what this plain scalar is. */
static bool is_ambiguous(const char *text)
{
	const char *p = text + (*text == '-' || *text == '+');
	bool integer;
	size_t len = number_length(text, &integer);

	if (is_one_of(text, specials))
		return true;
	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'o') &&
	    p[2 + strspn(p + 2, "0123456789abcdefABCDEF")] == '\0')
		return true;
	if (!len || text[len])
		return false;
	return *text == '+' || (p[0] == '0' && p[1] >= '0' && p[1] <= '9') ||
	       p[0] == '.' || len >= NUMBER_BYTES;
}

static json_t *number(const char *text, bool integer)
{
	char *end;

	if (integer) {
		long long value;

		errno = 0;
		value = strtoll(text, &end, 10);
		return errno ? NULL : json_integer(value);
	}
	return json_real(strtod(text, &end)); /* NULL: not finite */
}

static int plain(struct reading *r, const yaml_event_t *event, json_t **ret)
{
	const char *text = (const char *)event->data.scalar.value;
	bool integer;
	size_t len = number_length(text, &integer);

	if (is_one_of(text, nulls)) {
		*ret = json_null();
	} else if (is_one_of(text, trues)) {
		*ret = json_true();
	} else if (is_one_of(text, falses)) {
		*ret = json_false();
	} else if (is_ambiguous(text)) {
		return refuse(
			r, event->start_mark,
			"%.60s can be read in several ways: quote it if it "
			"is a text, else write a decimal number without "
			"leading zeros or a plus sign",
			text);
	} else if (len && !text[len]) {
		*ret = number(text, integer);
		if (!*ret)
			return refuse(r, event->start_mark,
				      "%.60s is out of the range of numbers",
				      text);
	} else {
		*ret = json_string(text);
	}
	return *ret ? 0 : -ENOMEM;
}

bool yaml_plain_differs(const char *text, size_t len)
{
	bool integer;
	size_t number = number_length(text, &integer);

	return strlen(text) != len || is_one_of(text, nulls) ||
	       is_one_of(text, trues) || is_one_of(text, falses) ||
	       is_ambiguous(text) || (number && !text[number]) ||
	       /* words of YAML 1.1, for other readers */
	       strcasecmp(text, "yes") == 0 || strcasecmp(text, "no") == 0 ||
	       strcasecmp(text, "on") == 0 || strcasecmp(text, "off") == 0 ||
	       strcasecmp(text, "y") == 0 || strcasecmp(text, "n") == 0 ||
	       text[strspn(text, DIGITS ":_-. ")] == '\0';
}

static int scalar(struct reading *r, const yaml_event_t *event, json_t **ret)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;

	if (event->data.scalar.tag)
		return refuse(r, event->start_mark, "tags are not supported");
	if (memchr(text, 0, len))
		return refuse(r, event->start_mark, "a text has a NUL");
	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return plain(r, event, ret);
	*ret = json_stringn(text, len);
	return *ret ? 0 : refuse(r, event->start_mark, "it is not UTF-8");
}

/* ---- nodes ---- */

static json_t *place_new(yaml_mark_t at, json_t *of)
{
	json_int_t column = (json_int_t)at.column + 1;
	json_int_t limit = (1 << COLUMN_BITS) - 1;
	json_t *place = json_pack("{s:I}", "at",
				  ((json_int_t)(at.line + 1) << COLUMN_BITS) +
					  (column < limit ? column : limit));

	if (place && of)
		json_object_set_new(place, "of", of);
	return place;
}

static int node(struct reading *r, yaml_event_t *event, size_t depth,
		json_t **ret, json_t **place);

struct weight {
	size_t values, levels;
};

/* What an alias' value adds: it is shared, yet a walk over the document visits
 * each value in it. */
static void weigh(json_t *value, size_t level, struct weight *sum)
{
	size_t i;
	const char *key;
	json_t *v;

	sum->values++;
	if (json_is_array(value) || json_is_object(value))
		level++;
	if (level > sum->levels)
		sum->levels = level;
	json_array_foreach(value, i, v) weigh(v, level, sum);
	json_object_foreach(value, key, v) weigh(v, level, sum);
}

static int refuse_depth(struct reading *r, yaml_mark_t at)
{
	return refuse(r, at,
		      "it is nested more than %d levels deep, aliases included",
		      YAML_DEPTH_MAX);
}

static int alias(struct reading *r, const yaml_event_t *event, size_t depth,
		 json_t **ret, json_t **place)
{
	const char *name = (const char *)event->data.alias.anchor;
	json_t *of;

	for (size_t i = r->anchor_count; i-- > 0;) {
		const struct anchor *a = &r->anchors[i];
		struct weight weight = {0};

		if (strcmp(a->name, name) != 0)
			continue;
		weigh(a->value, depth - 1, &weight);
		if (weight.levels > YAML_DEPTH_MAX)
			return refuse_depth(r, event->start_mark);
		r->nodes += weight.values;
		if (r->nodes > YAML_NODES_MAX)
			return refuse(r, event->start_mark,
				      "the document has more than %d values, "
				      "aliases included",
				      YAML_NODES_MAX);
		of = json_object_get(a->place, "of");
		*ret = json_deep_copy(a->value);
		*place = place_new(event->start_mark, json_incref(of));
		return *ret && *place ? 0 : -ENOMEM;
	}
	return refuse(r, event->start_mark, "there is no anchor %.60s before",
		      name);
}

static int remember(struct reading *r, yaml_mark_t at, const char *name,
		    json_t *value, json_t *place)
{
	struct anchor *a;

	if (r->anchor_count == YAML_ANCHORS_MAX)
		return refuse(r, at, "there are more than %d anchors",
			      YAML_ANCHORS_MAX);
	a = &r->anchors[r->anchor_count];
	a->name = strdup(name);
	if (!a->name)
		return -ENOMEM;
	a->value = json_incref(value);
	a->place = json_incref(place);
	r->anchor_count++;
	return 0;
}

static void forget(struct reading *r)
{
	for (size_t i = 0; i < r->anchor_count; i++) {
		free(r->anchors[i].name);
		json_decref(r->anchors[i].value);
		json_decref(r->anchors[i].place);
	}
	r->anchor_count = 0;
}

static int sequence(struct reading *r, size_t depth, json_t *values,
		    json_t *places)
{
	for (;;) {
		json_t *value = NULL, *place = NULL;
		yaml_event_t event;
		int err = next(r, &event);

		if (err)
			return err;
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			return 0;
		}
		err = node(r, &event, depth, &value, &place);
		yaml_event_delete(&event);
		if (!err && (json_array_append(values, value) ||
			     json_array_append(places, place)))
			err = -ENOMEM;
		json_decref(value);
		json_decref(place);
		if (err)
			return err;
	}
}

/* Read the value of a key and store both. */
static int member(struct reading *r, const yaml_event_t *key, size_t depth,
		  json_t *values, json_t *places)
{
	const char *name = (const char *)key->data.scalar.value;
	json_t *value = NULL, *place = NULL, *at_key;
	yaml_event_t event;
	int err;

	if (strlen(name) != key->data.scalar.length || !*name)
		return refuse(r, key->start_mark,
			      "a key is empty or has a NUL");
	if (json_object_get(values, name))
		return refuse(r, key->start_mark, "%.60s is given twice", name);
	err = next(r, &event);
	if (err)
		return err;
	err = node(r, &event, depth, &value, &place);
	yaml_event_delete(&event);
	at_key = err ? NULL
		     : place_new(key->start_mark,
				 json_incref(json_object_get(place, "of")));
	if (!err && (json_object_set(values, name, value) || !at_key ||
		     json_object_set(places, name, at_key)))
		err = refuse(r, key->start_mark, "the key is not UTF-8");
	json_decref(value);
	json_decref(place);
	json_decref(at_key);
	return err;
}

static int mapping(struct reading *r, size_t depth, json_t *values,
		   json_t *places)
{
	for (;;) {
		yaml_event_t key;
		int err = next(r, &key);
		bool end;

		if (err)
			return err;
		end = key.type == YAML_MAPPING_END_EVENT;
		if (!end && (key.type != YAML_SCALAR_EVENT ||
			     key.data.scalar.tag || key.data.scalar.anchor))
			err = refuse(r, key.start_mark, "a key must be a text");
		else if (!end)
			err = member(r, &key, depth, values, places);
		yaml_event_delete(&key);
		if (err || end)
			return err;
	}
}

static int collection(struct reading *r, const yaml_event_t *event,
		      size_t depth, json_t **ret, json_t **place)
{
	bool maps = event->type == YAML_MAPPING_START_EVENT;
	const yaml_char_t *tag = maps ? event->data.mapping_start.tag
				      : event->data.sequence_start.tag;
	json_t *of;
	int err;

	if (tag)
		return refuse(r, event->start_mark, "tags are not supported");
	if (depth > YAML_DEPTH_MAX)
		return refuse_depth(r, event->start_mark);
	*ret = maps ? json_object() : json_array();
	of = maps ? json_object() : json_array();
	*place = place_new(event->start_mark, of);
	if (!*ret || !*place || !of)
		return -ENOMEM;
	err = maps ? mapping(r, depth + 1, *ret, of)
		   : sequence(r, depth + 1, *ret, of);
	return err;
}

/* @param ret, place  set on failure too; the caller releases them */
static int node(struct reading *r, yaml_event_t *event, size_t depth,
		json_t **ret, json_t **place)
{
	const yaml_char_t *anchor = NULL;
	int err;

	if (++r->nodes > YAML_NODES_MAX)
		return refuse(r, event->start_mark,
			      "the document has more than %d values",
			      YAML_NODES_MAX);
	if (event->type == YAML_ALIAS_EVENT)
		return alias(r, event, depth, ret, place);
	if (event->type == YAML_SCALAR_EVENT) {
		anchor = event->data.scalar.anchor;
		err = scalar(r, event, ret);
		if (!err)
			*place = place_new(event->start_mark, NULL);
		if (!err && !*place)
			err = -ENOMEM;
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		anchor = event->data.mapping_start.anchor;
		err = collection(r, event, depth, ret, place);
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		anchor = event->data.sequence_start.anchor;
		err = collection(r, event, depth, ret, place);
	} else {
		return refuse(r, event->start_mark, "a value is missing");
	}
	if (!err && anchor)
		err = remember(r, event->start_mark, (const char *)anchor, *ret,
			       *place);
	return err;
}

/* ---- documents ---- */

static int document(struct reading *r, struct yaml_file *file)
{
	json_t *value = NULL, *place = NULL;
	yaml_event_t event;
	int err;

	if (json_array_size(file->documents) == YAML_DOCUMENTS_MAX)
		return refuse(r, r->parser.mark,
			      "there are more than %d documents",
			      YAML_DOCUMENTS_MAX);
	err = next(r, &event);
	if (err)
		return err;
	err = node(r, &event, 1, &value, &place);
	yaml_event_delete(&event);
	if (!err && (json_array_append(file->documents, value) ||
		     json_array_append(file->places, place)))
		err = -ENOMEM;
	json_decref(value);
	json_decref(place);
	forget(r);
	return err;
}

static int documents(struct reading *r, struct yaml_file *file)
{
	for (;;) {
		yaml_event_t event;
		yaml_event_type_t type;
		int err = next(r, &event);

		if (err)
			return err;
		type = event.type;
		yaml_event_delete(&event);
		if (type == YAML_STREAM_END_EVENT)
			return 0;
		if (type == YAML_DOCUMENT_START_EVENT)
			err = document(r, file);
		if (err)
			return err;
	}
}

int yaml_read(const char *text, size_t len, struct yaml_file *ret,
	      struct yaml_error *error)
{
	struct reading *r = calloc(1, sizeof(*r));
	struct yaml_file file = {json_array(), json_array()};
	int err;

	*error = (struct yaml_error){.place = {.line = 1, .column = 1}};
	if (!r || !file.documents || !file.places ||
	    !yaml_parser_initialize(&r->parser)) {
		err = -ENOMEM;
		goto out;
	}
	r->error = error;
	if (len > YAML_BYTES_MAX) {
		err = refuse(r, (yaml_mark_t){0},
			     "the file is larger than %u MiB",
			     YAML_BYTES_MAX >> 20);
	} else {
		yaml_parser_set_input_string(&r->parser,
					     (const unsigned char *)text, len);
		err = documents(r, &file);
	}
	forget(r);
	yaml_parser_delete(&r->parser);
out:
	free(r);
	if (err)
		yaml_file_release(&file);
	else
		*ret = file;
	return err;
}

void yaml_file_release(struct yaml_file *file)
{
	json_decref(file->documents);
	json_decref(file->places);
	*file = (struct yaml_file){NULL, NULL};
}

/* ---- places ---- */

json_t *yaml_places_in(json_t *places, const char *key, size_t index)
{
	json_t *of = json_object_get(places, "of");

	return key ? json_object_get(of, key) : json_array_get(of, index);
}

struct yaml_place yaml_place_of(json_t *places, const char *pointer)
{
	json_int_t at;

	while (pointer[0] == '/') {
		size_t len = strcspn(pointer + 1, "/");
		json_t *of = json_object_get(places, "of"), *in;
		char key[100];

		if (str_print(key, sizeof(key), "%.*s", (int)len, pointer + 1) <
		    0)
			break;
		in = json_is_array(of)
			     ? json_array_get(of, strtoul(key, NULL, 10))
			     : json_object_get(of, key);
		if (!in)
			break;
		places = in;
		pointer += 1 + len;
	}
	at = json_integer_value(json_object_get(places, "at"));
	return (struct yaml_place){
		.line = (size_t)(at >> COLUMN_BITS),
		.column = (size_t)(at & ((1 << COLUMN_BITS) - 1)),
	};
}
