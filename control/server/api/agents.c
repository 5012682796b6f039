#include "control/server/api/resource.h"

#include "conf/controller_conf.h"
#include "control/server/controller.h"
#include "control/server/store/store.h"

static const struct column columns[] = {
	{"id", "a.id", NULL, COLUMN_INT},
	{"name", "a.name", NULL, COLUMN_TEXT},
	{"pool_id", "a.pool_id", NULL, COLUMN_INT},
	{"pool_name", "p.name", NULL, COLUMN_TEXT},
	{"version", "a.version", NULL, COLUMN_TEXT},
	{"protocol", "a.protocol", NULL, COLUMN_INT},
	{"features", "a.features_json", NULL, COLUMN_JSON},
	{"capacity", "a.capacity", NULL, COLUMN_INT},
	{"in_use",
	 "(SELECT count(*) FROM lease l WHERE l.agent_id = a.id "
	 "AND l.state IN ('offered', 'started'))",
	 NULL, COLUMN_INT},
	{"last_seen", "a.last_seen", NULL, COLUMN_TIME},
	{"clock_offset_us", "a.clock_offset_us", NULL, COLUMN_INT},
	{"address", "a.address", NULL, COLUMN_TEXT},
	{"created_at", "a.created_at", NULL, COLUMN_TIME},
	/* what `state` is made of */
	{"draining", "a.draining", NULL, COLUMN_INT},
	{"disconnected", "a.disconnected", NULL, COLUMN_INT},
	{"last_seen_ms", "a.last_seen", NULL, COLUMN_INT},
};

static const struct table table = {
	.name = "agent",
	.from = "agent a JOIN agent_pool p ON p.id = a.pool_id",
	.id = "a.id",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

static int64_t number(json_t *row, const char *name)
{
	return json_integer_value(json_object_get(row, name));
}

static int present(struct request *req, json_t *row)
{
	const int64_t lease_ms = (int64_t)req->controller->conf->lease_s * 1000;
	int64_t silent_ms = store_now_ms() - number(row, "last_seen_ms");
	const char *state = "online";

	if (number(row, "disconnected") || silent_ms > lease_ms)
		state = "offline";
	else if (number(row, "draining"))
		state = "draining";
	json_object_set_new(row, "state", json_string(state));
	json_object_del(row, "draining");
	json_object_del(row, "disconnected");
	json_object_del(row, "last_seen_ms");
	return 0;
}

static bool may_delete(struct request *req, int64_t id, struct reply *rep)
{
	json_t *row;
	bool busy;

	if (record_get(req->store, &table, id, &row))
		return true; /* the deletion will say what is wrong */
	busy = number(row, "in_use") > 0;
	json_decref(row);
	if (busy)
		reply_problem(rep, 409, "the agent has jobs");
	return !busy;
}

const struct resource agent_resource = {
	.path = "/agents",
	.plural = "agents",
	.singular = "agent",
	.table = &table,
	.present = present,
	.may_delete = may_delete,
};
