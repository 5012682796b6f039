#include "control/wire/json_text.h"

#include "base/buf.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tokens up to this length have at most 15 digits. */
#define SHORT_NUMBER_BYTES 15

/* ---- pieces ---- */

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && is_space(*p))
		p++;
	return p;
}

/* @param p  behind the opening quotation mark */
static const char *skip_string(const char *p, const char *end)
{
	while (p < end && *p != '"') {
		if (*p == '\\' && end - p > 1)
			p++;
		p++;
	}
	return p < end ? p + 1 : end;
}

static const char *skip_number_or_word(const char *p, const char *end)
{
	while (p < end && !is_space(*p) && *p != ',' && *p != ']' && *p != '}')
		p++;
	return p;
}

/* Skip an object or array, including its closing bracket. */
static const char *skip_nested(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end) {
		char c = *p++;

		if (c == '"')
			p = skip_string(p, end);
		else if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return p;
	}
	return end;
}

static const char *skip_value(const char *p, const char *end)
{
	if (p < end && *p == '"')
		return skip_string(p + 1, end);
	if (p < end && (*p == '{' || *p == '['))
		return skip_nested(p, end);
	return skip_number_or_word(p, end);
}

int json_text_pair(struct json_text *object, struct json_text *name,
		   struct json_text *value)
{
	const char *end = object->at + object->len;
	const char *p = skip_space(object->at, end);
	const char *start;

	/* The object begins with its bracket; the rest left by an earlier call
	 * begins with the comma before the next member. */
	if (p < end && (*p == '{' || *p == ','))
		p = skip_space(p + 1, end);
	else if (p == end || *p != '}')
		return -EINVAL;
	if (p < end && *p == '}')
		return 0;
	if (p == end || *p++ != '"')
		return -EINVAL;
	start = p;
	p = skip_string(p, end);
	if (p - 1 < start)
		return -EINVAL;
	*name = (struct json_text){start, (size_t)(p - 1 - start)};
	p = skip_space(p, end);
	if (p == end || *p++ != ':')
		return -EINVAL;
	start = skip_space(p, end);
	p = skip_value(start, end);
	*value = (struct json_text){start, (size_t)(p - start)};
	p = skip_space(p, end);
	*object = (struct json_text){p, (size_t)(end - p)};
	return 1;
}

bool json_text_is(struct json_text text, const char *is)
{
	return text.len == strlen(is) && memcmp(text.at, is, text.len) == 0;
}

int json_text_member(struct json_text object, const char *name,
		     struct json_text *ret)
{
	struct json_text key, value;
	int found;

	while ((found = json_text_pair(&object, &key, &value)) == 1) {
		if (memchr(key.at, '\\', key.len))
			return -EINVAL;
		if (json_text_is(key, name)) {
			*ret = value;
			return 1;
		}
	}
	return found;
}

int json_text_item(struct json_text *array, struct json_text *ret)
{
	const char *end = array->at + array->len;
	const char *p = skip_space(array->at, end);
	const char *item_end;

	/* The array begins with its bracket; the rest left by an earlier call
	 * begins with the comma before the next item. */
	if (p == end || (*p != '[' && *p != ','))
		return 0;
	p = skip_space(p + 1, end);
	item_end = skip_value(p, end);
	if (item_end == p)
		return 0;
	*ret = (struct json_text){p, (size_t)(item_end - p)};
	item_end = skip_space(item_end, end);
	*array = (struct json_text){item_end, (size_t)(end - item_end)};
	return 1;
}

/* ---- numbers ---- */

/* jansson prints no '+' and no leading zeros in an exponent. */
static void shorten_exponent(char *exponent)
{
	char *digits = exponent + 1; /* skips the sign that printf() prints */

	if (*exponent == '-')
		exponent++;
	while (*digits == '0')
		digits++;
	memmove(exponent, digits, strlen(digits) + 1);
}

/* 10^exponent, exponent 0..19 */
static uint64_t power_of_ten(int exponent)
{
	uint64_t power = 1;

	while (exponent-- > 0)
		power *= 10;
	return power;
}

/*
 * Print 0.001 <= value < 10^14 as printf("%.*g") does, at a tenth of its cost.
 * The value is m / 2^shift; m * 10^places is below 2^53 * 10^19 < 2^117, so that
 * the division is exact and the remainder decides how it is rounded.
 */
static size_t fixed_point_text(char *dst, double value, int digits)
{
	static const double powers[] = {
		1e-2, 1e-1, 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,
		1e6,  1e7,  1e8, 1e9, 1e10, 1e11, 1e12, 1e13,
	};
	const size_t count = sizeof(powers) / sizeof(powers[0]);
	int exponent;
	uint64_t m = (uint64_t)ldexp(frexp(value, &exponent), DBL_MANT_DIG);
	int shift = DBL_MANT_DIG - exponent; /* 6..62 */
	int places = digits + 2;             /* behind the point */
	unsigned __int128 scaled;
	uint64_t left, rest, half;
	char text[JSON_REAL_BYTES];
	char *p = text + sizeof(text);

	for (size_t i = 0; i < count && value >= powers[i]; i++)
		places--;
	scaled = (unsigned __int128)m * power_of_ten(places);
	left = (uint64_t)(scaled >> shift);
	rest = (uint64_t)scaled & ((UINT64_C(1) << shift) - 1);
	half = UINT64_C(1) << (shift - 1);
	if (rest > half || (rest == half && left % 2))
		left++; /* to even, IEEE 754 section 4.3.1 */
	while (places > 1 && left % 10 == 0) {
		left /= 10;
		places--;
	}
	for (; places > 0; places--, left /= 10)
		*--p = (char)('0' + left % 10);
	*--p = '.';
	do {
		*--p = (char)('0' + left % 10);
		left /= 10;
	} while (left > 0);
	places = (int)(text + sizeof(text) - p);
	memcpy(dst, p, (size_t)places);
	dst[places] = '\0';
	return (size_t)places;
}

size_t json_real_text(char dst[static JSON_REAL_BYTES], double value,
		      int digits)
{
	char *exponent;
	int len;

	if (value >= 0.001 && value < 1e14 && digits >= DBL_DIG)
		return fixed_point_text(dst, value, digits);
	len = snprintf(dst, JSON_REAL_BYTES, "%.*g", digits, value);
	exponent = strchr(dst, 'e');
	if (exponent)
		shorten_exponent(exponent + 1);
	else if (!strchr(dst, '.')) /* keep it a real for the reader */
		memcpy(dst + len, ".0", sizeof(".0"));
	return strlen(dst);
}

/* Shorten real numbers only: integers of any length are exact. */
static int add_number(struct buf *b, const char *text, size_t len)
{
	char number[JSON_REAL_BYTES];
	char *copy;

	if (len <= SHORT_NUMBER_BYTES ||
	    (!memchr(text, '.', len) && !memchr(text, 'e', len) &&
	     !memchr(text, 'E', len)))
		return buf_add(b, text, len);
	copy = strndup(text, len); /* strtod() needs a terminator */
	if (!copy)
		return -ENOMEM;
	len = json_real_text(number, strtod(copy, NULL), DBL_DIG);
	free(copy);
	return buf_add(b, number, len);
}

int json_text_decimal(struct buf *b, struct json_text value)
{
	const char *end = value.at + value.len;
	const char *from = value.at; /* copied up to here */
	const char *p = from;
	int err = 0;

	while (p < end && !err) {
		const char *token = p++;

		if (*token == '"') {
			p = skip_string(p, end);
		} else if (*token == '-' || (*token >= '0' && *token <= '9')) {
			p = skip_number_or_word(p, end);
			err = buf_add(b, from, (size_t)(token - from));
			if (!err)
				err = add_number(b, token, (size_t)(p - token));
			from = p;
		}
	}
	return err ? err : buf_add(b, from, (size_t)(end - from));
}
