#include "control/server/store/store_lease_agent.h"

#include "base/str.h"
#include "control/server/store/store_lease_db.h"

#include <errno.h>
#include <stdlib.h>

/* @return 0; -EACCES no pool has this token; -EIO */
static int pool_of(struct store *s, struct db *db, const char *text,
		   int64_t *ret)
{
	uint8_t hash[SECRET_HASH_BYTES] = {0};
	const struct db_value token = db_blob(hash, sizeof(hash));
	int err;

	secret_hash(store_secrets(s), text, hash);
	err = lease_integer(db,
			    "SELECT id FROM agent_pool "
			    "WHERE join_token_hash = $1",
			    &token, 1, ret);
	if (err)
		return err;
	return *ret ? 0 : -EACCES;
}

static int serve_pool(struct db *db, int64_t agent_id, int64_t pool_id)
{
	const struct db_value params[] = {DB_I(agent_id), DB_I(pool_id)};
	int err = lease_exec(db,
			     "INSERT INTO agent_further_pool (agent_id, "
			     "pool_id) SELECT a.id, p.id FROM agent a JOIN "
			     "agent_pool p ON p.id = $2 WHERE a.id = $1 AND "
			     "a.pool_id <> p.id ON CONFLICT DO NOTHING",
			     LEASE_PARAMS(params));

	return err < 0 ? err : 0;
}

/* Let a new agent serve the pools of its further tokens. */
static int serve_further(struct store *s, struct db *db, int64_t agent_id,
			 const json_t *tokens)
{
	const json_t *token;
	int64_t pool = 0;
	int err = 0;
	size_t i;

	json_array_foreach(tokens, i, token)
	{
		err = pool_of(s, db, json_string_value(token), &pool);
		if (!err)
			err = serve_pool(db, agent_id, pool);
		if (err)
			return err;
	}
	return 0;
}

static int enrol(struct store *s, struct db *db, const struct agent_new *agent,
		 const char *secret, const char *features,
		 const char *calibration, int64_t *ret_id)
{
	uint8_t secret_hashed[SECRET_HASH_BYTES] = {0};
	int64_t pool = 0;
	int err;

	secret_hash(store_secrets(s), secret, secret_hashed);
	err = pool_of(s, db, agent->token, &pool);
	if (err)
		return err;
	const struct db_value params[] = {
		DB_I(pool),
		db_text(agent->name),
		db_blob(secret_hashed, sizeof(secret_hashed)),
		db_text(agent->version),
		DB_I(agent->protocol),
		db_text(features),
		DB_I(agent->capacity),
		db_text(agent->address),
		DB_I(agent->now),
		db_text(calibration),
	};
	err = lease_integer(db,
			    "INSERT INTO agent (pool_id, name, secret_hash, "
			    "version, protocol, features_json, capacity, "
			    "address, last_seen, created_at, calibration_json) "
			    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, "
			    "$10) RETURNING id",
			    LEASE_PARAMS(params), ret_id);
	return err ? err : serve_further(s, db, *ret_id, agent->further_tokens);
}

int store_agent_enrol(struct store *s, const struct agent_new *agent,
		      char secret[SECRET_TOKEN_BYTES], int64_t *ret_id)
{
	char *features = agent->features
				 ? json_dumps(agent->features, JSON_COMPACT)
				 : NULL;
	char *calibration = agent->calibration ? json_dumps(agent->calibration,
							    JSON_COMPACT)
					       : NULL;
	int64_t id = 0;
	struct db *db;
	int err = (agent->features && !features) ||
				  (agent->calibration && !calibration)
			  ? -ENOMEM
			  : 0;

	secret_token(secret);
	if (!err)
		err = store_write_begin(s, &db);
	if (!err) {
		err = enrol(s, db, agent, secret, features ? features : "[]",
			    calibration, &id);
		err = store_write_end(s, err);
	}
	free(features);
	free(calibration);
	if (err < 0)
		return err;
	*ret_id = id;
	return 0;
}

static int name_row(const struct db_value *row, size_t columns, void *arg)
{
	(void)columns;
	return str_copy(arg, STORE_AGENT_NAME_BYTES, row[0].bytes) ? -EMSGSIZE
								   : 0;
}

int store_agent_name(struct store *s, int64_t id,
		     char ret[static STORE_AGENT_NAME_BYTES])
{
	const struct db_value param = DB_I(id);
	int rows = db_query(store_reader(s),
			    "SELECT name FROM agent WHERE id = $1", &param, 1,
			    name_row, ret);

	if (rows < 0)
		return rows;
	return rows ? 0 : -ENOENT;
}

/* ---- pools ---- */

struct further {
	json_t *ids;
	json_t *names;
};

static int further_row(const struct db_value *row, size_t columns, void *arg)
{
	struct further *f = arg;

	(void)columns;
	return json_array_append_new(f->ids, json_integer(row[0].integer)) ||
			       json_array_append_new(f->names,
						     json_string(row[1].bytes))
		       ? -ENOMEM
		       : 0;
}

int store_agent_further_pools(struct store *s, int64_t id, json_t **ret_ids,
			      json_t **ret_names)
{
	const struct db_value param = DB_I(id);
	struct further f = {json_array(), json_array()};
	int rows = db_query(store_reader(s),
			    "SELECT f.pool_id, p.name FROM agent_further_pool "
			    "f JOIN agent_pool p ON p.id = f.pool_id "
			    "WHERE f.agent_id = $1 ORDER BY f.pool_id",
			    &param, 1, further_row, &f);

	if (rows < 0) {
		json_decref(f.ids);
		json_decref(f.names);
		return rows;
	}
	*ret_ids = f.ids;
	*ret_names = f.names;
	return 0;
}

int store_agent_serve(struct store *s, struct db *db, int64_t id,
		      json_t *values)
{
	const struct db_value param = DB_I(id);
	const json_t *pool;
	size_t i;
	int err = lease_exec(db,
			     "DELETE FROM agent_further_pool "
			     "WHERE agent_id = $1",
			     &param, 1);

	(void)s;
	json_array_foreach(json_object_get(values, "further_pool_ids"), i, pool)
	{
		if (err >= 0)
			err = serve_pool(db, id, json_integer_value(pool));
	}
	return err < 0 ? err : 0;
}
