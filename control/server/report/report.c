#include "control/server/report/report.h"

/* The controller answers: it has read its configuration and its database. */
static void health(struct request *req, struct reply *rep)
{
	(void)req;
	reply_json(rep, 200, NULL);
}

const struct route report_routes[] = {
	{"GET", "/healthz", "health", RIGHT_NONE, health, NULL},
};

const size_t report_route_count =
	sizeof(report_routes) / sizeof(*report_routes);
