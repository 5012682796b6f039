/**
 * Refuse requests whose end two parsers may see at different places: behind a
 * proxy, part of one request would be taken for another one (request
 * smuggling). libmicrohttpd 0.9.75 accepts most of them.
 */
#ifndef OFFHOOK_SERVER_HTTP_FRAMING_H
#define OFFHOOK_SERVER_HTTP_FRAMING_H

#include <microhttpd.h>
#include <stdbool.h>

/** What the headers say about the body. */
struct framing {
	const char *wrong; /* constant sentence; NULL: nothing is */
	bool chunked;      /* Transfer-Encoding: chunked, and nothing wrong */
};

/** Pointers of libmicrohttpd; nothing is copied. */
struct request_line {
	const char *method;
	const char *path; /* not decoded */
	const char *version;
};

/**
 * Look at the headers of a request before its body is read.
 * Source: RFC 9110 sections 5.5 and 5.6.2; RFC 9112 sections 3, 5.1, 5.2, 6.1
 * and 6.3
 * Thread: HTTP, in the first call of the request's handler
 * @param request  borrowed
 */
void framing_check(struct framing *ret, struct MHD_Connection *connection,
		   const struct request_line *request);

#endif
