#include "control/server/judge/sip_text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t line_len(const char *line)
{
	return strcspn(line, "\r\n");
}

static const char *next_line(const char *line)
{
	line += line_len(line);
	if (*line == '\r')
		line++;
	if (*line == '\n')
		line++;
	return line;
}

static struct sip_part word(const char *p)
{
	return (struct sip_part){p, strcspn(p, " \t\r\n")};
}

struct sip_part sip_method(const char *message)
{
	if (strncmp(message, "SIP/2.0 ", 8) == 0)
		return word(message + 8);
	return word(message);
}

/* Find the other form of a name, full or compact (RFC 3261 section 20 and the
 * extensions' RFCs). */
static const char *other_form(const char *name)
{
	static const char *const forms[][2] = {
		{"Call-ID", "i"},
		{"Contact", "m"},
		{"Content-Encoding", "e"},
		{"Content-Length", "l"},
		{"Content-Type", "c"},
		{"From", "f"},
		{"Subject", "s"},
		{"Supported", "k"},
		{"To", "t"},
		{"Via", "v"},
		{"Event", "o"},
		{"Refer-To", "r"},
		{"Referred-By", "b"},
		{"Session-Expires", "x"},
		{"Allow-Events", "u"},
		{"Accept-Contact", "a"},
		{"Reject-Contact", "j"},
		{"Request-Disposition", "d"},
		{"Identity", "y"},
		{"Identity-Info", "n"},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcasecmp(forms[i][0], name) == 0)
			return forms[i][1];
		if (strcasecmp(forms[i][1], name) == 0)
			return forms[i][0];
	}
	return name;
}

static bool named(const char *line, size_t len, const char *name)
{
	size_t n = strlen(name);

	if (!n || len <= n || strncasecmp(line, name, n) != 0)
		return false;
	while (n < len && (line[n] == ' ' || line[n] == '\t'))
		n++;
	return n < len && line[n] == ':';
}

static struct sip_part trimmed(const char *p, size_t len)
{
	while (len && strchr(" \t\r\n", p[0])) {
		p++;
		len--;
	}
	while (len && strchr(" \t\r\n", p[len - 1]))
		len--;
	return (struct sip_part){p, len};
}

bool sip_header(const char *message, const char *name, unsigned nth,
		struct sip_part *ret)
{
	const char *line = next_line(message);
	const char *other = other_form(name);

	while (*line && line_len(line)) {
		const char *end = next_line(line);
		size_t len = line_len(line);

		while (*end == ' ' || *end == '\t') /* folded */
			end = next_line(end);
		if ((named(line, len, name) || named(line, len, other)) &&
		    nth-- == 0) {
			const char *value = strchr(line, ':') + 1;

			*ret = trimmed(value, (size_t)(end - value));
			return true;
		}
		line = end;
	}
	return false;
}

struct sip_part sip_cseq_method(const char *message)
{
	struct sip_part cseq;
	size_t digits;

	if (!sip_header(message, "CSeq", 0, &cseq))
		return (struct sip_part){message, 0};
	digits = strspn(cseq.p, "0123456789");
	digits += strspn(cseq.p + digits, " \t");
	if (digits > cseq.len)
		return (struct sip_part){message, 0};
	return word(cseq.p + digits);
}

static struct sip_part body_of(const char *message)
{
	const char *line = message;

	while (*line && line_len(line))
		line = next_line(line);
	line = next_line(line);
	return (struct sip_part){line, strlen(line)};
}

static bool starts(struct sip_part part, const char *text)
{
	size_t len = strlen(text);

	return part.len >= len && strncasecmp(part.p, text, len) == 0;
}

/* Find the SDP part of a multipart body (RFC 2046 5.1.1); len 0: none. */
static struct sip_part multipart_sdp(struct sip_part body)
{
	static const char type[] = "application/sdp";
	const char *end = body.p + body.len;
	const char *p = memmem(body.p, body.len, "v=0", 3);

	if (!p || !memmem(body.p, (size_t)(p - body.p), type, sizeof(type) - 1))
		return (struct sip_part){body.p, 0};
	body.p = p;
	body.len = (size_t)(end - p);
	p = memmem(body.p, body.len, "\r\n--", 4);
	if (p)
		body.len = (size_t)(p + 2 - body.p);
	return body;
}

struct sip_part sip_sdp(const char *message)
{
	struct sip_part body = body_of(message);
	struct sip_part type;

	if (!sip_header(message, "Content-Type", 0, &type))
		return starts(body, "v=0") ? body : (struct sip_part){0};
	if (starts(type, "multipart/"))
		return multipart_sdp(body);
	if (!starts(type, "application/sdp"))
		body.len = 0;
	return body;
}

char *sip_unfolded(struct sip_part part)
{
	char *text = malloc(part.len + 1);
	size_t used = 0;

	for (size_t i = 0; text && i < part.len; i++) {
		if (!strchr("\r\n", part.p[i])) {
			text[used++] = part.p[i];
			continue;
		}
		while (i + 1 < part.len && strchr(" \t\r\n", part.p[i + 1]))
			i++;
		while (used && strchr(" \t", text[used - 1]))
			used--;
		text[used++] = ' ';
	}
	if (text)
		text[used] = '\0';
	return text;
}

bool sip_part_is(struct sip_part part, const char *text)
{
	return part.len == strlen(text) && memcmp(part.p, text, part.len) == 0;
}
