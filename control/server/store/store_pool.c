#include "control/server/store/store_pool.h"

#include "control/server/store/store_db.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Is the pool with the token the one of this name? */
struct owner {
	const char *name;
	bool is_it;
};

static int owner_row(const struct db_value *row, size_t columns, void *arg)
{
	struct owner *owner = arg;

	(void)columns;
	owner->is_it = strcmp(row[0].bytes, owner->name) == 0;
	return 0;
}

static int put(struct db *db, const char *name,
	       const uint8_t hash[static SECRET_HASH_BYTES])
{
	struct owner owner = {.name = name, .is_it = false};
	const struct db_value token = db_blob(hash, SECRET_HASH_BYTES);
	const struct db_value params[] = {
		db_text(name),
		token,
		DB_I(store_now_ms()),
	};
	int rows = db_query(db,
			    "SELECT name FROM agent_pool "
			    "WHERE join_token_hash = $1",
			    &token, 1, owner_row, &owner);

	if (rows < 0)
		return rows;
	if (rows > 0)
		return owner.is_it ? 0 : -EEXIST;
	rows = db_query(db,
			"INSERT INTO agent_pool (name, join_token_hash, "
			"created_at, updated_at) VALUES ($1, $2, $3, $3) "
			"ON CONFLICT (name) DO UPDATE "
			"SET join_token_hash = $2, updated_at = $3",
			params, 3, NULL, NULL);
	return rows < 0 ? rows : 1;
}

int store_pool_token(struct store *s, const char *name, const char *token)
{
	uint8_t hash[SECRET_HASH_BYTES];
	struct db *db;
	int err;

	secret_hash(store_secrets(s), token, hash);
	err = store_write_begin(s, &db);
	if (err)
		return err;
	return store_write_end(s, put(db, name, hash));
}
