#include "control/wire/decode.h"

#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

void decoder_init(struct decoder *d, struct arena *arena,
		  char reason[static WIRE_REASON_BYTES])
{
	*d = (struct decoder){.arena = arena, .reason = reason};
	reason[0] = '\0';
}

size_t decoder_enter(struct decoder *d, const char *fmt, ...)
{
	size_t mark = d->at_used;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(d->at + mark, sizeof(d->at) - mark, fmt, args);
	va_end(args);
	if (len > 0)
		d->at_used += (size_t)len;
	if (d->at_used >= sizeof(d->at))
		d->at_used = sizeof(d->at) - 1;
	return mark;
}

void decoder_leave(struct decoder *d, size_t mark)
{
	d->at_used = mark;
	d->at[mark] = '\0';
}

__attribute__((format(printf, 2, 0))) static void refuse(struct decoder *d,
							 const char *fmt,
							 va_list args)
{
	int len = snprintf(d->reason, WIRE_REASON_BYTES,
			   "%s: ", d->at_used ? d->at : "/");

	if (len < 0 || len >= WIRE_REASON_BYTES)
		return;
	vsnprintf(d->reason + len, (size_t)(WIRE_REASON_BYTES - len), fmt,
		  args);
}

int decoder_refuse(struct decoder *d, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	refuse(d, fmt, args);
	va_end(args);
	return -EINVAL;
}

int decoder_refuse_member(struct decoder *d, const char *name, const char *fmt,
			  ...)
{
	size_t mark = decoder_enter(d, "/%s", name);
	va_list args;

	va_start(args, fmt);
	refuse(d, fmt, args);
	va_end(args);
	decoder_leave(d, mark);
	return -EINVAL;
}

/** @return the member, NULL if absent or null */
static json_t *member(json_t *object, const char *name)
{
	json_t *value = json_object_get(object, name);

	return json_is_null(value) ? NULL : value;
}

bool decode_text_allowed(enum text_rule rule, const char *text)
{
	if (rule == TEXT_ANY)
		return true;
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			return false;
		if (rule == TEXT_WORD && strchr(" \"<>,;", c))
			return false;
	}
	return true;
}

int decode_text(struct decoder *d, json_t *object, const char *name,
		enum text_rule rule, size_t max, const char **ret)
{
	json_t *value = member(object, name);
	const char *text;
	char *copy;

	if (!value)
		return 0;
	if (!json_is_string(value))
		return decoder_refuse_member(d, name, "must be a string");
	text = json_string_value(value);
	if (text[0] == '\0')
		return decoder_refuse_member(d, name, "must not be empty");
	if (strlen(text) > max)
		return decoder_refuse_member(d, name,
					     "is longer than %zu bytes", max);
	if (!decode_text_allowed(rule, text))
		return decoder_refuse_member(
			d, name, "holds a character that is not allowed");
	copy = arena_text(d->arena, text);
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

int decode_u32(struct decoder *d, json_t *object, const char *name,
	       uint32_t min, uint32_t max, uint32_t *ret)
{
	json_t *value = member(object, name);
	uint64_t number = 0;
	bool valid = false;

	if (!value)
		return 0;
	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		number = (uint64_t)json_integer_value(value);
		valid = true;
	} else if (json_is_string(value)) {
		valid = !str_to_u64(json_string_value(value), UINT64_MAX,
				    &number);
	}
	if (!valid || number < min || number > max)
		return decoder_refuse_member(
			d, name, "must be a whole number from %u to %u", min,
			max);
	*ret = (uint32_t)number;
	return 0;
}

int decode_u16(struct decoder *d, json_t *object, const char *name,
	       uint16_t min, uint16_t max, uint16_t *ret)
{
	uint32_t value = *ret;
	int err = decode_u32(d, object, name, min, max, &value);

	if (!err)
		*ret = (uint16_t)value;
	return err;
}

int decode_double(struct decoder *d, json_t *object, const char *name,
		  double min, double max, double *ret)
{
	json_t *value = member(object, name);
	double number = 0;
	bool valid = false;

	if (!value)
		return 0;
	if (json_is_number(value)) {
		number = json_number_value(value);
		valid = true;
	} else if (json_is_string(value)) {
		valid = !str_to_double(json_string_value(value), &number);
	}
	if (!valid || !(number >= min && number <= max))
		return decoder_refuse_member(
			d, name, "must be a number from %g to %g", min, max);
	*ret = number;
	return 0;
}

int decode_bool(struct decoder *d, json_t *object, const char *name, bool *ret)
{
	static const char *const words[] = {"0", "1", "false", "true", NULL};
	json_t *value = member(object, name);
	size_t i;

	if (!value)
		return 0;
	if (json_is_boolean(value))
		*ret = json_is_true(value);
	else if (json_is_integer(value) && json_integer_value(value) >= 0 &&
		 json_integer_value(value) <= 1)
		*ret = json_integer_value(value) == 1;
	else if (json_is_string(value) &&
		 decode_word(words, json_string_value(value), &i))
		*ret = i % 2 == 1;
	else
		return decoder_refuse_member(d, name, "must be true or false");
	return 0;
}

int decode_array(struct decoder *d, json_t *object, const char *name,
		 size_t max, json_t **ret)
{
	json_t *value = member(object, name);

	*ret = NULL;
	if (!value)
		return 0;
	if (!json_is_array(value))
		return decoder_refuse_member(d, name, "must be an array");
	if (json_array_size(value) > max)
		return decoder_refuse_member(d, name,
					     "has more than %zu entries", max);
	*ret = value;
	return 0;
}

void *decode_items(struct decoder *d, json_t *array, const char *place,
		   size_t size,
		   int (*item_h)(struct decoder *d, json_t *entry, void *item),
		   int *ret_err)
{
	size_t count = json_array_size(array);
	char *list = arena_alloc(d->arena, count, size);
	int err = list ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++) {
		size_t mark = decoder_enter(d, "%s/%zu", place, i);

		err = item_h(d, json_array_get(array, i), list + i * size);
		if (!err)
			decoder_leave(d, mark);
	}
	if (err)
		*ret_err = err;
	return err ? NULL : list;
}

bool decode_word(const char *const *words, const char *text, size_t *ret)
{
	for (size_t i = 0; words[i]; i++) {
		if (strcasecmp(words[i], text) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}
