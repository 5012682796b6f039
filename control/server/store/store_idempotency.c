#include "control/server/store/store_idempotency.h"

#include "control/server/store/store_db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct found {
	const struct idempotency *asked;
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
	if (row[1].type == DB_NULL)
		return -EBUSY;
	found->status = (unsigned)row[1].integer;
	found->response = json_loadb(row[2].bytes, row[2].len, 0, NULL);
	return found->response ? 0 : -EIO;
}

/* @return 1 claimed; 0 another request has the key; -EIO */
static int insert(struct store *s, const struct idempotency *i, int64_t now_ms)
{
	const struct db_value oldest = DB_I(now_ms - IDEMPOTENCY_MS);
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
	err = db_query(db, "DELETE FROM idempotency WHERE created_at < $1",
		       &oldest, 1, NULL, NULL);
	if (err >= 0)
		err = db_query(db,
			       "INSERT INTO idempotency "
			       "(key_id, name, request_hash, created_at) "
			       "VALUES ($1, $2, $3, $4) "
			       "ON CONFLICT (key_id, name) DO NOTHING",
			       params, 4, NULL, NULL);
	return store_write_end(s, err);
}

int store_idempotency_claim(struct store *s, const struct idempotency *i,
			    int64_t now_ms, unsigned *status, json_t **response)
{
	const struct db_value params[] = {DB_I(i->key_id), db_text(i->name)};
	struct found found = {.asked = i, .response = NULL};
	int err;

	err = insert(s, i, now_ms);
	if (err > 0)
		*store_claim(s) = i;
	if (err)
		return err < 0 ? err : 0;
	err = db_query(store_reader(s),
		       "SELECT request_hash, status, response_json "
		       "FROM idempotency WHERE key_id = $1 AND name = $2",
		       params, 2, kept_row, &found);
	if (err == 0)
		return -EBUSY; /* it was dropped meanwhile: claim again */
	if (err < 0)
		return err;
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
		DB_I(i->key_id),
		db_text(i->name),
		DB_I(status),
		db_text(text),
	};
	err = change(s,
		     "UPDATE idempotency SET status = $3, response_json = $4 "
		     "WHERE key_id = $1 AND name = $2",
		     params, 4);
	free(text);
	return err;
}

int store_idempotency_drop(struct store *s, const struct idempotency *i)
{
	const struct db_value params[] = {DB_I(i->key_id), db_text(i->name)};

	*store_claim(s) = NULL;
	return change(s,
		      "DELETE FROM idempotency "
		      "WHERE key_id = $1 AND name = $2 AND status IS NULL",
		      params, 2);
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
	};
	err = db_query(db,
		       "UPDATE idempotency SET started = $3 "
		       "WHERE key_id = $1 AND name = $2",
		       params, 3, NULL, NULL);
	return err < 0 ? err : 0;
}
