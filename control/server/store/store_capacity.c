#include "control/server/store/store_capacity.h"

#include "control/server/store/audit_entry.h"
#include "control/server/store/record_json.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_run_internal.h"
#include "control/server/store/store_secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Searches that one transaction of retention deletes. */
#define EXPIRED_MAX 64

void capacity_search_release(struct capacity_search *search)
{
	json_decref(search->params);
	json_decref(search->trials);
	json_decref(search->test);
	*search = (struct capacity_search){.id = 0};
}

/* ---- making one ---- */

static int insert(struct db *db, const struct capacity_new *search,
		  struct db_value box, const char *params_text, int64_t *ret_id)
{
#define TEXT(name) \
	db_text(json_string_value(json_object_get(search->test, name)))
#define NUMBER(name) json_integer_value(json_object_get(search->test, name))
	const struct db_value params[] = {
		db_text(search->uuid),
		db_id_or_null(NUMBER("id")),
		TEXT("name"),
		db_id_or_null(NUMBER("project_id")),
		TEXT("project_name"),
		TEXT("agentpool_name"),
		db_text(params_text),
		box,
		db_id_or_null(search->key_id),
		DB_I(search->created_at),
	};

	return lease_integer(
		db,
		"INSERT INTO capacity_search (uuid, test_id, test_name, "
		"project_id, project_name, agentpool_name, params_json, "
		"test_box, key_id, created_at, next_at, status) VALUES ($1, "
		"$2, $3, $4, $5, $6, $7, $8, $9, $10, $10, 'running') "
		"RETURNING id",
		LEASE_PARAMS(params), ret_id);
#undef NUMBER
#undef TEXT
}

int store_capacity_create(struct store *s, const struct capacity_new *search,
			  int64_t *ret_id)
{
	char *text = json_dumps(search->params, JSON_COMPACT);
	uint8_t *box = NULL;
	size_t box_len = 0;
	int64_t id = 0;
	struct db *db;
	int err = text ? store_seal_json(s, CAPACITY_BOX, search->test, &box,
					 &box_len)
		       : -ENOMEM;

	if (!err)
		err = store_write_begin(s, &db);
	if (err)
		goto out;
	err = insert(db, search, db_blob(box, box_len), text, &id);
	if (!err)
		err = audit_record(*store_audit(s), db, "capacity_search", id);
	if (!err)
		err = idempotency_started(s, db, search->uuid);
	err = store_write_end(s, err);
out:
	free(box);
	free(text);
	if (err < 0)
		return err;
	*ret_id = id;
	return 0;
}

int store_capacity_find(struct store *s, const char *uuid, int64_t *ret_id)
{
	const struct db_value param = db_text(uuid);
	int64_t id = 0;
	int err = db_query(store_reader(s),
			   "SELECT id FROM capacity_search WHERE uuid = $1",
			   &param, 1, db_integer_row, &id);

	if (err < 0)
		return err;
	if (!id)
		return -ENOENT;
	*ret_id = id;
	return 0;
}

int store_capacity_known(struct store *s, int64_t id)
{
	const struct db_value param = DB_I(id);
	int64_t known = 0;
	int err = db_query(store_reader(s),
			   "SELECT id FROM capacity_search WHERE id = $1",
			   &param, 1, db_integer_row, &known);

	if (err < 0)
		return err;
	return known ? 0 : -ENOENT;
}

/* ---- reading ---- */

static int trial_row(const struct db_value *row, size_t columns, void *arg)
{
	json_t *trial = json_pack(
		"{s:f, s:o, s:o, s:o, s:o, s:o}", "load", db_number(&row[0]),
		"outcome", record_value(&row[1]), "condition",
		record_value(&row[2]), "sentence", record_value(&row[3]),
		"session_id", record_value(&row[4]), "started_at",
		record_time(&row[5]));

	(void)columns;
	return json_array_append_new(arg, trial) ? -ENOMEM : 0;
}

int store_capacity_trials(struct store *s, int64_t id, json_t **ret)
{
	const struct db_value param = DB_I(id);
	json_t *trials = json_array();
	int err = trials ? 0 : -ENOMEM;

	if (!err)
		err = db_query(store_reader(s),
			       "SELECT load, outcome, broken, sentence, "
			       "session_id, started_at FROM capacity_trial "
			       "WHERE search_id = $1 ORDER BY position",
			       &param, 1, trial_row, trials);
	if (err < 0) {
		json_decref(trials);
		return err;
	}
	*ret = trials;
	return 0;
}

struct search_row {
	struct store *store;
	struct capacity_search *search;
};

#define COLUMNS                                                   \
	"SELECT s.id, s.uuid, s.test_name, s.test_id, s.key_id, " \
	"s.stop_requested, s.params_json, s.next_at, s.test_box"

static int search_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct search_row *r = arg;
	struct capacity_search *c = r->search;

	c->id = row[0].integer;
	(void)str_copy(c->uuid, sizeof(c->uuid), row[1].bytes);
	(void)str_copy(c->test_name, sizeof(c->test_name), row[2].bytes);
	c->test_id = db_integer_or_0(&row[3]);
	c->key_id = db_integer_or_0(&row[4]);
	c->stop_requested = row[5].integer != 0;
	c->params = record_json(&row[6]);
	c->due_at = db_integer_or_0(&row[7]);
	if (columns > 9)
		(void)str_copy(c->session_id, sizeof(c->session_id),
			       row[9].bytes);
	if (!c->params)
		return -ENOMEM;
	return store_open_json(r->store, CAPACITY_BOX, &row[8], &c->test);
}

static int read_search(struct store *s, const char *sql,
		       const struct db_value *params, size_t count,
		       struct capacity_search *ret)
{
	struct capacity_search search = {.id = 0};
	struct search_row row = {.store = s, .search = &search};
	int err =
		db_query(store_reader(s), sql, params, count, search_row, &row);

	if (err > 0)
		err = store_capacity_trials(s, search.id, &search.trials);
	if (err < 0 || !search.id) {
		capacity_search_release(&search);
		return err;
	}
	*ret = search;
	return 1;
}

int store_capacity_due(struct store *s, int64_t now,
		       struct capacity_search *ret)
{
	const struct db_value param = DB_I(now);

	return read_search(s,
			   COLUMNS " FROM capacity_search s WHERE s.status = "
				   "'running' AND s.next_at <= $1 ORDER BY "
				   "s.next_at, s.id LIMIT 1",
			   &param, 1, ret);
}

int store_capacity_ended(struct store *s, struct capacity_search *ret)
{
	return read_search(
		s,
		COLUMNS
		", t.session_id FROM capacity_search s JOIN capacity_trial t "
		"ON t.search_id = s.id LEFT JOIN run r ON r.session_id = "
		"t.session_id WHERE s.status = 'running' AND s.next_at IS NULL "
		"AND t.outcome IS NULL AND (r.id IS NULL OR " RUN_DONE
		") ORDER BY s.id LIMIT 1",
		NULL, 0, ret);
}

/* ---- moving on ---- */

int capacity_take(struct db *db, const struct capacity_turn *turn,
		  const char *session_id, int64_t now)
{
	const struct db_value place[] = {DB_I(turn->search_id),
					 DB_I(turn->due_at)};
	const struct db_value trial[] = {DB_I(turn->search_id),
					 DB_I(turn->position), DB_R(turn->load),
					 db_text(session_id), DB_I(now)};
	int taken = lease_exec(db,
			       "UPDATE capacity_search SET next_at = NULL, "
			       "waiting_for = NULL WHERE id = $1 AND next_at = "
			       "$2 AND status = 'running'",
			       LEASE_PARAMS(place));

	if (taken <= 0)
		return taken < 0 ? taken : -EALREADY;
	taken = lease_exec(db,
			   "INSERT INTO capacity_trial (search_id, position, "
			   "load, session_id, started_at) VALUES ($1, $2, $3, "
			   "$4, $5)",
			   LEASE_PARAMS(trial));
	return taken < 0 ? taken : 0;
}

/* @return 0; -EALREADY; -EIO */
static int end_trial(struct db *db, const struct capacity_search *search,
		     const struct capacity_move *move)
{
	const struct db_value params[] = {
		DB_I(search->id), db_text(search->session_id),
		db_text(move->outcome), db_text(move->condition),
		db_text(move->sentence)};
	int ended = lease_exec(db,
			       "UPDATE capacity_trial SET outcome = $3, "
			       "broken = $4, sentence = $5 WHERE search_id = "
			       "$1 AND session_id = $2 AND outcome IS NULL",
			       LEASE_PARAMS(params));

	if (ended < 0)
		return ended;
	return ended ? 0 : -EALREADY;
}

/* next_at tells whether another one was first: NULL while a trial is in progress. */
static int move_search(struct db *db, const struct capacity_search *search,
		       const struct capacity_move *move, const char *result,
		       int64_t now)
{
	const bool goes_on = strcmp(move->status, "running") == 0;
	const struct db_value params[] = {
		DB_I(search->id),
		DB_I(search->due_at),
		db_text(move->status),
		goes_on ? DB_I(move->next_at) : db_text(NULL),
		goes_on ? db_text(NULL) : DB_I(now),
		db_text(move->description),
		db_text(move->waiting_for),
		db_text(result),
		DB_I(search->stop_requested),
	};
	int moved = lease_exec(
		db,
		"UPDATE capacity_search SET status = $3, next_at = $4, "
		"stopped_at = $5, description = $6, waiting_for = $7, "
		"result_json = coalesce($8, result_json), test_box = CASE WHEN "
		"$3 = 'running' THEN test_box ELSE NULL END WHERE id = $1 AND "
		"coalesce(next_at, 0) = $2 AND status = 'running' AND "
		"stop_requested = $9",
		LEASE_PARAMS(params));

	if (moved < 0)
		return moved;
	return moved ? 0 : -EALREADY;
}

int store_capacity_move(struct store *s, const struct capacity_search *search,
			const struct capacity_move *move, int64_t now)
{
	char *result =
		move->result ? json_dumps(move->result, JSON_COMPACT) : NULL;
	struct db *db;
	int err = move->result && !result ? -ENOMEM : store_write_begin(s, &db);

	if (err) {
		free(result);
		return err;
	}
	if (move->outcome)
		err = end_trial(db, search, move);
	if (!err)
		err = move_search(db, search, move, result, now);
	err = store_write_end(s, err);
	free(result);
	return err < 0 ? err : 0;
}

/* ---- stopping ---- */

/* The run of the trial in progress. Its end ends the search. */
static int stop_trial(struct db *db, int64_t id, int64_t now)
{
	const struct db_value params[] = {DB_I(id)};
	int64_t run_id = 0;
	int err = lease_integer(db,
				"SELECT r.id FROM capacity_trial t JOIN run r "
				"ON r.session_id = t.session_id WHERE "
				"t.search_id = $1 AND t.outcome IS NULL AND "
				"r.phase <> 'done'",
				LEASE_PARAMS(params), &run_id);

	if (err || !run_id)
		return err;
	err = lease_run_stopping(db, run_id, "user",
				 "stopped by a user, with its capacity search",
				 now);
	return err < 0 ? err : 0;
}

/* @return 1 it is stopped; 0 a trial is in progress, or it is over; -EIO */
static int stop_between_trials(struct db *db, int64_t id, int64_t now)
{
	const struct db_value params[] = {DB_I(id), DB_I(now)};

	return lease_exec(
		db,
		"UPDATE capacity_search SET status = 'stopped', "
		"next_at = NULL, waiting_for = NULL, stopped_at = $2, "
		"stop_requested = 1, test_box = NULL WHERE id = $1 "
		"AND status = 'running' AND next_at IS NOT NULL",
		LEASE_PARAMS(params));
}

/* @return 0; -ENOENT; -EALREADY; -EIO */
static int stop_within_trial(struct db *db, int64_t id, int64_t now)
{
	const struct db_value params[] = {DB_I(id)};
	int64_t known = 0;
	int err = lease_exec(db,
			     "UPDATE capacity_search SET stop_requested = 1 "
			     "WHERE id = $1 AND status = 'running' AND "
			     "stop_requested = 0",
			     LEASE_PARAMS(params));

	if (err > 0)
		return stop_trial(db, id, now);
	if (!err)
		err = lease_integer(db,
				    "SELECT count(*) FROM capacity_search "
				    "WHERE id = $1",
				    LEASE_PARAMS(params), &known);
	if (err)
		return err;
	return known ? -EALREADY : -ENOENT;
}

int store_capacity_stop(struct store *s, int64_t id, int64_t now)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = stop_between_trials(db, id, now);
	if (!err)
		err = stop_within_trial(db, id, now);
	if (err >= 0)
		err = audit_record(*store_audit(s), db, "capacity_search", id);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

/* ---- retention ---- */

int store_capacity_expire(struct store *s, int64_t before)
{
	const struct db_value params[] = {DB_I(before), DB_I(EXPIRED_MAX)};
	char text[40];
	int64_t due = 0;
	struct db *db;
	int err, deleted;

#define EXPIRED                                                             \
	"FROM capacity_search c WHERE c.status <> 'running' AND "           \
	"c.stopped_at < $1 AND NOT EXISTS (SELECT 1 FROM capacity_trial t " \
	"JOIN run r ON r.session_id = t.session_id WHERE t.search_id = "    \
	"c.id AND r." RUN_SHOWN ")"
	err = db_query(store_reader(s), "SELECT count(*) " EXPIRED, params, 1,
		       db_integer_row, &due);
	if (err < 0 || !due)
		return err < 0 ? err : 0;
	err = store_write_begin(s, &db);
	if (err)
		return err;
	deleted = lease_exec(db,
			     "DELETE FROM capacity_search WHERE id IN (SELECT "
			     "c.id " EXPIRED " ORDER BY c.id LIMIT $2)",
			     LEASE_PARAMS(params));
	str_print(text, sizeof(text), "%d without runs", deleted);
	err = deleted < 0 ? deleted
			  : audit_text(*store_audit(s), db, "capacity_search",
				       text);
	err = store_write_end(s, err);
	return err < 0 ? err : deleted;
#undef EXPIRED
}
