#include "control/server/http/framing.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* token characters besides letters and digits: RFC 9110 section 5.6.2 */
#define TOKEN_MARKS "!#$%&'*+-.^_`|~"

struct headers {
	const char *wrong;
	unsigned lengths, encodings;
	bool chunked;
	uintptr_t at, end; /* of the next line; of the header */
};

#define NOT_LINES                                                           \
	"each header must be one line that ends in CR LF, without NUL and " \
	"with a name"

static bool is_token(const char *name)
{
	size_t i = 0;

	while (name[i] && (isalnum((unsigned char)name[i]) ||
			   strchr(TOKEN_MARKS, name[i])))
		i++;
	return i > 0 && name[i] == '\0';
}

/* RFC 9110 section 5.5: no control characters except the tab. */
static bool is_value(const char *value)
{
	for (; *value; value++)
		if (((unsigned char)*value < 0x20 && *value != '\t') ||
		    *value == 0x7f)
			return false;
	return true;
}

/*
 * libmicrohttpd 0.9.75 accepts header lines that other parsers read
 * differently:
 * - a line that ends in LF alone;
 * - a line with a NUL, which it cuts there;
 * - a folded line, which it appends to the preceding NAME ("A: 5", " b" becomes
 *   "Ab: 5");
 * - a line that begins with a colon, which it takes for the end of the headers;
 * - a method or a target with a NUL, which it cuts there.
 * From 1.0 on its strict level refuses them (start_daemon()).
 *
 * The library keeps the headers in its receive buffer and overwrites the ends
 * of the method, version, names and values with 0. So valid headers follow each
 * other in memory without a gap: name, colon, blanks, value, CR LF, and at the
 * end another CR LF. Folded names are stored elsewhere. What cannot be seen:
 * - NUL LF in place of CR LF; behind the request line also LF NUL;
 * - of the last CR LF CR LF four octets of NUL, colon, CR and LF, like CR LF colon LF;
 * - a line before the request line that begins with NUL.
 * A proxy forwards none of them: it has to refuse a NUL in a header or make a blank
 * of it (RFC 9110 section 5.5), and to refuse a header without a name.
 */
#if MHD_VERSION < 0x00097701
#define CRLF 2

/* The method, the target and the version follow each other likewise. */
static bool is_one_line(const struct request_line *r)
{
	const char *at = r->method + strlen(r->method) + 1;

	while (at < r->target->at && *at == ' ')
		at++;
	return at == r->target->at && at + r->target->bytes + 1 == r->version;
}

static void begin_lines(struct headers *h, struct MHD_Connection *connection,
			const struct request_line *request)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	if (!info)
		return;
	h->at = (uintptr_t)request->version + strlen(request->version) + CRLF;
	h->end = (uintptr_t)request->method + info->header_size;
}

/* Other octets than the end of a line stay: what is behind a NUL or a colon. */
static bool is_overwritten(uintptr_t at)
{
	static const char zeros[CRLF];

	return memcmp((const char *)at, zeros, CRLF) == 0;
}

static bool next_line(struct headers *h, const char *name, const char *value)
{
	uintptr_t at = h->at;

	if ((uintptr_t)name != at || at >= h->end)
		return false;
	at += strlen(name) + 1;
	while (at < (uintptr_t)value && at < h->end &&
	       (*(const char *)at == ' ' || *(const char *)at == '\t'))
		at++;
	if (at != (uintptr_t)value)
		return false;
	h->at = at + strlen(value) + CRLF;
	return h->at <= h->end && is_overwritten(h->at - CRLF);
}

static bool is_last_line(const struct headers *h)
{
	return h->at + CRLF == h->end && is_overwritten(h->at);
}
#else
static bool is_one_line(const struct request_line *r)
{
	(void)r;
	return true;
}

static void begin_lines(struct headers *h, struct MHD_Connection *connection,
			const struct request_line *request)
{
	(void)h;
	(void)connection;
	(void)request;
}

static bool next_line(struct headers *h, const char *name, const char *value)
{
	(void)h;
	(void)name;
	(void)value;
	return true;
}

static bool is_last_line(const struct headers *h)
{
	(void)h;
	return true;
}
#endif

static const char *look_at(struct headers *h, const char *name,
			   const char *value)
{
	if (!is_token(name))
		return "the name of a header is no token: it is empty, or "
		       "holds a blank or another character that names cannot "
		       "have";
	if (!is_value(value))
		return "a header holds control characters";
	if (strcasecmp(name, "Content-Length") == 0 && ++h->lengths > 1)
		return "the header Content-Length is there twice";
	if (strcasecmp(name, "Transfer-Encoding") == 0) {
		if (++h->encodings > 1)
			return "the header Transfer-Encoding is there twice";
		if (strcasecmp(value, "chunked") != 0)
			return "the only Transfer-Encoding is chunked";
		h->chunked = true;
	}
	return NULL;
}

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind,
				 const char *name, const char *value)
{
	struct headers *h = arg;

	(void)kind;
	if (!next_line(h, name, value ? value : ""))
		h->wrong = NOT_LINES;
	else
		h->wrong = look_at(h, name, value ? value : "");
	return h->wrong ? MHD_NO : MHD_YES;
}

void framing_look(struct framing_target *ret, const char *target)
{
	ret->at = target;
	ret->bytes = strlen(target);
	/* RFC 9112 section 3 */
	ret->blank = strpbrk(target, " \t\v\f\r") != NULL;
}

void framing_check(struct framing *ret, struct MHD_Connection *connection,
		   const struct request_line *request)
{
	struct headers h = {.wrong = NULL};

	begin_lines(&h, connection, request);
	if (!is_one_line(request))
		h.wrong = "the request line holds a NUL";
	else if (!is_token(request->method))
		h.wrong = "the method is no token";
	else if (request->target->blank)
		h.wrong = "there is a blank in the address";
	if (!h.wrong)
		MHD_get_connection_values(connection, MHD_HEADER_KIND,
					  on_header, &h);
	if (!h.wrong && !is_last_line(&h))
		h.wrong = NOT_LINES;
	if (!h.wrong && h.encodings && h.lengths)
		h.wrong = "Content-Length and Transfer-Encoding exclude each "
			  "other";
	if (!h.wrong && h.encodings &&
	    strcmp(request->version, MHD_HTTP_VERSION_1_1) != 0)
		h.wrong = "HTTP/1.0 has no Transfer-Encoding";
	*ret = (struct framing){
		.wrong = h.wrong,
		.chunked = !h.wrong && h.chunked,
	};
}
