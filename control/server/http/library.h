/**
 * Turns the answers that libmicrohttpd sends by itself (invalid request line,
 * header fields above its memory, unsupported HTTP version) into problem+json
 * with a request id; its own are pages of HTML.
 *
 * It queues these answers by its own public MHD_queue_response(), through the
 * dynamic linker: this program's definition of that name stands before the
 * library's (ld.so(8): the first one found is used by all), and passes on
 * everything that is ours. Where the library was linked otherwise
 * (statically, -Bsymbolic) its own pages would come back, and
 * tests/e2e/test_api_hygiene.py would say so.
 *
 * Why it stays: the library's strict levels change what it refuses, not what
 * it answers, and it answers before it calls any handler of ours. On all levels
 * of 0.9.75 (-1, 0, 1) a wrong Content-Length, another version of HTTP and too
 * large headers get HTML without a request id, the first one even with two
 * heads (library.c); on level 1 so does a missing Host.
 */
#ifndef OFFHOOK_SERVER_HTTP_LIBRARY_H
#define OFFHOOK_SERVER_HTTP_LIBRARY_H

/* Every answer of this program has it, the library's have not. */
#define REQUEST_ID_HEADER "X-Request-Id"

#endif
