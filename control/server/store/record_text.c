#include "control/server/store/record_text.h"

#include "base/clock.h"
#include "control/wire/json_text.h"

#include <errno.h>
#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Longest text of an int64_t, with its sign. */
#define NUMBER_BYTES 24

/* Write the digits at the end of the buffer. @return the first one */
static char *integer_text(char text[static NUMBER_BYTES], int64_t value)
{
	char *c = text + NUMBER_BYTES;
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do {
		*--c = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (value < 0)
		*--c = '-';
	return c;
}

/* Source: RFC 8259 section 7 */
static int add_escape(struct buf *b, unsigned char c)
{
	static const char names[] = "\bb\ff\nn\rr\tt\"\"\\\\";
	char text[8];

	for (size_t i = 0; c && i + 1 < sizeof(names); i += 2) {
		if ((unsigned char)names[i] == c) {
			text[0] = '\\';
			text[1] = names[i + 1];
			return buf_add(b, text, 2);
		}
	}
	snprintf(text, sizeof(text), "\\u%04x", c);
	return buf_add(b, text, 6);
}

/* Test eight bytes at a time: the highest bit of each byte is set if it must be
 * escaped. Borrows of the subtractions may set too many bits, never too few. */
static bool needs_escape(const char *text, size_t len)
{
	const uint64_t ones = 0x0101010101010101, high = ones << 7;
	uint64_t word, found = 0;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		found |= (word - 0x20 * ones) & ~word;
		found |= ((word ^ '"' * ones) - ones) & ~(word ^ '"' * ones);
		found |= ((word ^ '\\' * ones) - ones) & ~(word ^ '\\' * ones);
	}
	for (; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == '"' || c == '\\')
			return true;
	}
	return (found & high) != 0;
}

static int add_escaped(struct buf *b, const char *text, size_t len)
{
	size_t start = 0;
	int err = 0;

	for (size_t i = 0; i < len && err == 0; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		err = buf_add(b, text + start, i - start);
		if (err == 0)
			err = add_escape(b, c);
		start = i + 1;
	}
	return err ? err : buf_add(b, text + start, len - start);
}

/* Append bracket or comma, the member's name, and its value. */
static int add_member(struct buf *b, char first, const char *name,
		      const char *value, size_t len)
{
	const size_t name_len = strlen(name);
	char *to;
	int err = buf_extend(b, name_len + len + 4, &to);

	if (err)
		return err;
	*to++ = first;
	*to++ = '"';
	memcpy(to, name, name_len);
	to += name_len;
	*to++ = '"';
	*to++ = ':';
	memcpy(to, value, len);
	return 0;
}

/* Stored texts were received as JSON: they are UTF-8. */
static int add_string(struct buf *b, char first, const char *name,
		      const char *text, size_t len)
{
	char *to;
	int err = add_member(b, first, name, "\"", 1);

	if (err)
		return err;
	if (needs_escape(text, len)) {
		err = add_escaped(b, text, len);
		return err ? err : buf_add(b, "\"", 1);
	}
	err = buf_extend(b, len + 1, &to);
	if (err)
		return err;
	memcpy(to, text, len);
	to[len] = '"';
	return 0;
}

/* Append a real number as other answers have it (JSON_DECIMAL). */
static int add_real(struct buf *b, char first, const char *name,
		    const struct db_value *v)
{
	char text[JSON_REAL_BYTES];
	size_t len = json_real_text(text, db_number(v), DBL_DIG);

	return add_member(b, first, name, text, len);
}

static int add_integer(struct buf *b, char first, const char *name,
		       int64_t value)
{
	char text[NUMBER_BYTES], *c = integer_text(text, value);

	return add_member(b, first, name, c, (size_t)(text + NUMBER_BYTES - c));
}

static int add_time(struct buf *b, char first, const char *name, int64_t ms)
{
	char text[CLOCK_TEXT_BYTES + 2];

	clock_format_ms(text + 1, ms);
	text[0] = text[CLOCK_TEXT_BYTES] = '"';
	return add_member(b, first, name, text, CLOCK_TEXT_BYTES + 1);
}

static int add_value(struct buf *b, char first, const struct column *c,
		     const struct db_value *v)
{
	if (v->type == DB_NULL)
		return add_member(b, first, c->name, "null", 4);
	switch (c->kind) {
	case COLUMN_INT:
		return add_integer(b, first, c->name, v->integer);
	case COLUMN_REAL:
		return add_real(b, first, c->name, v);
	case COLUMN_TEXT:
		return v->type == DB_TEXT
			       ? add_string(b, first, c->name, v->bytes, v->len)
			       : -EIO;
	case COLUMN_JSON: /* the stored document, unchanged */
		return v->type == DB_TEXT
			       ? add_member(b, first, c->name, v->bytes, v->len)
			       : -EIO;
	case COLUMN_TIME:
		return add_time(b, first, c->name, v->integer);
	case COLUMN_HASHED:
	default:
		return -EIO;
	}
}

int record_text_row(struct buf *text, const struct table *t,
		    const struct db_value *row, size_t columns)
{
	char first = '{';
	size_t at = 0;

	for (size_t i = 0; i < t->column_count && at < columns; i++) {
		const struct column *c = &t->columns[i];
		int err;

		if (!c->sql)
			continue;
		err = add_value(text, first, c, &row[at++]);
		if (err)
			return err;
		first = ',';
	}
	return buf_add(text, "}", 1);
}
