#include "control/server/store/store_artifact.h"

#include "control/server/store/record_db.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_lease_view.h"
#include "control/server/store/store_run_internal.h"
#include "control/wire/artifact.h"

#include <errno.h>
#include <string.h>

static const struct column columns[] = {
	{"role", "a.role", NULL, COLUMN_TEXT},
	{"name", "a.name", NULL, COLUMN_TEXT},
	{"media_type", "a.media_type", NULL, COLUMN_TEXT},
	{"size", "a.size", NULL, COLUMN_INT},
	{"sha256", "a.sha256", NULL, COLUMN_TEXT},
	{"created_at", "a.created_at", NULL, COLUMN_TIME},
};

static const struct table table = {
	.name = "artifact",
	.from = "artifact a",
	.id = "a.role, a.name",
	.columns = columns,
	.column_count = sizeof(columns) / sizeof(*columns),
};

struct held {
	int64_t count;
	int64_t bytes;
	char session_id[UUID_TEXT_BYTES];
};

static int held_row(const struct db_value *row, size_t count, void *arg)
{
	struct held *h = arg;

	(void)count;
	h->count = row[0].integer;
	h->bytes = row[1].integer;
	return str_copy(h->session_id, sizeof(h->session_id), row[2].bytes)
		       ? -EIO
		       : 0;
}

/* Check the limits against the run's other artifacts: one of the same role and
 * name will be replaced. */
static int check(struct db *db, const struct artifact *a,
		 const struct lease_times *times, struct lease_view *v,
		 struct held *held)
{
	int err = lease_view(db, a->lease_id, a->agent_id, v);

	if (err)
		return err;
	if (!lease_uploads(v, times))
		return -ESTALE;
	const struct db_value params[] = {DB_I(v->run_id), db_text(v->role),
					  db_text(a->name)};

	err = db_query(db,
		       "SELECT (SELECT count(*) FROM artifact WHERE "
		       "run_id = $1 AND NOT (role = $2 AND name = $3)), "
		       "(SELECT coalesce(sum(size), 0) FROM artifact WHERE "
		       "run_id = $1 AND NOT (role = $2 AND name = $3)), "
		       "session_id FROM run WHERE id = $1",
		       LEASE_PARAMS(params), held_row, held);
	if (err <= 0)
		return err < 0 ? err : -ENOENT;
	if (held->count >= ARTIFACTS_PER_RUN || a->size > a->run_limit_bytes ||
	    held->bytes > a->run_limit_bytes - a->size)
		return -EFBIG;
	return 0;
}

int store_artifact_check(struct store *s, const struct artifact *a,
			 const struct lease_times *times,
			 char session_id[static UUID_TEXT_BYTES])
{
	struct lease_view v;
	struct held held;
	int err = check(store_reader(s), a, times, &v, &held);

	if (err == 0)
		memcpy(session_id, held.session_id, UUID_TEXT_BYTES);
	return err;
}

static int put(struct db *db, const struct artifact *a,
	       const struct lease_view *v, int64_t now,
	       char old_file[static UUID_TEXT_BYTES])
{
	const struct db_value params[] = {
		DB_I(v->run_id),  db_text(v->role),
		db_text(a->name), db_text(wire_artifact_type(a->name)),
		DB_I(a->size),    db_text(a->sha256),
		db_text(a->file), DB_I(now)};
	int old, err;

	old_file[0] = '\0';
	old = db_query(db,
		       "SELECT file FROM artifact WHERE run_id = $1 AND "
		       "role = $2 AND name = $3",
		       params, 3, db_uuid_row, old_file);
	if (old < 0)
		return old;
	err = lease_exec(db,
			 "INSERT INTO artifact (run_id, role, name, "
			 "media_type, size, sha256, file, created_at) VALUES "
			 "($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT "
			 "(run_id, role, name) DO UPDATE SET size = $5, "
			 "sha256 = $6, file = $7, created_at = $8",
			 LEASE_PARAMS(params));
	return err < 0 ? err : old;
}

int store_artifact_put(struct store *s, const struct artifact *a,
		       const struct lease_times *times,
		       char old_file[static UUID_TEXT_BYTES])
{
	struct lease_view v;
	struct held held;
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = check(db, a, times, &v, &held);
	if (err == 0)
		err = put(db, a, &v, times->now, old_file);
	return store_write_end(s, err);
}

int store_artifact_list(struct store *s, int64_t run_id,
			const struct page *page, json_t **ret, int64_t *total)
{
	const struct db_value param = DB_I(run_id);
	const struct selection of_run = {.where = "a.run_id = $1",
					 .params = &param,
					 .count = 1,
					 .order = table.id};

	return record_select(s, &table, &of_run, page, ret, total);
}

static int found_row(const struct db_value *row, size_t count, void *arg)
{
	struct artifact_found *f = arg;

	(void)count;
	return str_copy(f->file, sizeof(f->file), row[0].bytes) ||
			       str_copy(f->sha256, sizeof(f->sha256),
					row[1].bytes)
		       ? -EIO
		       : 0;
}

int store_artifact_find(struct store *s, int64_t run_id, const char *role,
			const char *name, struct artifact_found *ret)
{
	const struct db_value params[] = {DB_I(run_id), db_text(role),
					  db_text(name)};
	int rows = db_query(store_reader(s),
			    "SELECT file, sha256 FROM artifact WHERE "
			    "run_id = $1 AND role = $2 AND name = $3",
			    LEASE_PARAMS(params), found_row, ret);

	return rows == 0 ? -ENOENT : rows < 0 ? rows : 0;
}

struct each {
	artifact_file_h *handler;
	void *arg;
};

static int each_row(const struct db_value *row, size_t count, void *arg)
{
	const struct each *each = arg;

	(void)count;
	return each->handler(row[0].bytes, row[1].bytes, each->arg);
}

int store_artifact_each(struct store *s, int64_t run_id, const char *name,
			artifact_file_h *handler, void *arg)
{
	const struct db_value params[] = {DB_I(run_id), db_text(name)};
	struct each each = {handler, arg};
	int rows = db_query(store_reader(s),
			    "SELECT role, file FROM artifact WHERE "
			    "run_id = $1 AND name = $2 ORDER BY role",
			    LEASE_PARAMS(params), each_row, &each);

	return rows < 0 ? rows : 0;
}

static int any_row(const struct db_value *row, size_t count, void *arg)
{
	(void)row;
	(void)count;
	(void)arg;
	return 0;
}

int store_artifact_session(struct store *s, const char *session_id)
{
	const struct db_value param = db_text(session_id);

	return db_query(
		store_reader(s),
		"SELECT 1 FROM run WHERE session_id = $1 AND " RUN_SHOWN,
		&param, 1, any_row, NULL);
}

int store_artifact_name_place(struct store *s, const char *uuid)
{
	const struct db_value param = db_text(uuid);
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = db_query(db,
		       "INSERT INTO setting (name, value) VALUES "
		       "('artifact_store', $1) ON CONFLICT (name) DO UPDATE "
		       "SET value = excluded.value",
		       &param, 1, NULL, NULL);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

int store_artifact_place(struct store *s, char uuid[static UUID_TEXT_BYTES])
{
	int rows = db_query(store_reader(s),
			    "SELECT value FROM setting "
			    "WHERE name = 'artifact_store'",
			    NULL, 0, db_uuid_row, uuid);

	return rows < 0 ? rows : rows ? 0 : -ENOENT;
}
