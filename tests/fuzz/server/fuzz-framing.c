/*
 * The head of a request, as libmicrohttpd reads it from a socket. What
 * framing_check() accepts is parsed again here, by RFC 9112 alone: the same
 * lines, and exactly one end of the body. What is valid there is accepted.
 * The first octet of the input: how many octets of the rest arrive first, alone;
 * 0: all at once.
 */
#include "control/server/http/framing.h"
#include "http_input.h"
#include "tests/fuzz/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Why a request is not valid. */
enum fault {
	FAULT_NONE,
	FAULT_UNSEEN, /* framing_check() cannot know */
	FAULT_LINES,  /* or the request line */
	FAULT_NAME,
	FAULT_VALUE,
	FAULT_LENGTH,
	FAULT_ENCODING,
};

struct text {
	const char *at;
	size_t len;
};

/* What the grammar says. */
struct expected {
	enum fault fault;
	size_t headers;
	unsigned lengths, encodings;
	bool newest; /* HTTP/1.1 */
};

/* What the library and framing_check() said. */
struct told {
	struct framing_target target;
	bool called;
	bool valid;
	bool chunked;
	size_t headers;
};

/* ---- the grammar ---- */

/* The next line, up to CR LF.
 * @param nul  NUL LF is the same: the library overwrites both
 * @return false: the next LF stands alone, or a CR or a NUL is within the line */
static bool line_next(struct text *rest, struct text *ret, bool nul)
{
	const char *lf = memchr(rest->at, '\n', rest->len);

	if (!lf || lf == rest->at || (lf[-1] != '\r' && (lf[-1] || !nul)))
		return false;
	ret->at = rest->at;
	ret->len = (size_t)(lf - 1 - rest->at);
	rest->at = lf + 1;
	rest->len -= ret->len + 2;
	return !memchr(ret->at, '\r', ret->len) &&
	       !memchr(ret->at, '\0', ret->len);
}

/* The library overwrites colons and the ends of lines, and cuts a value at a NUL: four
 * octets behind the last value may end the headers like CR LF CR LF. */
static bool ends_unseen(struct text rest)
{
	size_t i = 0;

	while (i < rest.len && rest.at[i] != '\0' && rest.at[i] != '\n')
		i++;
	if (i > 0 && i < rest.len && rest.at[i] && rest.at[i - 1] == '\r')
		i--;
	if (rest.len - i < 4 || rest.at[i + 3] != '\n' ||
	    memcmp(rest.at + i, "\r\n\r\n", 4) == 0)
		return false;
	for (size_t k = i; k < i + 4; k++)
		if (!memchr("\0\r\n:", rest.at[k], 4))
			return false;
	return true;
}

static bool is_token(struct text t)
{
	static const char allowed[] = "!#$%&'*+-.^_`|~0123456789"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz";

	for (size_t i = 0; i < t.len; i++)
		if (!memchr(allowed, t.at[i], sizeof(allowed) - 1))
			return false;
	return t.len > 0;
}

static bool is(struct text t, const char *word)
{
	return t.len == strlen(word) && strncasecmp(t.at, word, t.len) == 0;
}

/* method SP request-target SP HTTP-version; white space that a parser may take for
 * SP (section 3) is none of the target's. More than one SP may follow the method. */
static bool request_line(struct text line, struct expected *e)
{
	const char *blank = memchr(line.at, ' ', line.len);
	struct text version = {line.at + line.len - 8, 8};
	struct text target;

	if (!blank || line.len < 12)
		return false;
	if (!is_token((struct text){line.at, (size_t)(blank - line.at)}))
		return false;
	while (blank < version.at && *blank == ' ')
		blank++;
	if (blank + 2 > version.at || version.at[-1] != ' ' ||
	    memcmp(version.at, "HTTP/1.", 7) != 0 || version.at[7] < '0' ||
	    version.at[7] > '9')
		return false;
	target = (struct text){blank, (size_t)(version.at - 1 - blank)};
	for (size_t i = 0; i < target.len; i++)
		if (strchr(" \t\v\f", target.at[i]))
			return false;
	e->newest = version.at[7] == '1';
	return true;
}

static bool is_number(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.at[i] < '0' || t.at[i] > '9')
			return false;
	return t.len > 0;
}

static enum fault field(struct text line, struct expected *e)
{
	const char *colon = memchr(line.at, ':', line.len);
	struct text name, value;

	if (!colon)
		return FAULT_LINES;
	name = (struct text){line.at, (size_t)(colon - line.at)};
	value = (struct text){colon + 1, line.len - name.len - 1};
	if (!is_token(name))
		return FAULT_NAME;
	while (value.len > 0 && strchr(" \t", value.at[0]))
		value = (struct text){value.at + 1, value.len - 1};
	while (value.len > 0 && strchr(" \t", value.at[value.len - 1]))
		value.len--;
	for (size_t i = 0; i < value.len; i++)
		if (((unsigned char)value.at[i] < ' ' && value.at[i] != '\t') ||
		    value.at[i] == 0x7f)
			return FAULT_VALUE;
	e->headers++;
	if (is(name, "Content-Length") &&
	    (++e->lengths > 1 || !is_number(value)))
		return FAULT_LENGTH;
	if (is(name, "Transfer-Encoding") &&
	    (++e->encodings > 1 || !is(value, "chunked")))
		return FAULT_ENCODING;
	return FAULT_NONE;
}

/* Section 2.2: empty lines before the request line may be ignored. The library
 * ignores lines that begin with NUL, too. */
static void skip_empty(struct text *rest)
{
	const char *lf = memchr(rest->at, '\n', rest->len);

	while (lf && (rest->at == lf || *rest->at == '\0' ||
		      (*rest->at == '\r' && rest->at + 1 == lf))) {
		rest->len -= (size_t)(lf + 1 - rest->at);
		rest->at = lf + 1;
		lf = memchr(rest->at, '\n', rest->len);
	}
}

/* The library overwrites the end of the request line: LF NUL is the same as CR LF. */
static bool request_line_ends_unseen(struct text rest)
{
	const char *lf = memchr(rest.at, '\n', rest.len);

	return lf && lf > rest.at && lf[-1] != '\r' &&
	       lf + 1 < rest.at + rest.len && lf[1] == '\0';
}

static void expect(struct expected *e, struct text rest)
{
	struct text line;

	memset(e, 0, sizeof(*e));
	skip_empty(&rest);
	if (request_line_ends_unseen(rest)) {
		e->fault = FAULT_UNSEEN;
		return;
	}
	if (!line_next(&rest, &line, false) || !request_line(line, e)) {
		e->fault = FAULT_LINES;
		return;
	}
	do {
		if (ends_unseen(rest))
			e->fault = FAULT_UNSEEN;
		else if (!line_next(&rest, &line, true))
			e->fault = FAULT_LINES;
		else if (line.len > 0)
			e->fault = field(line, e);
	} while (!e->fault && line.len > 0);
	/* section 6.1 */
	if (!e->fault && e->encodings && (e->lengths || !e->newest))
		e->fault = FAULT_ENCODING;
}

/* ---- the library ---- */

static enum MHD_Result count_header(void *arg, enum MHD_ValueKind kind,
				    const char *name, const char *value)
{
	size_t *count = arg;

	(void)kind;
	(void)name;
	(void)value;
	(*count)++;
	return MHD_YES;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *body,
				  size_t *bytes, void **context)
{
	const struct request_line line = {method, *context, version};
	struct told *told = cls;
	struct framing framing;

	(void)url;
	(void)body;
	(void)bytes;
	check(!told->called);
	framing_check(&framing, connection, &line);
	told->called = true;
	told->valid = !framing.wrong;
	told->chunked = framing.chunked;
	MHD_get_connection_values(connection, MHD_HEADER_KIND, count_header,
				  &told->headers);
	return MHD_NO; /* closes the connection */
}

/* As on_target() in http.c. */
static void *on_target(void *cls, const char *target,
		       struct MHD_Connection *connection)
{
	struct told *told = cls;

	(void)connection;
	framing_look(&told->target, target);
	return &told->target;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct MHD_Daemon *daemon;
	static struct told told;
	static const struct http_input_handlers handlers = {
		.target = on_target, .request = on_request, .arg = &told};
	struct expected e;
	struct text head;

	if (!daemon)
		daemon = http_input_start(&handlers);
	if (size < 1)
		return 0;
	head = (struct text){(const char *)data + 1, size - 1};
	told = (struct told){.called = false};
	http_input_send(daemon, head.at, head.len, data[0]);
	if (!told.called)
		return 0; /* incomplete, or the library refused it */
	expect(&e, head);
	if (e.fault == FAULT_UNSEEN)
		return 0;
	check(told.valid == (e.fault == FAULT_NONE));
	check(told.chunked == (told.valid && e.encodings > 0));
	check(!told.valid || told.headers == e.headers);
	return 0;
}
