#include "control/server/store/store_audit.h"

#include "control/server/store/record_json.h"
#include "control/server/store/store_db.h"

#include <errno.h>

void store_audit_of(struct store *s, struct audit *audit)
{
	*store_audit(s) = audit;
}

void store_audit_actor(struct store *s, int64_t key_id)
{
	struct audit *a = *store_audit(s);

	if (a)
		a->key_id = key_id;
}

int store_audit_refused(struct store *s, int64_t user_id)
{
	const struct audit *a = *store_audit(s);
	struct db *db;
	int err;

	if (!a)
		return 0;
	err = store_write_begin(s, &db);
	if (err)
		return err;
	if (user_id)
		err = audit_record(a, db, "web_user", user_id);
	if (!err)
		err = db_query(db,
			       "UPDATE audit SET outcome = 'refused' "
			       "WHERE id = $1",
			       (struct db_value[]){DB_I(a->entry)}, 1, NULL,
			       NULL);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

/* ---- reading ---- */

static int entry_row(const struct db_value *row, size_t columns, void *arg)
{
	static const char *const names[] = {
		"id",        "at",         "actor_kind", "actor_id", "actor",
		"address",   "request_id", "method",     "path",     "kind",
		"record_id", "record",     "outcome"};
	json_t *entry = json_object();
	int err = 0;

	for (size_t i = 0; i < columns; i++)
		err |= json_object_set_new(entry, names[i],
					   i == 1 ? record_time(&row[i])
						  : record_value(&row[i]));
	if (err) {
		json_decref(entry);
		return -ENOMEM;
	}
	return json_array_append_new(arg, entry) ? -ENOMEM : 0;
}

#define SELECTED                                                          \
	" FROM audit WHERE (CAST($1 AS TEXT) IS NULL OR actor = $1) AND " \
	"(CAST($2 AS TEXT) IS NULL OR kind = $2) AND "                    \
	"(CAST($3 AS TEXT) IS NULL OR outcome = $3) AND "                 \
	"(CAST($4 AS TEXT) IS NULL OR request_id = $4) AND at >= $5 AND " \
	"($6 = 0 OR at < $6)"
#define COLUMNS                                                 \
	"SELECT id, at, actor_kind, actor_id, actor, address, " \
	"request_id, method, path, kind, record_id, record, outcome"

int store_audit_list(struct store *s, const struct audit_query *query,
		     json_t **ret, int64_t *total)
{
	const struct db_value params[] = {
		db_text(query->actor),   db_text(query->kind),
		db_text(query->outcome), db_text(query->request_id),
		DB_I(query->since_ms),   DB_I(query->until_ms),
		DB_I(query->count),      DB_I(query->start),
	};
	json_t *list = json_array();
	int err;

	err = db_query(store_reader(s), "SELECT count(*)" SELECTED, params, 6,
		       db_integer_row, total);
	if (err >= 0)
		err = db_query(store_reader(s),
			       COLUMNS SELECTED
			       " ORDER BY id DESC LIMIT $7 OFFSET $8",
			       params, 8, entry_row, list);
	if (err < 0) {
		json_decref(list);
		return err;
	}
	*ret = list;
	return 0;
}
