#include "control/server/store/store_pool.h"

#include "control/server/store/record_json.h"
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

/* ---- calibrations ---- */

static int calibration_row(const struct db_value *row, size_t columns,
			   void *arg)
{
	struct pool_calibration *pool = arg;
	json_t *value = row[0].type == DB_TEXT ? record_json(&row[0]) : NULL;
	json_int_t calls = json_integer_value(json_object_get(value, "calls"));

	(void)columns;
	pool->calibrated += value != NULL;
	pool->uncalibrated += value == NULL;
	pool->calls += (uint64_t)calls;
	if ((uint64_t)calls > pool->calls_most)
		pool->calls_most = (uint64_t)calls;
	json_decref(value);
	return 0;
}

int store_pool_calibration(struct store *s, int64_t pool_id,
			   struct pool_calibration *ret)
{
	const struct db_value param = DB_I(pool_id);
	struct pool_calibration pool = {.calibrated = 0};
	int rows = db_query(store_reader(s),
			    "SELECT calibration_json FROM agent WHERE id IN "
			    "(SELECT agent_id FROM agent_serves WHERE pool_id "
			    "= $1)",
			    &param, 1, calibration_row, &pool);

	if (rows < 0)
		return -EIO;
	*ret = pool;
	return 0;
}
