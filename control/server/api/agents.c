#include "control/server/api/agents.h"

#include "base/str.h"
#include "conf/controller_conf.h"
#include "control/server/api/resource_type.h"
#include "control/server/http/tls.h"
#include "control/server/run/run.h"
#include "control/server/store/lease_clock.h"
#include "control/server/store/store.h"
#include "control/server/store/store_lease_agent.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <sodium.h>

/* ---- pools ---- */

static const struct column pool_columns[] = {
	{"id", "p.id", NULL, COLUMN_INT},
	{"name", "p.name", "name", COLUMN_TEXT},
	{"description", "p.description", "description", COLUMN_TEXT},
	{"capabilities", "p.capabilities_json", "capabilities_json",
	 COLUMN_JSON},
	{"agent_count",
	 "(SELECT count(*) FROM agent a WHERE a.pool_id = p.id) + (SELECT "
	 "count(*) FROM agent_further_pool f WHERE f.pool_id = p.id)",
	 NULL, COLUMN_INT},
	{"join_token", NULL, "join_token_hash", COLUMN_HASHED},
	{"created_at", "p.created_at", "created_at", COLUMN_TIME},
	{"updated_at", "p.updated_at", "updated_at", COLUMN_TIME},
};

static const struct table pool_table = {
	.name = "agent_pool",
	.from = "agent_pool p",
	.id = "p.id",
	.columns = pool_columns,
	.column_count = sizeof(pool_columns) / sizeof(*pool_columns),
};

static const struct field pool_fields[] = {
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

static json_t *pool_issue(json_t *values)
{
	char token[SECRET_TOKEN_BYTES], pin[KEY_PIN_BYTES];
	json_t *text;

	secret_token(token);
	text = json_string(token);
	sodium_memzero(token, sizeof(token));
	json_object_set(values, "join_token", text);
	/* with the token, as an agent needs both to join */
	return json_pack("{s:o, s:s*}", "join_token", text,
			 "controller_fingerprint",
			 tls_served_key_pin(pin) ? pin : NULL);
}

const struct resource agent_pool_resource = {
	.path = "/agent-pools",
	.plural = "agent_pools",
	.singular = "agent_pool",
	.table = &pool_table,
	.fields = pool_fields,
	.field_count = sizeof(pool_fields) / sizeof(*pool_fields),
	.updated_at = true,
	.observed = "agent_count",
	.issue = pool_issue,
};

void agent_pool_token(struct request *req, struct reply *rep)
{
	json_t *values, *shown_once;
	int64_t id;
	int err = -ENOENT;

	values = json_object();
	shown_once = pool_issue(values);
	json_object_set_new(values, "updated_at", json_integer(store_now_ms()));
	if (param_id(req, 0, &id))
		err = record_update(request_store(req), &pool_table, id, values,
				    NULL);
	json_decref(values);
	if (err) {
		json_decref(shown_once);
		reply_store_error(rep, err, "agent_pool");
		return;
	}
	resource_reply(req, rep, &agent_pool_resource, id, 200, shown_once);
}

/* ---- agents ---- */

static const struct column columns[] = {
	{"id", "a.id", NULL, COLUMN_INT},
	{"name", "a.name", "name", COLUMN_TEXT},
	{"pool_id", "a.pool_id", "pool_id", COLUMN_INT},
	{"pool_name", "p.name", NULL, COLUMN_TEXT},
	{"version", "a.version", NULL, COLUMN_TEXT},
	{"protocol", "a.protocol", NULL, COLUMN_INT},
	{"features", "a.features_json", NULL, COLUMN_JSON},
	{"calibration", "a.calibration_json", NULL, COLUMN_JSON},
	{"capacity", "a.capacity", NULL, COLUMN_INT},
	{"in_use",
	 "(SELECT count(*) FROM lease l WHERE l.agent_id = a.id "
	 "AND l.state IN ('offered', 'started'))",
	 NULL, COLUMN_INT},
	{"last_seen", "a.last_seen", NULL, COLUMN_TIME},
	{"clock_offset_us", "a.clock_offset_us", NULL, COLUMN_INT},
	{"address", "a.address", NULL, COLUMN_TEXT},
	{"draining", "a.held", "held", COLUMN_INT},
	{"created_at", "a.created_at", NULL, COLUMN_TIME},
	/* `state` is computed from these */
	{"leaving", "a.draining", NULL, COLUMN_INT},
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
	const int64_t lease_ms = (int64_t)request_conf(req)->lease_s * 1000;
	int64_t silent_ms = lease_clock_ms() - number(row, "last_seen_ms");
	const char *state = "online";
	json_t *ids, *names;
	int err = store_agent_further_pools(request_store(req),
					    number(row, "id"), &ids, &names);

	if (err)
		return err;
	json_object_set_new(row, "further_pool_ids", ids);
	json_object_set_new(row, "further_pool_names", names);
	if (number(row, "disconnected") || silent_ms > lease_ms)
		state = "offline";
	else if (number(row, "leaving") || number(row, "draining"))
		state = "draining";
	json_object_set_new(row, "state", json_string(state));
	json_object_del(row, "leaving");
	json_object_del(row, "disconnected");
	json_object_del(row, "last_seen_ms");
	return 0;
}

/* The name is shown in messages and listings. */
static void check_name(struct request *req, json_t *value, const char *pointer,
		       struct reply *rep)
{
	const char *text = json_string_value(value);

	(void)req;
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			break;
	if (*text)
		field_error(rep, pointer, "holds control characters");
}

static const struct field fields[] = {
	{.name = "name",
	 .kind = FIELD_TEXT,
	 .required = true,
	 .min = 1,
	 .max = 100,
	 .check = check_name},
	{.name = "pool_id",
	 .kind = FIELD_INTEGER,
	 .required = true,
	 .min = 1,
	 .max = INT64_MAX},
	{.name = "further_pool_ids",
	 .kind = FIELD_ARRAY,
	 .max = STORE_FURTHER_POOLS_MAX,
	 .fallback = "[]"},
	{.name = "draining", .kind = FIELD_FLAG, .fallback = "0"},
};

static void check(struct request *req, json_t *values, struct reply *rep)
{
	const json_t *ids = json_object_get(values, "further_pool_ids");
	json_t *id;
	size_t i;

	resource_reference(req, rep, &agent_pool_resource,
			   json_object_get(values, "pool_id"), "/pool_id");
	json_array_foreach(ids, i, id)
	{
		char pointer[40];

		str_print(pointer, sizeof(pointer), "/further_pool_ids/%zu", i);
		if (json_is_integer(id))
			resource_reference(req, rep, &agent_pool_resource, id,
					   pointer);
		else
			field_error(rep, pointer, "is no id of a pool");
	}
}

static bool may_delete(struct request *req, int64_t id, struct reply *rep)
{
	json_t *row;
	bool busy;

	if (record_get(request_store(req), &table, id, &row))
		return true; /* the deletion reports the error */
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
	.fields = fields,
	.field_count = sizeof(fields) / sizeof(*fields),
	.children = store_agent_serve,
	.observed = "in_use last_seen clock_offset_us state calibration "
		    "further_pool_names",
	.check = check,
	.present = present,
	.may_delete = may_delete,
};

void agent_replace(struct request *req, struct reply *rep)
{
	resource_replace(req, rep);
	if (reply_status(rep) == 200) /* waiting runs may be placed now */
		run_engine_poke(request_controller(req));
}
