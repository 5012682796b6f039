#include "control/server/store/audit_entry.h"

#include "base/clock.h"
#include "base/str.h"
#include "control/server/store/db.h"

#include <errno.h>
#include <string.h>

static const char *kind_of(const struct audit *a)
{
	if (a->actor_kind)
		return a->actor_kind;
	return a->key_id > 0 ? "key" : a->key_id < 0 ? "user" : "nobody";
}

static int64_t actor_id_of(const struct audit *a)
{
	if (a->actor_kind)
		return a->actor_id;
	return a->key_id < 0 ? -a->key_id : a->key_id;
}

int audit_begin(struct audit *a, struct db *db)
{
	struct db_value params[8];
	struct db_value oldest;
	int64_t actor_id;
	int err;

	if (!a || a->entry)
		return 0;
	actor_id = actor_id_of(a);
	params[0] = DB_I(clock_wall_ns() / NS_PER_MS);
	params[1] = db_text(kind_of(a));
	params[2] = actor_id ? DB_I(actor_id) : db_text(NULL);
	params[3] = db_text(a->address);
	params[4] = db_text(a->request_id);
	params[5] = db_text(a->method);
	params[6] = db_text(a->path);
	params[7] = db_text(a->actor);
	err = db_query(db,
		       "INSERT INTO audit (at, actor_kind, actor_id, actor, "
		       "address, request_id, method, path, outcome) VALUES "
		       "($1, $2, $3, CASE $2 WHEN 'key' THEN (SELECT name FROM "
		       "api_key WHERE id = $3) WHEN 'user' THEN (SELECT name "
		       "FROM web_user WHERE id = $3) ELSE $8 END, $4, $5, $6, "
		       "$7, 'changed') RETURNING id",
		       params, 8, db_integer_row, &a->entry);
	if (err < 0)
		return err;
	a->open = true;
	oldest = DB_I(a->entry - AUDIT_MAX);
	err = db_query(db, "DELETE FROM audit WHERE id <= $1", &oldest, 1, NULL,
		       NULL);
	return err < 0 ? err : 0;
}

void audit_end(struct audit *a, bool committed)
{
	if (!a || !a->open)
		return;
	a->open = false;
	if (!committed)
		a->entry = 0;
}

int audit_record(const struct audit *a, struct db *db, const char *table,
		 int64_t id)
{
	const bool of_test = strcmp(table, "run") == 0 ||
			     strcmp(table, "capacity_search") == 0;
	char sql[256];
	int err;

	if (!a || !a->open)
		return 0;
	if (str_print(sql, sizeof(sql),
		      "UPDATE audit SET kind = $2, record_id = $3, record = "
		      "(SELECT %s FROM %s WHERE id = $3) WHERE id = $1",
		      of_test ? "test_name" : "name", table) < 0)
		return -EIO;
	err = db_query(
		db, sql,
		(struct db_value[]){DB_I(a->entry), db_text(table), DB_I(id)},
		3, NULL, NULL);
	return err < 0 ? err : 0;
}

int audit_text(const struct audit *a, struct db *db, const char *table,
	       const char *text)
{
	int err;

	if (!a || !a->open)
		return 0;
	err = db_query(db,
		       "UPDATE audit SET kind = $2, record = $3 WHERE id = $1",
		       (struct db_value[]){DB_I(a->entry), db_text(table),
					   db_text(text)},
		       3, NULL, NULL);
	return err < 0 ? err : 0;
}
