#include "control/server/api/routes.h"

#include <string.h>

static json_t *entry_of(json_t *endpoints, const char *path)
{
	json_t *entry;
	size_t i;

	json_array_foreach(endpoints, i, entry)
	{
		json_t *url = json_object_get(entry, "url");

		if (strcmp(json_string_value(url), path) == 0)
			return entry;
	}
	return NULL;
}

static const char *right_name(enum api_right right)
{
	static const char *const names[] = {
		[RIGHT_NONE] = "none",   [RIGHT_READ] = "read",
		[RIGHT_RUN] = "run",     [RIGHT_WRITE] = "write",
		[RIGHT_ADMIN] = "admin", [RIGHT_AGENT] = "agent",
	};

	return names[right];
}

void endpoints_list(struct request *req, struct reply *rep)
{
	json_t *endpoints = json_array();

	(void)req;
	for (size_t i = 0; i < api_route_count; i++) {
		const struct route *r = &api_routes[i];
		json_t *entry = entry_of(endpoints, r->path);

		if (!entry) {
			entry = json_pack("{s:s, s:[], s:{}}", "url", r->path,
					  "methods", "rights");
			if (r->name)
				json_object_set_new(entry, "name",
						    json_string(r->name));
			json_array_append_new(endpoints, entry);
		}
		json_array_append_new(json_object_get(entry, "methods"),
				      json_string(r->method));
		json_object_set_new(json_object_get(entry, "rights"), r->method,
				    json_string(right_name(r->right)));
	}
	reply_json(rep, 200, json_pack("{s:o}", "endpoints", endpoints));
}
