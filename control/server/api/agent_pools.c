#include "control/server/api/agent_pools.h"

#include "control/server/api/resource.h"
#include "control/server/store/store.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <sodium.h>

static const struct column columns[] = {
	{"id", "p.id", NULL, COLUMN_INT},
	{"name", "p.name", "name", COLUMN_TEXT},
	{"description", "p.description", "description", COLUMN_TEXT},
	{"capabilities", "p.capabilities_json", "capabilities_json",
	 COLUMN_JSON},
	{"agent_count", "(SELECT count(*) FROM agent a WHERE a.pool_id = p.id)",
	 NULL, COLUMN_INT},
	{"join_token", NULL, "join_token_hash", COLUMN_HASHED},
	{"created_at", "p.created_at", "created_at", COLUMN_TIME},
	{"updated_at", "p.updated_at", "updated_at", COLUMN_TIME},
};

static const struct table table = {
	.name = "agent_pool",
	.from = "agent_pool p",
	.id = "p.id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

static const struct field fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 200},
	{.name = "description", .kind = FIELD_TEXT, .max = 4000},
	{.name = "capabilities",
	 .kind = FIELD_TAGS,
	 .max = 64,
	 .fallback = "[]"},
};

static json_t *issue(json_t *values)
{
	char token[SECRET_TOKEN_BYTES];
	json_t *text;

	secret_token(token);
	text = json_string(token);
	sodium_memzero(token, sizeof(token));
	json_object_set(values, "join_token", text);
	return json_pack("{s:o}", "join_token", text);
}

const struct resource agent_pool_resource = {
	.path = "/agent-pools",
	.plural = "agent_pools",
	.singular = "agent_pool",
	.table = &table,
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.updated_at = true,
	.observed = "agent_count",
	.issue = issue,
};

void agent_pool_token(struct request *req, struct reply *rep)
{
	json_t *values, *shown_once;
	int64_t id;
	int err = -ENOENT;

	values = json_object();
	shown_once = issue(values);
	json_object_set_new(values, "updated_at", json_integer(store_now_ms()));
	if (param_id(req, 0, &id))
		err = record_update(req->store, &table, id, values, NULL);
	json_decref(values);
	if (err) {
		json_decref(shown_once);
		reply_store_error(rep, err, "agent_pool");
		return;
	}
	resource_reply(req, rep, &agent_pool_resource, id, 200, shown_once);
}
