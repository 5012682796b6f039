#include "control/server/request/route.h"

#include <stdio.h>
#include <string.h>

/* @return number of fixed elements + 1; 0: the pattern does not match */
static size_t match_pattern(const char *pattern, const struct path *path,
			    const char *params[PATH_PARAMS_MAX])
{
	size_t element = 0, param = 0, fixed = 0;

	while (*pattern == '/' && pattern[1]) {
		const char *given;

		if (element == path->count)
			return 0;
		given = path->elements[element++];
		pattern++;
		if (*pattern == ':') {
			if (param == PATH_PARAMS_MAX)
				return 0;
			params[param++] = given;
			pattern += strcspn(pattern, "/");
			continue;
		}
		/* most patterns differ in their first bytes */
		while (*pattern && *pattern != '/' && *pattern == *given) {
			pattern++;
			given++;
		}
		if (*given || (*pattern && *pattern != '/'))
			return 0;
		fixed++;
	}
	return element == path->count ? fixed + 1 : 0;
}

static void add_allowed(char allow[64], const char *method)
{
	const char *found = strstr(allow, method);
	size_t used = strlen(allow);

	if (found)
		return;
	snprintf(allow + used, 64 - used, "%s%s%s", used ? ", " : "", method,
		 strcmp(method, "GET") == 0 ? ", HEAD" : "");
}

void route_find(const struct route_table *table, const struct path *path,
		const char *method, struct route_match *ret)
{
	const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
	size_t best = 0;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < table->count; i++) {
		const struct route *r = &table->routes[i];
		const char *params[PATH_PARAMS_MAX] = {NULL};
		size_t score = match_pattern(r->path, path, params);

		if (score == 0)
			continue;
		add_allowed(ret->allow, r->method);
		if (strcmp(r->method, wanted) != 0 || score <= best)
			continue;
		best = score;
		ret->route = r;
		memcpy(ret->params, params, sizeof(params));
	}
}
