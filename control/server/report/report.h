/**
 * The pages of the controller: the report of a run (signed in, or by its
 * public kiosk link), its data as JSON, the files both need, and the state
 * for load balancers.
 * Thread: handlers run on worker threads (api/handler.h).
 */
#ifndef OFFHOOK_SERVER_REPORT_REPORT_H
#define OFFHOOK_SERVER_REPORT_REPORT_H

#include "control/server/request/request.h"

/** Routes outside the API root; their paths are absolute. */
extern const struct route report_routes[];
extern const size_t report_route_count;

#endif
