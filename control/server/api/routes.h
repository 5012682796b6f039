/**
 * Every endpoint below /api/v2, once: the router, Allow, the listing of GET /
 * and the rights come from this table.
 */
#ifndef OFFHOOK_SERVER_API_ROUTES_H
#define OFFHOOK_SERVER_API_ROUTES_H

#include "control/server/request/request.h"

extern const struct route api_routes[];
extern const size_t api_route_count;

/** The query parameters of their handlers. */
extern const struct route_query api_queries[];
extern const size_t api_query_count;

#endif
