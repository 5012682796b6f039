#include "control/server/store/store_key.h"

#include "base/str.h"
#include "control/server/store/audit_entry.h"
#include "control/server/store/store_db.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* last_used_at is updated at most this often: a write for each request would be
 * slow */
#define USE_NOTED_MS 60000

static const struct {
	const char *name;
	enum api_right right;
} rights[] = {
	{"read", RIGHT_READ},
	{"run", RIGHT_RUN},
	{"write", RIGHT_WRITE},
	{"admin", RIGHT_ADMIN},
};

int right_parse(const char *text, enum api_right *ret)
{
	for (size_t i = 0; i < sizeof(rights) / sizeof(*rights); i++) {
		if (strcmp(text, rights[i].name) == 0) {
			*ret = rights[i].right;
			return 0;
		}
	}
	return -EINVAL;
}

const char *right_text(enum api_right right)
{
	for (size_t i = 0; i < sizeof(rights) / sizeof(*rights); i++) {
		if (rights[i].right == right)
			return rights[i].name;
	}
	return "";
}

void store_key_names(char public_key[static PUBLIC_KEY_BYTES],
		     char secret[static SECRET_TOKEN_BYTES])
{
	uint8_t raw[10];

	randombytes_buf(raw, sizeof(raw));
	memcpy(public_key, "ok_", 3);
	sodium_bin2hex(public_key + 3, PUBLIC_KEY_BYTES - 3, raw, sizeof(raw));
	secret_token(secret);
}

int store_key_create(struct store *s, const char *name, const char *rights_text,
		     int64_t expires_at_ms, char public_key[PUBLIC_KEY_BYTES],
		     char secret[SECRET_TOKEN_BYTES], int64_t *ret_id)
{
	uint8_t hash[SECRET_HASH_BYTES];
	struct db *db;
	int64_t id = 0;
	int err;

	store_key_names(public_key, secret);
	secret_hash(store_secrets(s), secret, hash);
	const struct db_value params[] = {
		db_text(public_key),
		db_blob(hash, sizeof(hash)),
		db_text(name),
		db_text(rights_text),
		DB_I(store_now_ms()),
		expires_at_ms ? DB_I(expires_at_ms) : db_text(NULL),
	};
	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = db_query(db,
		       "INSERT INTO api_key (public_key, secret_hash, name, "
		       "rights, created_at, expires_at) "
		       "VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
		       params, 6, db_integer_row, &id);
	if (err >= 0)
		err = audit_record(*store_audit(s), db, "api_key", id);
	err = store_write_end(s, err);
	if (err < 0)
		return err;
	*ret_id = id;
	return 0;
}

struct verified {
	int64_t id;
	uint8_t hash[SECRET_HASH_BYTES]; /* all zeros match no token */
	char rights[8];
	int64_t last_used_at;
	int64_t expires_at; /* 0: never */
};

static int hash_row(const struct db_value *row, size_t columns, void *arg)
{
	struct verified *v = arg;

	if (row[1].len != sizeof(v->hash))
		return -EIO;
	v->id = row[0].integer;
	memcpy(v->hash, row[1].bytes, sizeof(v->hash));
	if (columns < 5)
		return 0;
	v->last_used_at = row[3].integer;
	v->expires_at = row[4].integer;
	return str_copy(v->rights, sizeof(v->rights), row[2].bytes);
}

/* Keys that this thread has read. Any change of the database drops all of them.
 */
#define CACHED_KEYS 8

struct key_cache {
	uint64_t changes;
	size_t count;
	size_t next;
	struct {
		char public_key[PUBLIC_KEY_BYTES];
		struct verified row;
	} keys[CACHED_KEYS];
};

static void cache_free(void *cache)
{
	sodium_memzero(cache, sizeof(struct key_cache));
	free(cache);
}

static bool cache_find(struct store *s, uint64_t changes,
		       const char *public_key, struct verified *ret)
{
	const struct key_cache *cache = store_cache(s, STORE_CACHE_KEYS);

	if (!cache || cache->changes != changes)
		return false;
	for (size_t i = 0; i < cache->count; i++) {
		if (strcmp(cache->keys[i].public_key, public_key) == 0) {
			*ret = cache->keys[i].row;
			return true;
		}
	}
	return false;
}

/* @param changes  store_changes() before the row was read */
static void cache_add(struct store *s, uint64_t changes, const char *public_key,
		      const struct verified *row)
{
	struct key_cache *cache = store_cache(s, STORE_CACHE_KEYS);
	size_t at;

	if (strlen(public_key) >= PUBLIC_KEY_BYTES)
		return; /* not cached: read again next time */
	if (!cache) {
		cache = calloc(1, sizeof(*cache));
		if (!cache)
			return;
		store_cache_keep(s, STORE_CACHE_KEYS, cache, cache_free);
	}
	if (cache->changes != changes) {
		cache->changes = changes;
		cache->count = cache->next = 0;
	}
	at = cache->next++ % CACHED_KEYS;
	if (cache->count < CACHED_KEYS)
		cache->count++;
	str_copy(cache->keys[at].public_key, PUBLIC_KEY_BYTES, public_key);
	cache->keys[at].row = *row;
}

static int read_key(struct store *s, const char *public_key,
		    struct verified *ret)
{
	const struct db_value param = db_text(public_key);
	/* PostgreSQL: to ask for changes is as much work as to read the row */
	const bool cached = db_dialect(store_reader(s)) == DB_SQLITE;
	uint64_t changes = cached ? store_changes(s) : 0;
	int err;

	if (cached && cache_find(s, changes, public_key, ret))
		return 0;
	err = db_query(store_reader(s),
		       "SELECT id, secret_hash, rights, last_used_at, "
		       "expires_at FROM api_key WHERE public_key = $1",
		       &param, 1, hash_row, ret);
	if (err > 0 && cached)
		cache_add(s, changes, public_key, ret);
	return err < 0 ? err : 0;
}

static void note_use(struct store *s, int64_t id, int64_t now_ms)
{
	const struct db_value params[] = {DB_I(id), DB_I(now_ms)};
	struct db *db;

	/* a request does not fail because last_used_at was not written */
	if (store_write_begin(s, &db))
		return;
	store_write_end(s, db_query(db,
				    "UPDATE api_key SET last_used_at = $2 "
				    "WHERE id = $1",
				    params, 2, NULL, NULL));
}

int store_key_verify(struct store *s, const char *public_key,
		     const char *secret, struct api_key *ret)
{
	int64_t now_ms = store_now_ms();
	struct verified v = {.id = 0};
	enum api_right right;
	bool matches;
	int err;

	err = read_key(s, public_key, &v);
	if (err)
		return err;
	matches = secret_matches(store_secrets(s), secret, v.hash);
	if (!matches || v.id == 0 || right_parse(v.rights, &right) ||
	    (v.expires_at && v.expires_at <= now_ms))
		return -EACCES;
	if (now_ms - v.last_used_at >= USE_NOTED_MS)
		note_use(s, v.id, now_ms);
	ret->id = v.id;
	ret->right = right;
	return 0;
}

int store_agent_verify(struct store *s, const char *agent_id,
		       const char *secret, int64_t *ret)
{
	struct verified v = {.id = 0};
	struct db_value param;
	uint64_t id = 0;
	bool matches;
	int err;

	if (str_to_u64(agent_id, INT64_MAX, &id))
		id = 0; /* no agent has this id */
	param = DB_I((int64_t)id);
	err = db_query(store_reader(s),
		       "SELECT id, secret_hash FROM agent WHERE id = $1",
		       &param, 1, hash_row, &v);
	if (err < 0)
		return err;
	matches = secret_matches(store_secrets(s), secret, v.hash);
	if (!matches || v.id == 0)
		return -EACCES;
	*ret = v.id;
	return 0;
}
