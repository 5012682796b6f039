#include "control/server/api/routes.h"

#include "control/server/api/resource.h"

/* one endpoint a line */
/* clang-format off */
const struct route api_routes[] = {
	{"GET", "/", "endpoints", RIGHT_READ, endpoints_list, NULL},

	{"GET", "/projects", "projects", RIGHT_READ, resource_list, NULL},
	{"POST", "/projects", "projects", RIGHT_WRITE, resource_create, NULL},
	{"GET", "/projects/:id", "project", RIGHT_READ, resource_get, NULL},
	{"PUT", "/projects/:id", "project", RIGHT_WRITE, resource_replace, NULL},
	{"DELETE", "/projects/:id", "project", RIGHT_WRITE, resource_delete, NULL},
};
/* clang-format on */

const size_t api_route_count = sizeof(api_routes) / sizeof(*api_routes);
