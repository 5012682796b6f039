/**
 * Pages that are not of the API: the report of a run, its public form, the
 * embedded files, and the state for load balancers.
 */
#ifndef OFFHOOK_SERVER_REPORT_REPORT_H
#define OFFHOOK_SERVER_REPORT_REPORT_H

#include "control/server/api/handler.h"

/** Routes below the root; right RIGHT_NONE needs no credentials. */
extern const struct route report_routes[];
extern const size_t report_route_count;

#endif
