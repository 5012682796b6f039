/**
 * Requests through libmicrohttpd, without a network and without threads: with the
 * options of http.c, from a socket pair.
 */
#ifndef TESTS_FUZZ_SERVER_HTTP_INPUT_H
#define TESTS_FUZZ_SERVER_HTTP_INPUT_H

#include <microhttpd.h>
#include <stddef.h>

/** Called back by the library, as in http.c. */
struct http_input_handlers {
	void *(*target)(void *arg, const char *target,
			struct MHD_Connection *connection);
	MHD_AccessHandlerCallback request;
	MHD_RequestCompletedCallback completed; /* may be NULL */
	void *arg;
};

/** Start the library. @param h  kept by reference */
struct MHD_Daemon *http_input_start(const struct http_input_handlers *h);

/**
 * Let the library receive and answer a request of a client at 127.0.0.1, then close the
 * connection.
 * @param first  the request comes in two pieces, of which the first has so many octets
 */
void http_input_send(struct MHD_Daemon *d, const char *data, size_t bytes,
		     size_t first);

#endif
