#include "sip/body/multipart.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define BOUNDARY_MAX 70 /* RFC 2046 5.1.1 */

/* Iterates over the parts of a multipart body. */
struct parts {
	struct multipart_text text;
	struct multipart_text boundary;
	size_t pos; /* after the delimiter line of the next part */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct multipart_text trim(const char *p, size_t len)
{
	while (len > 0 && is_blank(*p)) {
		p++;
		len--;
	}
	while (len > 0 && is_blank(p[len - 1]))
		len--;
	return (struct multipart_text){p, len};
}

static bool text_is(struct multipart_text text, const char *word)
{
	return text.len == strlen(word) &&
	       strncasecmp(text.p, word, text.len) == 0;
}

/* Up to the next ';' that is not quoted. */
static size_t segment_length(const char *p, size_t len)
{
	bool quoted = false;
	size_t i;

	for (i = 0; i < len && (quoted || p[i] != ';'); i++) {
		if (p[i] == '\\' && quoted && i + 1 < len)
			i++;
		else if (p[i] == '"')
			quoted = !quoted;
	}
	return i;
}

/* "mixed" of "multipart/mixed;boundary=x" is before the first ';'. */
static struct multipart_text value_of(struct multipart_text field)
{
	if (!field.p)
		return field;
	return trim(field.p, segment_length(field.p, field.len));
}

/* A parameter of a header field, without quotes. p NULL: there is none */
static struct multipart_text param_of(struct multipart_text field,
				      const char *name)
{
	size_t pos = field.p ? segment_length(field.p, field.len) : field.len;

	while (pos < field.len) {
		const char *p = field.p + pos + 1;
		size_t len = segment_length(p, field.len - pos - 1);
		const char *equals = memchr(p, '=', len);

		pos += 1 + len;
		if (equals && text_is(trim(p, (size_t)(equals - p)), name)) {
			struct multipart_text value = trim(
				equals + 1, len - (size_t)(equals + 1 - p));

			if (value.len >= 2 && value.p[0] == '"' &&
			    value.p[value.len - 1] == '"')
				return (struct multipart_text){value.p + 1,
							       value.len - 2};
			return value;
		}
	}
	return (struct multipart_text){NULL, 0};
}

/*
 * Find the next line "--boundary" or "--boundary--" from a position on.
 * @param ret_end    end of the content before it, without its CRLF
 * @param ret_next   start of the line after it
 * @param ret_close  whether it is the closing one
 */
static bool delimiter_find(const struct parts *parts, size_t from,
			   size_t *ret_end, size_t *ret_next, bool *ret_close)
{
	const char *text = parts->text.p;
	size_t len = parts->text.len;
	size_t line_len = 2 + parts->boundary.len;

	for (size_t at = from; at + line_len <= len; at++) {
		const char *dash = memmem(text + at, len - at, "--", 2);
		size_t next;

		if (!dash)
			return false;
		at = (size_t)(dash - text);
		if (len - at < line_len ||
		    memcmp(dash + 2, parts->boundary.p, parts->boundary.len) ||
		    (at > 0 && (at < 2 || memcmp(dash - 2, "\r\n", 2) != 0)))
			continue;
		next = at + line_len;
		*ret_close =
			len - next >= 2 && memcmp(text + next, "--", 2) == 0;
		if (*ret_close)
			next += 2;
		while (next < len && (text[next] == ' ' || text[next] == '\t'))
			next++;
		if (len - next >= 2 && memcmp(text + next, "\r\n", 2) == 0)
			next += 2;
		else if (!*ret_close)
			continue;
		*ret_end = at >= from + 2 ? at - 2 : at;
		*ret_next = next;
		return true;
	}
	return false;
}

/* Parse a header field of a part, with its folded lines. */
static void field_take(struct multipart_body *part, const char *line,
		       size_t len)
{
	const char *colon = memchr(line, ':', len);
	struct multipart_text name, value;

	if (!colon)
		return;
	name = trim(line, (size_t)(colon - line));
	value = trim(colon + 1, len - (size_t)(colon + 1 - line));
	if (text_is(name, "Content-Type") || text_is(name, "c"))
		part->type = value;
	else if (text_is(name, "Content-Disposition"))
		part->disposition = value;
	else if (text_is(name, "Content-Transfer-Encoding"))
		part->encoding = value;
}

static bool is_folded(const char *p, const char *end)
{
	return p < end && (*p == ' ' || *p == '\t');
}

/* Parse a part: header fields, an empty line, the content. */
static void part_read(struct multipart_body *part, const char *p, size_t len)
{
	const char *end = p + len;

	memset(part, 0, sizeof(*part));
	while (p < end) {
		const char *line = p;
		const char *stop;

		do {
			stop = memmem(p, (size_t)(end - p), "\r\n", 2);
			p = stop ? stop + 2 : end;
		} while (stop != line && is_folded(p, end));
		if (!stop)
			stop = end;
		if (stop == line)
			break;
		field_take(part, line, (size_t)(stop - line));
	}
	part->text = (struct multipart_text){p, (size_t)(end - p)};
}

static int parts_begin(struct parts *parts, const struct multipart_body *body,
		       bool *ret_close)
{
	size_t end;

	parts->text = body->text;
	parts->boundary = param_of(body->type, "boundary");
	if (!parts->boundary.p || parts->boundary.len == 0 ||
	    parts->boundary.len > BOUNDARY_MAX ||
	    !delimiter_find(parts, 0, &end, &parts->pos, ret_close))
		return -EBADMSG;
	return 0;
}

static bool is_required(const struct multipart_body *body)
{
	return !body->optional &&
	       !text_is(param_of(body->disposition, "handling"), "optional");
}

/* @return 0 it can be read; 1 it can be ignored; -EPROTONOSUPPORT */
static int understood(const struct multipart_body *body, bool known)
{
	struct multipart_text encoding = body->encoding;

	if (known && (!encoding.p || text_is(encoding, "binary") ||
		      text_is(encoding, "7bit") || text_is(encoding, "8bit") ||
		      text_is(encoding, "identity")))
		return 0;
	return is_required(body) ? -EPROTONOSUPPORT : 1;
}

static int body_sdp(struct multipart_text *ret,
		    const struct multipart_body *body, unsigned depth);

/* The parts are alternatives, the last one is preferred (RFC 2046 5.1.4). */
static bool is_alternative(const struct multipart_body *body)
{
	return text_is(value_of(body->type), "multipart/alternative");
}

struct outcome {
	struct multipart_text sdp;
	bool found;
	bool unknown; /* an unknown part must be understood */
};

static int part_take(struct outcome *o, const struct multipart_body *part,
		     bool last_wins, unsigned depth)
{
	struct multipart_text sdp;
	int err = body_sdp(&sdp, part, depth);

	if (err == -EBADMSG)
		return err;
	if (err == 0 && (!o->found || last_wins)) {
		o->sdp = sdp;
		o->found = true;
	}
	o->unknown = o->unknown || err == -EPROTONOSUPPORT;
	return 0;
}

static int parts_sdp(struct multipart_text *ret,
		     const struct multipart_body *body, unsigned depth)
{
	struct outcome o = {.found = false};
	bool alternative = is_alternative(body);
	struct parts parts = {.pos = 0};
	bool close = false;
	int err = parts_begin(&parts, body, &close);

	for (unsigned count = 0; !err && !close; count++) {
		struct multipart_body part;
		size_t begin = parts.pos;
		size_t end;

		if (count == MULTIPART_PARTS_MAX ||
		    !delimiter_find(&parts, begin, &end, &parts.pos, &close))
			return -EBADMSG;
		part_read(&part, parts.text.p + begin, end - begin);
		part.optional = body->optional;
		err = part_take(&o, &part, alternative, depth);
	}
	if (err)
		return err;
	if (o.unknown && !(alternative && o.found))
		return is_required(body) ? -EPROTONOSUPPORT : 1;
	if (!o.found)
		return 1;
	*ret = o.sdp;
	return 0;
}

static int body_sdp(struct multipart_text *ret,
		    const struct multipart_body *body, unsigned depth)
{
	struct multipart_text type = value_of(body->type);
	struct multipart_text disposition = value_of(body->disposition);
	bool sdp = text_is(type, "application/sdp");
	bool multipart = type.len > 10 &&
			 strncasecmp(type.p, "multipart/", 10) == 0 &&
			 depth < MULTIPART_DEPTH_MAX;
	int err;

	err = understood(
		body, multipart || (sdp && (disposition.len == 0 ||
					    text_is(disposition, "session"))));
	if (err)
		return err;
	if (multipart)
		return parts_sdp(ret, body, depth + 1);
	*ret = body->text;
	return 0;
}

int multipart_sdp(struct multipart_text *ret, const struct multipart_body *body)
{
	if (body->text.len == 0)
		return 1;
	return body_sdp(ret, body, 0);
}
