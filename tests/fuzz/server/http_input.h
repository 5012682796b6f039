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
 * Send a request from 127.0.0.1, and end the connection.
 * @param first  so many octets arrive first, alone
 */
void http_input_send(struct MHD_Daemon *d, const char *data, size_t bytes,
		     size_t first);

#endif
