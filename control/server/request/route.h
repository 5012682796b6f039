/**
 * The routes of the server, and which one a request is for.
 * Thread: any; pure.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_ROUTE_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_ROUTE_H

#include "control/server/request/path.h"

#include <jansson.h>

struct reply;
struct request;

#define PATH_PARAMS_MAX 3

enum api_right {
	RIGHT_NONE, /* no authentication at all */
	RIGHT_READ,
	RIGHT_RUN,
	RIGHT_WRITE,
	RIGHT_ADMIN,
	RIGHT_AGENT, /* an enrolled agent, docs/internals/wire.md */
};

/** A handler fills the reply; it never fails otherwise. */
typedef void(api_handler)(struct request *req, struct reply *rep);

struct route {
	const char *method;
	const char *path; /* "/runs/:id/status", below /api/v2 */
	const char *name; /* for GET / */
	enum api_right right;
	api_handler *handler;
	const char *successor; /* deprecated: path of the RESTful form */
};

/** The query parameters that a handler reads; another one is a 422. */
struct route_query {
	api_handler *handler;
	const char *names; /* separated by blanks, `*` behind those that may be
			    * repeated */
};

/** A list of routes below one prefix. */
struct route_table {
	const char *prefix; /* "/api/v2", or "" for pages */
	const struct route *routes;
	size_t count;
	const struct route_query *queries; /* of handlers that are not among
					    * them: none. NULL: any */
	size_t query_count;
	/* Reply a page in place of a problem to a browser (error_page.h), with
	 * any status. NULL: always problem+json. */
	int (*error_page)(const json_t *problem, struct reply *rep);
};

struct route_match {
	const struct route *route;           /* NULL: none of this method */
	const char *params[PATH_PARAMS_MAX]; /* borrowed from the path */
	char allow[64];                      /* for 405; "" : no such path */
};

/**
 * Find the route of a path and method; HEAD is served by GET. Of two routes
 * that match, the one with a fixed element where the other has a parameter
 * wins.
 */
void route_find(const struct route_table *table, const struct path *path,
		const char *method, struct route_match *ret);

#endif
