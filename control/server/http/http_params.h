/** Parameters of the HTTP server, set by main(). Constant while it serves. */
#ifndef OFFHOOK_SERVER_HTTP_HTTP_PARAMS_H
#define OFFHOOK_SERVER_HTTP_HTTP_PARAMS_H

#include "base/netlist.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_trust;
struct controller;
struct database;
struct rate;
struct route_table;

/**
 * A route whose body may be large. The body is read only after the client's
 * credentials and rights were checked, and is written to a file until it is
 * complete.
 */
struct http_upload {
	const char *method;
	const char *path; /* of the route */
	bool form;        /* a form with one file; else the body is the file */
};

/* Defaults for parameters that are 0. */
#define HTTP_BODY_BYTES  (1u << 20)
#define HTTP_CONNECTIONS 4096
#define HTTP_WORKERS     4
#define HTTP_THREADS     2
#define HTTP_QUEUED_MAX  8192 /* requests waiting or parked; or connections */
#define HTTP_IDLE_S      60   /* a connection without traffic is closed */
#define HTTP_HEADER_S    30   /* to receive the header fields of a request */
#define HTTP_READ_S      60   /* to receive a whole body */
#define HTTP_UPLOAD_S    600  /* likewise, an upload */
#define HTTP_UPLOADS     8    /* concurrent; above: 503 */

struct http_params {
	struct controller *controller;
	struct database *database;
	const char *listen;     /* "127.0.0.1:8080", "[::]:8080", ":8080" */
	const char *public_url; /* base_url for clients; NULL: by Host */
	const char *host_names; /* valid Hosts, see client.h */
	uint32_t hsts_s;        /* max-age of Strict-Transport-Security */
	const struct route_table *tables; /* kept by reference */
	size_t table_count;
	size_t body_bytes;
	unsigned json_depth;
	const struct http_upload *uploads; /* kept by reference */
	size_t upload_count;
	const char *upload_dir; /* of the files; kept by reference */
	size_t upload_bytes;
	uint32_t rate_limit; /* requests/s per key; 0: no limit */
	uint32_t rate_burst;
	unsigned connections;
	unsigned per_address; /* connections; 0: no limit */
	unsigned header_s;
	struct netlist proxies; /* trusted: Forwarded headers, no per_address */
	bool secure; /* HTTPS with the certificate of tls_new(), which outlives it */
	struct client_trust *agent_trust; /* outlives it; NULL: agents need no
					   * certificate. With secure only */
	unsigned workers;
	unsigned threads;
	int64_t drain_ns; /* requests in progress at the stop */
	/* set by http_start() */
	struct rate *rate;
};

#endif
