#include "control/server/request/path.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Length of the sequence at p, 0 if it is broken (RFC 3629 section 4). */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
	size_t len;
	uint32_t code;

	if (p[0] < 0x80)
		return p[0] ? 1 : 0;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		len = 2, code = p[0] & 0x1f;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		len = 3, code = p[0] & 0x0f;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		len = 4, code = p[0] & 0x07;
	else
		return 0;
	if (len > left)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if ((len == 3 && code < 0x800) || (len == 4 && code < 0x10000) ||
	    (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff)
		return 0;
	return len;
}

bool utf8_valid(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;

	while (len > 0) {
		size_t n = utf8_sequence(p, len);

		if (n == 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

int percent_decode(char *text, bool plus)
{
	char *out = text;

	for (const char *in = text; *in; in++) {
		int high, low;

		if (*in == '+' && plus) {
			*out++ = ' ';
			continue;
		}
		if (*in != '%') {
			*out++ = *in;
			continue;
		}
		high = hex_digit(in[1]);
		low = high < 0 ? -1 : hex_digit(in[2]);
		if (low < 0 || (high == 0 && low == 0))
			return -EILSEQ;
		*out++ = (char)(high << 4 | low);
		in += 2;
	}
	*out = '\0';
	if (!utf8_valid(text, (size_t)(out - text)))
		return -EILSEQ;
	return (int)(out - text);
}

int path_split(struct path *p, const char *raw)
{
	size_t len = strlen(raw);
	char *at = p->text;

	p->count = 0;
	if (len >= sizeof(p->text))
		return -ENAMETOOLONG;
	memcpy(p->text, raw, len + 1);
	while (*at) {
		char *end;
		bool last;

		if (*at == '/')
			at++;
		if (*at == '\0')
			break;
		end = strchrnul(at, '/');
		last = *end == '\0';
		*end = '\0';
		if (p->count == PATH_ELEMENTS_MAX)
			return -ENAMETOOLONG;
		if (percent_decode(at, false) < 0)
			return -EILSEQ;
		p->elements[p->count++] = at;
		at = last ? end : end + 1;
		if (!last && *at == '/') /* an empty element matches nothing */
			return -ENAMETOOLONG;
	}
	return 0;
}
