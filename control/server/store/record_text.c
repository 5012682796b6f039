#include "control/server/store/record_text.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Text of an int64_t with its sign. */
#define NUMBER_BYTES 24

static int add_text(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

static int add_integer(struct buf *b, int64_t value)
{
	char text[NUMBER_BYTES], *c = text + sizeof(text);
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do {
		*--c = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (value < 0)
		*--c = '-';
	return buf_add(b, c, (size_t)(text + sizeof(text) - c));
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

/* What is stored came in as JSON: it is UTF-8. */
static int add_string(struct buf *b, const char *text, size_t len)
{
	size_t start = 0;
	int err = buf_add(b, "\"", 1);

	for (size_t i = 0; i < len && err == 0; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		err = buf_add(b, text + start, i - start);
		if (err == 0)
			err = add_escape(b, c);
		start = i + 1;
	}
	if (err == 0)
		err = buf_add(b, text + start, len - start);
	return err ? err : buf_add(b, "\"", 1);
}

/* As jansson prints them: a real is no integer to the reader. */
static int add_real(struct buf *b, const struct db_value *v)
{
	double value = v->type == DB_INT ? (double)v->integer : v->real;
	char text[40];

	snprintf(text, sizeof(text), "%.17g", value);
	if (!strpbrk(text, ".eE"))
		strcat(text, ".0");
	return add_text(b, text);
}

static int add_time(struct buf *b, int64_t ms)
{
	char text[CLOCK_TEXT_BYTES];
	int err = buf_add(b, "\"", 1);

	clock_format(text, ms * NS_PER_MS);
	if (err == 0)
		err = add_text(b, text);
	return err ? err : buf_add(b, "\"", 1);
}

static int add_value(struct buf *b, const struct column *c,
		     const struct db_value *v)
{
	if (v->type == DB_NULL)
		return buf_add(b, "null", 4);
	switch (c->kind) {
	case COLUMN_INT:
		return add_integer(b, v->integer);
	case COLUMN_REAL:
		return add_real(b, v);
	case COLUMN_TEXT:
		return v->type == DB_TEXT ? add_string(b, v->bytes, v->len)
					  : -EIO;
	case COLUMN_JSON: /* a document as it is */
		return v->type == DB_TEXT ? buf_add(b, v->bytes, v->len) : -EIO;
	case COLUMN_TIME:
		return add_time(b, v->integer);
	case COLUMN_HASHED:
	default:
		return -EIO;
	}
}

int record_text_row(struct buf *text, const struct table *t,
		    const struct db_value *row, size_t columns)
{
	const char *separator = "{\"";
	size_t at = 0;
	int err = 0;

	for (size_t i = 0; i < t->column_count && at < columns; i++) {
		const struct column *c = &t->columns[i];

		if (c->kind == COLUMN_HASHED)
			continue;
		err = add_text(text, separator);
		if (err == 0)
			err = add_text(text, c->name);
		if (err == 0)
			err = buf_add(text, "\":", 2);
		if (err == 0)
			err = add_value(text, c, &row[at++]);
		if (err)
			return err;
		separator = ",\"";
	}
	return buf_add(text, "}", 1);
}
