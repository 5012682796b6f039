#include "control/server/store/store_idempotency.h"

#include "control/server/store/store_db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct found {
	struct idempotency *asked;
	unsigned status;
	json_t *response;
};

static int kept_row(const struct db_value *row, size_t columns, void *arg)
{
	struct found *found = arg;

	(void)columns;
	if (row[0].len != IDEMPOTENCY_HASH_BYTES ||
	    memcmp(row[0].bytes, found->asked->hash, row[0].len) != 0)
		return -EEXIST;
	if (row[1].type == DB_NULL && row[3].type == DB_NULL)
		return -EBUSY;
	if (row[1].type == DB_NULL)
		return str_copy(found->asked->started,
				sizeof(found->asked->started), row[3].bytes) < 0
			       ? -EIO
			       : 0;
	found->status = (unsigned)row[1].integer;
	found->response = json_loadb(row[2].bytes, row[2].len, 0, NULL);
	return found->response ? 0 : -EIO;
}

/* Delete expired keys. With PostgreSQL also claims older than IDEMPOTENCY_LAPSE_MS whose
 * requests have started no run: their controller is taken as dead. If it is not, the
 * run that such a request starts later is refused. With SQLite there is one controller,
 * and its next start deletes the claims that a crash left. */
static int free_lapsed(struct db *db, int64_t now_ms)
{
	const struct db_value before[] = {DB_I(now_ms - IDEMPOTENCY_MS),
					  DB_I(now_ms - IDEMPOTENCY_LAPSE_MS)};
	const bool lapse = db_dialect(db) == DB_POSTGRESQL;

	return db_query(db,
			lapse ? "DELETE FROM idempotency WHERE created_at < $1 "
				"OR (created_at < $2 AND status IS NULL "
				"AND started IS NULL)"
			      : "DELETE FROM idempotency WHERE created_at < $1",
			before, lapse ? 2 : 1, NULL, NULL);
}

/* @return 1 claimed; 0 another request has the key; -EIO */
static int insert(struct store *s, const struct idempotency *i, int64_t now_ms)
{
	const struct db_value params[] = {
		DB_I(i->key_id),
		db_text(i->name),
		db_blob(i->hash, sizeof(i->hash)),
		DB_I(now_ms),
	};
	struct db *db;
	int err;

	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = free_lapsed(db, now_ms);
	if (err >= 0)
		err = db_query(db,
			       "INSERT INTO idempotency "
			       "(key_id, name, request_hash, created_at) "
			       "VALUES ($1, $2, $3, $4) "
			       "ON CONFLICT (key_id, name) DO NOTHING",
			       params, 4, NULL, NULL);
	return store_write_end(s, err);
}

int store_idempotency_claim(struct store *s, struct idempotency *i,
			    int64_t now_ms, unsigned *status, json_t **response)
{
	const struct db_value params[] = {DB_I(i->key_id), db_text(i->name)};
	struct found found = {.asked = i, .response = NULL};
	int err;

	i->claimed_ms = now_ms;
	i->started[0] = '\0';
	err = insert(s, i, now_ms);
	if (err > 0)
		*store_claim(s) = i;
	if (err)
		return err < 0 ? err : 0;
	err = db_query(store_reader(s),
		       "SELECT request_hash, status, response_json, started "
		       "FROM idempotency WHERE key_id = $1 AND name = $2",
		       params, 2, kept_row, &found);
	if (err == 0)
		return -EBUSY; /* it was dropped meanwhile: claim again */
	if (err < 0)
		return err;
	if (i->started[0])
		return 2;
	*status = found.status;
	*response = found.response;
	return 1;
}

static int change(struct store *s, const char *sql,
		  const struct db_value *params, size_t count)
{
	struct db *db;
	int err;

	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = store_write_end(s, db_query(db, sql, params, count, NULL, NULL));
	return err < 0 ? err : 0;
}

int store_idempotency_finish(struct store *s, const struct idempotency *i,
			     unsigned status, json_t *response)
{
	char *text = json_dumps(response, JSON_COMPACT);
	int err;

	*store_claim(s) = NULL;
	if (!text)
		return -ENOMEM;
	const struct db_value params[] = {
		DB_I(i->key_id), db_text(i->name),    DB_I(status),
		db_text(text),   DB_I(i->claimed_ms),
	};
	err = change(s,
		     "UPDATE idempotency SET status = $3, response_json = $4 "
		     "WHERE key_id = $1 AND name = $2 AND created_at = $5",
		     params, 5);
	free(text);
	return err;
}

int store_idempotency_drop(struct store *s, const struct idempotency *i)
{
	const struct db_value params[] = {DB_I(i->key_id), db_text(i->name),
					  DB_I(i->claimed_ms)};

	*store_claim(s) = NULL;
	return change(s,
		      "DELETE FROM idempotency WHERE key_id = $1 AND "
		      "name = $2 AND created_at = $3 AND status IS NULL "
		      "AND started IS NULL",
		      params, 3);
}

int idempotency_started(struct store *s, struct db *db, const char *uuid)
{
	const struct idempotency *i = *store_claim(s);
	int err;

	if (!i)
		return 0;
	const struct db_value params[] = {
		DB_I(i->key_id),
		db_text(i->name),
		db_text(uuid),
		DB_I(i->claimed_ms),
	};
	err = db_query(db,
		       "UPDATE idempotency SET started = $3 WHERE key_id = $1 "
		       "AND name = $2 AND created_at = $4",
		       params, 4, NULL, NULL);
	return err < 0 ? err : err ? 0 : -EBUSY;
}
