/**
 * The HTTP server: libmicrohttpd's epoll threads read requests and write
 * answers; in between a request is suspended and served by a worker thread.
 * docs/reference/controller.md describes a request's life.
 */
#ifndef OFFHOOK_SERVER_HTTP_HTTP_H
#define OFFHOOK_SERVER_HTTP_HTTP_H

#include "base/netlist.h"
#include "control/server/request/request.h"

#include <stddef.h>
#include <stdint.h>

struct database;
struct http;
struct peers;
struct rate;
struct tls;

/** A list of routes below one prefix. */
struct route_table {
	const char *prefix; /* "/api/v2", or "" for pages */
	const struct route *routes;
	size_t count;
	const struct route_query *queries; /* of handlers that are not among
					    * them: none. NULL: any */
	size_t query_count;
};

/**
 * A route whose body may be large. It waits in a file until it is complete,
 * and is not read before the client's credentials and rights are checked.
 */
struct http_upload {
	const char *method;
	const char *path; /* that of the route */
	bool form;        /* a form with one file; else the body is the file */
};

/* Ceilings where the parameters say 0. */
#define HTTP_BODY_BYTES  (1u << 20)
#define HTTP_CONNECTIONS 4096
#define HTTP_WORKERS     4
#define HTTP_THREADS     2
#define HTTP_QUEUED_MAX  8192 /* requests waiting or parked */
#define HTTP_IDLE_S      60   /* no byte for so long: closed */
#define HTTP_HEADER_S    30   /* the headers of the next request by then */
#define HTTP_READ_S      60   /* a whole body must have come by then */
#define HTTP_UPLOAD_S    600  /* likewise, an upload */
#define HTTP_UPLOADS     8    /* at the same time; above: 503 */

struct http_params {
	struct controller *controller;
	struct database *database;
	const char *listen;     /* "127.0.0.1:8080", "[::]:8080", ":8080" */
	const char *public_url; /* base_url for clients; NULL: by Host */
	const char *host_names; /* that a Host may have, see client.h */
	uint32_t hsts_s;        /* max-age of Strict-Transport-Security */
	const struct route_table *tables; /* kept by reference */
	size_t table_count;
	size_t body_bytes;
	unsigned json_depth;
	const struct http_upload *uploads; /* kept by reference */
	size_t upload_count;
	const char *upload_dir; /* of the files; kept by reference */
	size_t upload_bytes;
	uint32_t rate_limit; /* requests/s a key; 0: no limit */
	uint32_t rate_burst;
	unsigned connections;
	unsigned per_address; /* connections; 0: no limit */
	unsigned header_s;
	struct netlist proxies; /* trusted: Forwarded headers, no per_address */
	const struct tls *tls;  /* NULL: plain HTTP; used during the start */
	unsigned workers;
	unsigned threads;
	int64_t drain_ns; /* requests in progress at the stop */
	/* set by http_start() */
	struct rate *rate;
	bool secure; /* it speaks TLS */
};

/** Listen and serve. @return 0; -EINVAL address; -ENOMEM; -errno; logged */
int http_start(struct http **ret, const struct http_params *params);

/** "http://127.0.0.1:45123", or https: where it listens, the port as bound. */
const char *http_address(const struct http *http);

/* Bounds of the histogram of answer times, in seconds; the last is infinite. */
#define HTTP_TIMES                                      \
	{                                               \
		0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60 \
	}
#define HTTP_TIMES_MAX 8

/** What was counted since the start. */
struct http_counters {
	uint64_t answers[6]; /* by the first digit of the status; [0] unused */
	uint64_t times[HTTP_TIMES_MAX +
		       1]; /* not above a bound; the last: all */
	double seconds;    /* from the headers to the answer */
	size_t queued;     /* now: waiting and parked */
	unsigned active;   /* now: requests not answered */
};

/** Thread: any. */
void http_count(struct http *http, struct http_counters *ret);

/**
 * Refuse what is new, answer parked requests, finish what is in progress (at
 * most drain_ns), and release everything. Accepts NULL. @return NULL
 */
struct http *http_stop(struct http *http);

#endif
