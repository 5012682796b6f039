#include "control/wire/writer.h"

#include "base/str.h"
#include "control/wire/json.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void writer_init(struct writer *w, struct buf *buf)
{
	*w = (struct writer){.buf = buf};
}

void writer_init_decimal(struct writer *w, struct buf *buf)
{
	*w = (struct writer){.buf = buf, .decimal = true};
}

static void raw(struct writer *w, const char *text, size_t len)
{
	if (!w->err)
		w->err = buf_add(w->buf, text, len);
}

/**
 * Append the comma before a value and the member's name.
 * @param more  bytes to reserve for the value
 * @return where the caller writes the value; NULL: w->err is set
 */
static char *begin(struct writer *w, const char *name, size_t more)
{
	size_t len = name ? strlen(name) : 0;
	char *p = NULL;

	if (!w->err)
		w->err = buf_extend(
			w->buf,
			(w->follows ? 1 : 0) + (name ? len + 3 : 0) + more, &p);
	if (w->err)
		return NULL;
	if (w->follows)
		*p++ = ',';
	w->follows = true;
	if (name) {
		*p++ = '"';
		memcpy(p, name, len);
		p += len;
		*p++ = '"';
		*p++ = ':';
	}
	return p;
}

/* A value that needs no escaping. */
static void value(struct writer *w, const char *name, const char *text,
		  size_t len)
{
	char *p = begin(w, name, len);

	if (p && len > 0)
		memcpy(p, text, len);
}

void writer_open(struct writer *w, const char *name, char bracket)
{
	value(w, name, &bracket, 1);
	w->follows = false;
}

void writer_close(struct writer *w, char bracket)
{
	raw(w, &bracket, 1);
	w->follows = true;
}

/* RFC 8259 section 7. */
static void escape(struct writer *w, unsigned char c)
{
	static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	char text[8];

	for (size_t i = 0; i < sizeof(letters) - 1; i += 2) {
		if (letters[i] == (char)c) {
			text[0] = '\\';
			text[1] = letters[i + 1];
			raw(w, text, 2);
			return;
		}
	}
	snprintf(text, sizeof(text), "\\u%04X", c);
	raw(w, text, 6);
}

/* @return a byte of eight is no ASCII, a control character, a quotation mark or
 * a backslash (the tests for a zero byte, and for one below 32, in each byte) */
static bool some_special(const char *text)
{
	const uint64_t ones = 0x0101010101010101, high = ones << 7;
	uint64_t bytes, quote, slash;

	memcpy(&bytes, text, sizeof(bytes));
	quote = bytes ^ (ones * '"');
	slash = bytes ^ (ones * '\\');
	return (bytes | (bytes - ones * 0x20) | (quote - ones) |
		(slash - ones)) &
	       high;
}

/* @return count of bytes at the start of text that need no escaping */
static size_t plain(const char *text, size_t len)
{
	size_t i = 0;
	size_t n;

	while (i < len) {
		if (len - i >= 8 && !some_special(text + i)) {
			i += 8;
			continue;
		}
		unsigned char c = (unsigned char)text[i];

		n = c < 0x80 ? 1 : str_utf8_len(text + i, len - i);
		if (n == 0 || c < 0x20 || c == '"' || c == '\\')
			break;
		i += n;
	}
	return i;
}

void writer_text_n(struct writer *w, const char *name, const char *text,
		   size_t len)
{
	size_t n = plain(text, len);
	char *p = begin(w, name, n + (n == len ? 2 : 1));

	if (!p)
		return;
	*p++ = '"';
	memcpy(p, text, n);
	if (n == len) {
		p[n] = '"';
		return;
	}
	while (n < len) {
		unsigned char c = (unsigned char)text[n++];
		size_t run = plain(text + n, len - n);

		if (c < 0x80)
			escape(w, c);
		else
			raw(w, "?", 1);
		raw(w, text + n, run);
		n += run;
	}
	raw(w, "\"", 1);
}

void writer_text(struct writer *w, const char *name, const char *text)
{
	if (text)
		writer_text_n(w, name, text, strlen(text));
}

void writer_integer(struct writer *w, const char *name, int64_t integer)
{
	char text[1 + STR_DECIMAL_BYTES] = "-";
	bool minus = integer < 0;
	size_t len;

	str_decimal(text + 1,
		    minus ? 0 - (uint64_t)integer : (uint64_t)integer);
	len = strlen(text);
	value(w, name, minus ? text : text + 1, minus ? len : len - 1);
}

void writer_real(struct writer *w, const char *name, double real)
{
	char text[JSON_REAL_BYTES];

	if (!isfinite(real)) {
		if (!w->err)
			w->err = -EINVAL;
		return;
	}
	value(w, name, text,
	      json_real_text(text, real,
			     w->decimal ? DBL_DIG : DBL_DECIMAL_DIG));
}

void writer_bool(struct writer *w, const char *name, bool truth)
{
	value(w, name, truth ? "true" : "false", truth ? 4 : 5);
}

static int dumped(const char *text, size_t len, void *arg)
{
	struct writer *w = arg;

	raw(w, text, len);
	return w->err ? -1 : 0;
}

void writer_json(struct writer *w, const char *name, const json_t *tree)
{
	const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY |
			     (w->decimal ? JSON_DECIMAL : JSON_EXACT);

	value(w, name, "", 0);
	if (!w->err && json_dump_callback(tree, dumped, w, flags) && !w->err)
		w->err = -ENOMEM;
}

void writer_value(struct writer *w, const char *name, struct json_text text)
{
	if (!w->decimal) {
		value(w, name, text.at, text.len);
		return;
	}
	value(w, name, "", 0);
	if (!w->err)
		w->err = json_text_decimal(w->buf, text);
}

void writer_raw(struct writer *w, const char *text, size_t len)
{
	if (len > 0)
		value(w, NULL, text, len);
}
