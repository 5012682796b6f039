#include "control/render/document.h"

#include "base/buf.h"
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static void put(struct document *d, const char *data, size_t len)
{
	if (!d->err)
		d->err = buf_add(d->out, data, len);
}

void document_put(struct document *d, const char *markup)
{
	put(d, markup, strlen(markup));
}

void document_print(struct document *d, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int len;

	if (d->err)
		return;
	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0) {
		d->err = -ENOMEM;
		return;
	}
	put(d, text, (size_t)len);
	free(text);
}

/* One character of a text from outside. */
struct character {
	const char *bytes;
	size_t len;   /* of bytes */
	size_t taken; /* of the text */
};

/* Source: XML 1.0 (fifth edition) section 2.2: #x9, #xA, #xD, from #x20 on, but
 * no surrogates (no UTF-8 has them), #xFFFE and #xFFFF. DEL and the C1 controls
 * are allowed there, and discouraged. */
static bool allowed(const char *bytes, size_t len)
{
	unsigned char c = (unsigned char)bytes[0];

	if (len == 1)
		return (c >= 0x20 && c != 0x7f) || c == '\t' || c == '\n' ||
		       c == '\r';
	if (len == 2)
		return c != 0xc2 || (unsigned char)bytes[1] >= 0xa0;
	return len != 3 || (memcmp(bytes, "\xef\xbf\xbe", 3) != 0 &&
			    memcmp(bytes, "\xef\xbf\xbf", 3) != 0);
}

static struct character next(const char *text, size_t size)
{
	size_t len = str_utf8_len(text, size);

	if (len > 0 && allowed(text, len))
		return (struct character){text, len, len};
	return (struct character){REPLACEMENT, strlen(REPLACEMENT),
				  len ? len : 1};
}

static const char *xml_escape(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case '\r': /* a parser would make a line feed of it */
		return "";
	default:
		return NULL;
	}
}

void document_xml(struct document *d, const char *text, size_t max_bytes)
{
	size_t size = strlen(text), at = 0;

	while (at < size && !d->err) {
		struct character c = next(text + at, size - at);
		const char *escaped = c.len == 1 ? xml_escape(*c.bytes) : NULL;

		if (at + c.taken > max_bytes) {
			document_put(d, "...");
			break;
		}
		if (escaped)
			document_put(d, escaped);
		else
			put(d, c.bytes, c.len);
		at += c.taken;
	}
}

/* Source: GitHub Flavored Markdown 0.29, 6.1 backslash escapes, 6.2 entities.
 * A colon or the period of "www." that is escaped begins no link (6.9). `@` and
 * `#` name users and issues: the empty comment behind them ends the name. */
static const char *markdown_escape(const char *text, size_t at)
{
	switch (text[at]) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case ':':
		return "&#58;";
	case '\n':
	case '\t':
		return " ";
	case '\r':
		return "";
	case '\\':
	case '`':
	case '*':
	case '_':
	case '[':
	case ']':
	case '|':
	case '~':
	case '!':
	case '#':
	case '@':
	case '$':
		return "\\";
	case '.':
		return at > 0 && (text[at - 1] | 0x20) == 'w' ? "\\" : NULL;
	default:
		return NULL;
	}
}

void document_markdown(struct document *d, const char *text, size_t max_bytes)
{
	size_t size = strlen(text), at = 0;

	while (at < size && !d->err) {
		struct character c = next(text + at, size - at);
		const char *escaped = c.len == 1 && c.bytes == text + at
					      ? markdown_escape(text, at)
					      : NULL;

		if (at + c.taken > max_bytes) {
			document_put(d, "...");
			break;
		}
		if (escaped)
			document_put(d, escaped);
		if (!escaped || strcmp(escaped, "\\") == 0)
			put(d, c.bytes, c.len);
		if (c.len == 1 && (*c.bytes == '@' || *c.bytes == '#'))
			document_put(d, "<!-- -->");
		at += c.taken;
	}
}
