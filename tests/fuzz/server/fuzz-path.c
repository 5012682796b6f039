/* The request target: any client can send it. */
#include "control/server/api/routes.h"
#include "control/server/request/route.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct route_table table = {.routes = api_routes,
					  .count = api_route_count};
	char *text = strndup((const char *)data, size);
	struct route_match match;
	struct path path;

	if (path_split(&path, text) == 0) {
		for (size_t i = 0; i < path.count; i++) {
			if (!utf8_valid(path.elements[i],
					strlen(path.elements[i])))
				abort();
		}
		route_find(&table, &path, "GET", &match);
		if (match.route && strcmp(match.route->method, "GET") != 0)
			abort();
	}
	free(text);
	return 0;
}
