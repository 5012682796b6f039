#include "control/server/store/store_lease_agent.h"

#include "base/str.h"
#include "control/server/store/store_lease_db.h"

#include <errno.h>
#include <stdlib.h>

static int enrol(struct store *s, struct db *db, const struct agent_new *agent,
		 const char *secret, const char *features, int64_t *ret_id)
{
	uint8_t token_hash[SECRET_HASH_BYTES] = {0};
	uint8_t secret_hashed[SECRET_HASH_BYTES] = {0};
	const struct db_value token = db_blob(token_hash, sizeof(token_hash));
	int64_t pool = 0;
	int err;

	secret_hash(store_secrets(s), agent->token, token_hash);
	secret_hash(store_secrets(s), secret, secret_hashed);
	err = lease_integer(db,
			    "SELECT id FROM agent_pool "
			    "WHERE join_token_hash = $1",
			    &token, 1, &pool);
	if (err)
		return err;
	if (!pool)
		return -EACCES;
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
	};
	return lease_integer(db,
			     "INSERT INTO agent (pool_id, name, secret_hash, "
			     "version, protocol, features_json, capacity, "
			     "address, last_seen, created_at) VALUES ($1, $2, "
			     "$3, $4, $5, $6, $7, $8, $9, $9) RETURNING id",
			     LEASE_PARAMS(params), ret_id);
}

int store_agent_enrol(struct store *s, const struct agent_new *agent,
		      char secret[SECRET_TOKEN_BYTES], int64_t *ret_id)
{
	char *features = agent->features
				 ? json_dumps(agent->features, JSON_COMPACT)
				 : NULL;
	int64_t id = 0;
	struct db *db;
	int err;

	if (agent->features && !features)
		return -ENOMEM;
	secret_token(secret);
	err = store_write_begin(s, &db);
	if (!err) {
		err = enrol(s, db, agent, secret, features ? features : "[]",
			    &id);
		err = store_write_end(s, err);
	}
	free(features);
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
