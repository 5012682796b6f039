/**
 * Refuse requests whose end is ambiguous. If a proxy and this server disagreed
 * about it, part of one request would be parsed as another (request smuggling).
 * libmicrohttpd 0.9.75 accepts most of them.
 */
#ifndef OFFHOOK_SERVER_HTTP_FRAMING_H
#define OFFHOOK_SERVER_HTTP_FRAMING_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/** Framing of the body, from the headers. */
struct framing {
	const char *wrong; /* constant sentence; NULL: valid */
	bool chunked;      /* valid, with Transfer-Encoding: chunked */
};

/** A request target before the library splits it at '?', '&' and '=' and makes
 * blanks of the pluses in its query. */
struct framing_target {
	const char *at; /* in libmicrohttpd's buffer */
	size_t bytes;   /* up to the first NUL */
	bool blank;     /* it has white space, at which parsers may split it */
};

/** Look at a target. Thread: HTTP, in MHD_OPTION_URI_LOG_CALLBACK. */
void framing_look(struct framing_target *ret, const char *target);

/** The request line; points into libmicrohttpd's buffer. */
struct request_line {
	const char *method;
	const struct framing_target *target;
	const char *version;
};

/**
 * Check the request line and the headers before the body is read.
 * Source: RFC 9110 sections 5.5 and 5.6.2; RFC 9112 sections 3, 5.1, 5.2, 6.1
 * and 6.3
 * Thread: HTTP, in the first call of the request's handler
 * @param request  borrowed
 */
void framing_check(struct framing *ret, struct MHD_Connection *connection,
		   const struct request_line *request);

#endif
