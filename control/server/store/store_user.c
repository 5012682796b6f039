#include "control/server/store/store_user.h"

#include "base/str.h"
#include "control/server/store/audit_entry.h"
#include "control/server/store/store_db.h"
#include "control/server/store/store_key.h"

#include <errno.h>
#include <string.h>

/* As for keys: a write for each request would be slow. */
#define USE_NOTED_MS 60000

int store_user_count(struct store *s, int64_t *ret)
{
	int err = db_query(store_reader(s), "SELECT count(*) FROM web_user",
			   NULL, 0, db_integer_row, ret);

	return err < 0 ? err : 0;
}

int store_user_admins(struct store *s, int64_t *ret)
{
	int err = db_query(store_reader(s),
			   "SELECT count(*) FROM web_user "
			   "WHERE rights = 'admin'",
			   NULL, 0, db_integer_row, ret);

	return err < 0 ? err : 0;
}

static int end_sessions(struct db *db, int64_t id)
{
	const struct db_value user = DB_I(id);

	return db_query(db, "DELETE FROM web_session WHERE user_id = $1", &user,
			1, NULL, NULL);
}

int store_user_children(struct store *s, struct db *db, int64_t id,
			json_t *values)
{
	(void)s;
	return json_object_get(values, "password_hash") ? end_sessions(db, id)
							: 0;
}

/* id, name, password_hash, rights */
static int user_row(const struct db_value *row, size_t columns, void *arg)
{
	struct web_user *user = arg;

	(void)columns;
	user->id = row[0].integer;
	if (str_copy(user->name, sizeof(user->name), row[1].bytes) ||
	    str_copy(user->password_hash, sizeof(user->password_hash),
		     row[2].bytes) ||
	    right_parse(row[3].bytes, &user->right))
		return -EIO;
	return 0;
}

int store_user_find(struct store *s, const char *name, struct web_user *ret)
{
	const struct db_value param = db_text(name);
	int err = db_query(store_reader(s),
			   "SELECT id, name, password_hash, rights "
			   "FROM web_user WHERE name = $1",
			   &param, 1, user_row, ret);

	return err == 0 ? -ENOENT : err < 0 ? err : 0;
}

static int put(struct db *db, const char *name, const char *password_hash,
	       const char *rights, int64_t *id)
{
	const struct db_value params[] = {db_text(name), db_text(password_hash),
					  db_text(rights),
					  DB_I(store_now_ms())};
	int err =
		db_query(db,
			 "INSERT INTO web_user (name, password_hash, rights, "
			 "created_at, updated_at) "
			 "VALUES ($1, $2, COALESCE($3, 'admin'), $4, $4) "
			 "ON CONFLICT (name) DO UPDATE SET "
			 "password_hash = $2, updated_at = $4, "
			 "rights = COALESCE($3, web_user.rights) RETURNING id",
			 params, 4, db_integer_row, id);

	return err > 0 ? end_sessions(db, *id) : err;
}

int store_user_put(struct store *s, const char *name, const char *password_hash,
		   const char *rights, int64_t *ret_id)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = put(db, name, password_hash, rights, ret_id);
	if (err >= 0)
		err = audit_record(*store_audit(s), db, "web_user", *ret_id);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

int store_user_first(struct store *s, const char *name,
		     const char *password_hash, int64_t *ret_id)
{
	int64_t count = 0;
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = db_query(db, "SELECT count(*) FROM web_user", NULL, 0,
		       db_integer_row, &count);
	if (err >= 0)
		err = count ? -EEXIST
			    : put(db, name, password_hash, "admin", ret_id);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

int store_session_begin(struct store *s, int64_t user_id,
			char token[static SECRET_TOKEN_BYTES])
{
	uint8_t hash[SECRET_HASH_BYTES];
	int64_t now = store_now_ms();
	struct db *db;
	int err;

	secret_token(token);
	secret_hash(store_secrets(s), token, hash);
	const struct db_value over[] = {DB_I(now - SESSION_IDLE_MS),
					DB_I(now - SESSION_MS)};
	const struct db_value params[] = {db_blob(hash, sizeof(hash)),
					  DB_I(user_id), DB_I(now)};
	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = db_query(db,
		       "DELETE FROM web_session WHERE seen_at < $1 "
		       "OR created_at < $2",
		       over, 2, NULL, NULL);
	if (err >= 0)
		err = db_query(db,
			       "INSERT INTO web_session (token_hash, user_id, "
			       "created_at, seen_at) VALUES ($1, $2, $3, $3)",
			       params, 3, NULL, NULL);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

struct found_session {
	struct web_user user;
	int64_t seen_at;
};

static int session_row(const struct db_value *row, size_t columns, void *arg)
{
	struct found_session *found = arg;

	found->seen_at = row[4].integer;
	return user_row(row, columns, &found->user);
}

static void note_use(struct store *s, const struct db_value *hash, int64_t now)
{
	const struct db_value params[] = {*hash, DB_I(now)};
	struct db *db;

	if (store_write_begin(s, &db))
		return;
	store_write_end(s, db_query(db,
				    "UPDATE web_session SET seen_at = $2 "
				    "WHERE token_hash = $1",
				    params, 2, NULL, NULL));
}

int store_session_find(struct store *s, const char *token, struct web_user *ret)
{
	struct found_session found = {.seen_at = 0};
	uint8_t hash[SECRET_HASH_BYTES];
	int64_t now = store_now_ms();
	int err;

	secret_hash(store_secrets(s), token, hash);
	/* looked up by keyed hash: the time tells nothing about the token */
	const struct db_value params[] = {db_blob(hash, sizeof(hash)),
					  DB_I(now - SESSION_IDLE_MS),
					  DB_I(now - SESSION_MS)};
	err = db_query(store_reader(s),
		       "SELECT u.id, u.name, u.password_hash, u.rights, "
		       "w.seen_at FROM web_session w "
		       "JOIN web_user u ON u.id = w.user_id "
		       "WHERE w.token_hash = $1 AND w.seen_at >= $2 "
		       "AND w.created_at >= $3",
		       params, 3, session_row, &found);
	if (err <= 0)
		return err == 0 ? -EACCES : err;
	if (now - found.seen_at >= USE_NOTED_MS)
		note_use(s, &params[0], now);
	*ret = found.user;
	return 0;
}

int store_session_end(struct store *s, const char *token)
{
	uint8_t hash[SECRET_HASH_BYTES];
	struct db *db;
	int err;

	secret_hash(store_secrets(s), token, hash);
	const struct db_value param = db_blob(hash, sizeof(hash));
	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = db_query(db, "DELETE FROM web_session WHERE token_hash = $1",
		       &param, 1, NULL, NULL);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}
