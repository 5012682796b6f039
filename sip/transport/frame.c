#include "sip/transport/frame.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

static bool name_is(const char *line, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	return len >= name_len && strncasecmp(line, name, name_len) == 0;
}

/* Read "Content-Length : 12" or "l: 12". @return 1 found; 0 another header;
 * -EBADMSG */
static int length_read(const char *line, size_t len, size_t *ret)
{
	size_t pos = name_is(line, len, "Content-Length") ? 14
		     : name_is(line, len, "l")            ? 1
							  : 0;
	size_t value = 0;
	size_t digits = 0;

	if (pos == 0)
		return 0;
	while (pos < len && (line[pos] == ' ' || line[pos] == '\t'))
		pos++;
	if (pos == len || line[pos] != ':')
		return 0;
	pos++;
	while (pos < len && (line[pos] == ' ' || line[pos] == '\t'))
		pos++;
	for (; pos < len && line[pos] >= '0' && line[pos] <= '9'; pos++) {
		if (++digits > 9)
			return -EBADMSG;
		value = value * 10 + (size_t)(line[pos] - '0');
	}
	while (pos < len && (line[pos] == ' ' || line[pos] == '\t'))
		pos++;
	if (digits == 0 || pos != len)
		return -EBADMSG;
	*ret = value;
	return 1;
}

int frame_find(const uint8_t *data, size_t len, size_t *ret_len)
{
	const char *text = (const char *)data;
	const char *end = memmem(text, len, "\r\n\r\n", 4);
	size_t body = 0;
	bool said = false;

	if (!end && len >= FRAME_BYTES_MAX)
		return -EMSGSIZE;
	if (!end) {
		*ret_len = len + 1;
		return -EAGAIN;
	}
	for (const char *line = text; line < end;) {
		size_t left = (size_t)(end - line);
		const char *stop = memmem(line, left, "\r\n", 2);
		size_t line_len = stop ? (size_t)(stop - line) : left;
		size_t length = 0;
		int found = length_read(line, line_len, &length);

		if (found < 0 || (found && said && length != body))
			return -EBADMSG;
		if (found) {
			body = length;
			said = true;
		}
		line += line_len + 2;
	}
	if (!said)
		return -EBADMSG;
	body += (size_t)(end - text) + 4;
	if (body > FRAME_BYTES_MAX)
		return -EMSGSIZE;
	*ret_len = body;
	return body > len ? -EAGAIN : 0;
}
