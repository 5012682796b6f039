/**
 * Inside the HTTP server: shared by http.c (start, workers, stop),
 * http_request.c (what libmicrohttpd calls) and http_count.c.
 */
#ifndef OFFHOOK_SERVER_HTTP_HTTP_INTERNAL_H
#define OFFHOOK_SERVER_HTTP_HTTP_INTERNAL_H

#include "control/server/http/exchange.h"
#include "control/server/http/http.h"
#include "control/server/http/listen.h"
#include "control/server/http/queue.h"

#include <microhttpd.h>
#include <stdatomic.h>

struct worker;

struct http {
	struct http_params params; /* constant after start */
	char address[LISTEN_ADDRESS_BYTES];
	int listen_fd;
	struct MHD_Daemon *daemon;
	char start_error[160]; /* libmicrohttpd's latest words, at the start */
	struct peers *peers;
	struct queue *queue;
	struct worker *workers;
	/* Exchanges between their first and last callback. Relaxed: it is only
	 * polled while stopping, and nothing is published with it. */
	atomic_uint active;
	atomic_uint uploads; /* relaxed: it only counts */
	/* relaxed: they only count */
	atomic_uint_fast64_t answers[6];
	atomic_uint_fast64_t times[HTTP_TIMES_MAX + 1];
	atomic_uint_fast64_t time_ns;
};

/* ---- http_request.c: handlers, cls is the struct http. Thread: HTTP ---- */

/** Once for the headers, then with pieces of the body, then at its end, and
 * again after a resume. */
enum MHD_Result http_on_request(void *cls, struct MHD_Connection *connection,
				const char *url, const char *method,
				const char *version, const char *data,
				size_t *data_len, void **context);

/** The answer is sent, or will never be. */
void http_on_completed(void *cls, struct MHD_Connection *connection,
		       void **context, enum MHD_RequestTerminationCode reason);

/** A client wants to connect. @return MHD_NO: it has too many connections */
enum MHD_Result http_on_accept(void *cls, const struct sockaddr *address,
			       socklen_t len);

/** A connection begins or ends; its socket is open in between: it is closed
 * after the second call. */
void http_on_connection(void *cls, struct MHD_Connection *connection,
			void **socket_context,
			enum MHD_ConnectionNotificationCode code);

/* ---- http_count.c ---- */

/** An exchange is over: count its answer, if there was one. Thread: HTTP */
void http_count_answer(struct http *http, const struct exchange *x);

#endif
