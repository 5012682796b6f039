/**
 * The HTTP server: libmicrohttpd's epoll threads read requests and write
 * answers; in between a request is suspended and served by a worker thread.
 * docs/reference/controller.md describes a request's life.
 */
#ifndef OFFHOOK_SERVER_HTTP_HTTP_H
#define OFFHOOK_SERVER_HTTP_HTTP_H

#include "control/server/http/http_params.h"

struct http;
struct http_ops;

/** Listen and serve. @return 0; -EINVAL address; -ENOMEM; -errno; logged */
int http_start(struct http **ret, const struct http_params *params);

/** Operations for struct controller. */
extern const struct http_ops http_ops;

/**
 * Stop: refuse new requests, answer parked ones, finish those in progress (at
 * most drain_ns), and release everything. Accepts NULL. @return NULL
 */
struct http *http_stop(struct http *http);

#endif
