/**
 * Turns the responses that libmicrohttpd sends by itself (invalid request line,
 * header fields above its memory, unsupported HTTP version) into problem+json
 * with a request id. The library's own are HTML pages.
 *
 * The library queues these responses with its public MHD_queue_response(),
 * through the dynamic linker. This program defines a function of that name,
 * which precedes the library's (ld.so(8): the first definition found is used),
 * and passes our own responses on. If the library is linked statically or with
 * -Bsymbolic its HTML pages come back; tests/e2e/test_api_hygiene.py detects
 * that.
 *
 * Why it is needed: the library's strict levels change what it refuses, not how
 * it responds, and it responds before it calls a handler of ours. On all levels
 * of 0.9.75 (-1, 0, 1) a wrong Content-Length, another HTTP version and too
 * large headers get HTML without a request id, the first one even with two
 * heads (library.c); on level 1 so does a missing Host.
 */
#ifndef OFFHOOK_SERVER_HTTP_LIBRARY_H
#define OFFHOOK_SERVER_HTTP_LIBRARY_H

/* Every response of this program has this field; the library's have not. */
#define REQUEST_ID_HEADER "X-Request-Id"

#endif
