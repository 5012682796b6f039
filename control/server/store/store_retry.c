#include "control/server/store/store_follow.h"

#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <stdlib.h>

struct retry_row {
	struct store *store;
	struct retry_turn turn;
};

static int open_test(struct store *s, const struct db_value *box, json_t **ret)
{
	char *text;
	size_t len;
	int err = secret_open(store_secrets(s), RETRY_BOX, box->bytes, box->len,
			      &text, &len);

	if (err)
		return err == -EBADMSG ? 0 : err;
	*ret = json_loadb(text, len, 0, NULL);
	secret_wipe_free(text, len);
	return 0;
}

static int retry_row(const struct db_value *row, size_t columns, void *arg)
{
	struct retry_row *r = arg;
	struct retry_turn *t = &r->turn;

	(void)columns;
	t->run_id = row[0].integer;
	(void)str_copy(t->session_id, sizeof(t->session_id), row[1].bytes);
	(void)str_copy(t->report_mode, sizeof(t->report_mode), row[2].bytes);
	t->attempt = (unsigned)row[3].integer + 1;
	t->retries_left = (unsigned)row[4].integer - 1;
	t->project_run_id = row[5].type == DB_INT ? row[5].integer : 0;
	t->project_position = row[6].type == DB_INT ? row[6].integer : 0;
	return row[7].type == DB_BLOB ? open_test(r->store, &row[7], &t->test)
				      : 0;
}

int store_retry_next(struct store *s, struct retry_turn *ret)
{
	struct retry_row r = {.store = s};
	int err;

	err = db_query(store_reader(s),
		       "SELECT id, session_id, report_mode, attempt, "
		       "retries_left, project_run_id, project_position, "
		       "retry_box FROM run WHERE retry_state = 'due' "
		       "ORDER BY id LIMIT 1",
		       NULL, 0, retry_row, &r);
	if (err <= 0)
		return err;
	*ret = r.turn;
	return 1;
}

int store_retry_refuse(struct store *s, int64_t run_id)
{
	const struct db_value params[] = {DB_I(run_id)};
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = lease_exec(db,
			 "UPDATE run SET retry_state = 'refused', "
			 "retry_box = NULL, callback_state = CASE WHEN "
			 "callback_state = 'wanted' THEN 'due' ELSE "
			 "callback_state END "
			 "WHERE id = $1 AND retry_state = 'due'",
			 LEASE_PARAMS(params));
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

int retry_call_off(struct db *db, const char *column, int64_t value)
{
	const struct db_value params[] = {DB_I(value)};
	char sql[512];

	if (str_print(sql, sizeof(sql),
		      "UPDATE run SET retries_left = 0, retry_box = NULL, "
		      "callback_state = CASE WHEN retry_state = 'due' AND "
		      "callback_state = 'wanted' THEN 'due' ELSE "
		      "callback_state END, retry_state = CASE WHEN "
		      "retry_state = 'due' THEN 'refused' ELSE retry_state END "
		      "WHERE %s = $1 AND (retry_state = 'due' OR (phase <> "
		      "'done' AND retries_left > 0))",
		      column) < 0)
		return -EIO;
	return lease_exec(db, sql, LEASE_PARAMS(params));
}
