#include "control/server/store/store_follow.h"

#include "control/server/store/record_db.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_run.h"
#include "control/server/store/store_run_internal.h"
#include "control/server/store/store_schedule.h"
#include "control/server/store/store_verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int insert_tests(struct db *db, int64_t id, json_t *tests)
{
	json_t *test;
	size_t i;
	int err = 0;

	json_array_foreach(tests, i, test)
	{
		const struct db_value params[] = {
			DB_I(id), DB_I((int64_t)i),
			DB_I(json_integer_value(json_object_get(test, "id"))),
			db_text(json_string_value(
				json_object_get(test, "name")))};

		err = lease_exec(db,
				 "INSERT INTO project_run_test "
				 "(project_run_id, position, test_id, "
				 "test_name, state) "
				 "VALUES ($1, $2, $3, $4, 'waiting')",
				 LEASE_PARAMS(params));
		if (err < 0)
			return err;
	}
	return 0;
}

static int project_test_row(const struct db_value *row, size_t columns,
			    void *arg)
{
	json_t *tags = json_loadb(row[2].bytes, row[2].len, 0, NULL);
	json_t *test =
		json_pack("{s:I, s:s, s:o}", "id", (json_int_t)row[0].integer,
			  "name", (const char *)row[1].bytes, "tags", tags);

	(void)columns;
	return json_array_append_new(arg, test) ? -ENOMEM : 0;
}

int store_project_tests(struct store *s, int64_t project_id, json_t **ret)
{
	const struct db_value param = DB_I(project_id);
	json_t *tests = json_array();
	int err = tests ? 0 : -ENOMEM;

	if (!err)
		err = db_query(store_reader(s),
			       "SELECT id, name, tags_json FROM test "
			       "WHERE project_id = $1 ORDER BY id",
			       &param, 1, project_test_row, tests);
	if (err < 0) {
		json_decref(tests);
		return err;
	}
	*ret = tests;
	return 0;
}

int store_project_run_create(struct store *s, const struct project_run_new *run,
			     int64_t *ret_id)
{
	uint8_t *box = NULL;
	size_t box_len = 0;
	int64_t id = 0;
	struct db *db;
	int err = callback_seal(s, run->callback, &box, &box_len);

	if (!err)
		err = store_write_begin(s, &db);
	if (err) {
		free(box);
		return err;
	}
	const struct db_value params[] = {
		db_text(run->uuid),
		DB_I(run->project_id),
		db_text(run->project_name),
		db_text(run->report_mode),
		db_text(run->kiosk_id),
		DB_I(run->created_at),
		db_text(box ? "wanted" : "none"),
		box ? db_blob(box, box_len) : db_text(NULL),
	};
	err = lease_integer(db,
			    "INSERT INTO project_run (uuid, project_id, "
			    "project_name, report_mode, kiosk_id, created_at, "
			    "callback_state, callback_box, status) VALUES "
			    "($1, $2, $3, $4, $5, $6, $7, $8, 'running') "
			    "RETURNING id",
			    LEASE_PARAMS(params), &id);
	if (!err)
		err = insert_tests(db, id, run->tests);
	if (!err)
		err = idempotency_started(s, db, run->uuid);
	if (!err && run->schedule)
		err = schedule_take(db, run->schedule, NULL, run->uuid,
				    run->created_at);
	err = store_write_end(s, err);
	free(box);
	if (err < 0)
		return err;
	*ret_id = id;
	return 0;
}

struct named {
	int64_t id; /* 0: not found */
	char *kiosk_id;
};

static int named_row(const struct db_value *row, size_t columns, void *arg)
{
	const char *kiosk = row[1].type == DB_TEXT ? row[1].bytes : "";
	struct named *named = arg;

	(void)columns;
	named->id = row[0].integer;
	return str_copy(named->kiosk_id, UUID_TEXT_BYTES, kiosk) < 0 ? -EIO : 0;
}

int store_project_run_find(struct store *s, const char *uuid, int64_t *ret_id,
			   char ret_kiosk_id[static UUID_TEXT_BYTES])
{
	const struct db_value param = db_text(uuid);
	struct named named = {.kiosk_id = ret_kiosk_id};
	int err = db_query(store_reader(s),
			   "SELECT id, kiosk_id FROM project_run "
			   "WHERE uuid = $1",
			   &param, 1, named_row, &named);

	if (err < 0)
		return err;
	*ret_id = named.id;
	return named.id ? 0 : -ENOENT;
}

struct polled {
	int64_t id;
	json_t *run;
};

static int polled_row(const struct db_value *row, size_t columns, void *arg)
{
	struct polled *p = arg;

	(void)columns;
	p->id = row[0].integer;
	p->run = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
			   "run_status", (const char *)row[1].bytes,
			   "project_id", (json_int_t)row[2].integer,
			   "total_tests", (json_int_t)row[5].integer,
			   "tests_started", (json_int_t)row[6].integer,
			   "tests_passed", (json_int_t)row[7].integer,
			   "tests_failed", (json_int_t)row[8].integer,
			   "created_at", record_time(&row[3]), "stopped_at",
			   record_time(&row[4]));
	return p->run ? 0 : -ENOMEM;
}

int store_project_run_get(struct store *s, const char *uuid,
			  const struct page *page, json_t **ret,
			  int64_t *ret_runs)
{
	static const char sql[] =
		"SELECT p.id, p.status, p.project_id, p.created_at, "
		"p.stopped_at, count(*), "
		"sum(CASE WHEN t.state IN ('started', 'ended') THEN 1 "
		"ELSE 0 END), "
		"sum(CASE WHEN t.status = 'passed' THEN 1 ELSE 0 END), "
		"sum(CASE WHEN t.status " RUN_NOT_PASSED " THEN 1 ELSE 0 END) "
		"FROM project_run p JOIN project_run_test t "
		"ON t.project_run_id = p.id WHERE p.uuid = lower($1) "
		"GROUP BY p.id, p.status, p.project_id, p.created_at, "
		"p.stopped_at";
	const struct db_value params[] = {db_text(uuid)};
	struct polled p = {.run = NULL};
	json_t *runs = NULL;
	int err;

	err = db_query(store_reader(s), sql, LEASE_PARAMS(params), polled_row,
		       &p);
	if (err == 0)
		return -ENOENT;
	if (err > 0)
		err = store_run_of_project_run(s, p.id, page, &runs, ret_runs);
	if (!err)
		err = json_object_set_new(p.run, "runs", runs) ? -ENOMEM : 0;
	if (err) {
		json_decref(p.run);
		return err;
	}
	*ret = p.run;
	return 0;
}

struct active_row {
	int64_t id; /* 0: none */
	int64_t running;
};

static int active_row(const struct db_value *row, size_t columns, void *arg)
{
	struct active_row *found = arg;

	(void)columns;
	found->id = row[0].integer;
	found->running = row[1].integer;
	return 0;
}

/* Stop the run in progress: a project run has at most one. */
static int stop_run(struct db *db, int64_t project_run_id, int64_t now)
{
	const struct db_value params[] = {DB_I(project_run_id)};
	int64_t run_id;
	int err;

	err = retry_call_off(db, "project_run_id", project_run_id);
	if (err < 0)
		return err;
	err = lease_integer(db,
			    "SELECT id FROM run WHERE project_run_id = $1 "
			    "AND phase <> 'done'",
			    LEASE_PARAMS(params), &run_id);
	if (err || !run_id)
		return err;
	err = lease_run_stopping(db, run_id, "user",
				 "stopped by a user, with its project run",
				 now);
	return err < 0 ? err : 0;
}

int store_project_run_stop(struct store *s, const char *uuid, int64_t now)
{
	const struct db_value params[] = {db_text(uuid)};
	struct active_row found = {.id = 0};
	struct db_value id[1];
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = db_query(db,
		       "SELECT id, CASE WHEN status = 'running' AND "
		       "stop_requested = 0 THEN 1 ELSE 0 END "
		       "FROM project_run WHERE uuid = lower($1)",
		       LEASE_PARAMS(params), active_row, &found);
	id[0] = DB_I(found.id);
	if (err >= 0 && !found.id)
		err = -ENOENT;
	else if (err >= 0 && !found.running)
		err = -EALREADY;
	if (err >= 0)
		err = lease_exec(db,
				 "UPDATE project_run SET stop_requested = 1 "
				 "WHERE id = $1",
				 LEASE_PARAMS(id));
	if (err >= 0)
		err = lease_exec(db,
				 "UPDATE project_run_test SET state = "
				 "'cancelled' WHERE project_run_id = $1 AND "
				 "state = 'waiting'",
				 LEASE_PARAMS(id));
	if (err >= 0)
		err = stop_run(db, found.id, now);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

int store_project_run_revoke(struct store *s, const char *uuid)
{
	const struct db_value params[] = {db_text(uuid)};
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = lease_exec(db,
			 "UPDATE run SET kiosk_id = NULL, report_mode = 'full' "
			 "WHERE kiosk_id IS NOT NULL AND project_run_id = "
			 "(SELECT id FROM project_run WHERE uuid = lower($1) "
			 "AND kiosk_id IS NOT NULL)",
			 LEASE_PARAMS(params));
	if (err >= 0)
		err = lease_exec(db,
				 "UPDATE project_run SET kiosk_id = NULL, "
				 "report_mode = 'full' WHERE uuid = lower($1) "
				 "AND kiosk_id IS NOT NULL",
				 LEASE_PARAMS(params));
	err = store_write_end(s, err == 0 ? -ENOENT : err);
	return err < 0 ? err : 0;
}

/* ---- the next run of a project run ---- */

/* SQL: the run of a test that is in progress, or about to start again. */
#define RUN_OF                                                   \
	"SELECT 1 FROM run r WHERE r.project_run_id = "          \
	"project_run_test.project_run_id AND r.project_position" \
	" = project_run_test.position"

/* A project run is over when no test of it waits or runs. */
#define OF_IT \
	"SELECT 1 FROM project_run_test t WHERE t.project_run_id = project_run.id AND "

static int end_tests(struct db *db)
{
	return lease_exec(
		db,
		"UPDATE project_run_test SET state = 'ended', status = "
		"coalesce((SELECT r.status FROM run r WHERE r.project_run_id "
		"= project_run_test.project_run_id AND r.project_position = "
		"project_run_test.position ORDER BY r.id DESC LIMIT 1), "
		"'stopped') WHERE state = 'started' AND project_run_id IN "
		"(SELECT id FROM project_run WHERE status = 'running') AND "
		"NOT EXISTS (" RUN_OF " AND (r.phase <> 'done' OR "
		"r.retry_state = 'due'))",
		NULL, 0);
}

static int end_project_runs(struct db *db, int64_t now)
{
	const struct db_value params[] = {DB_I(now)};
	int ended, err;

	ended = lease_exec(
		db,
		"UPDATE project_run SET stopped_at = $1, status = CASE "
		"WHEN stop_requested = 1 THEN 'stopped' "
		"WHEN EXISTS (" OF_IT "t.status " RUN_NOT_PASSED
		") THEN 'failed' "
		"WHEN EXISTS (" OF_IT "t.status = 'stopped') THEN 'stopped' "
		"ELSE 'passed' END WHERE status = 'running' AND NOT EXISTS "
		"(" OF_IT "t.state IN ('waiting', 'started'))",
		LEASE_PARAMS(params));
	if (ended <= 0)
		return ended;
	err = lease_exec(db,
			 "UPDATE project_run SET callback_state = 'due' WHERE "
			 "status = 'failed' AND callback_state = 'wanted'",
			 NULL, 0);
	return err < 0 ? err : ended;
}

int store_project_runs_advance(struct store *s, int64_t now)
{
	int64_t active;
	struct db *db;
	int ended, err;

	err = lease_integer(store_reader(s),
			    "SELECT count(*) FROM project_run "
			    "WHERE status = 'running'",
			    NULL, 0, &active);
	if (err || !active)
		return err;
	err = store_write_begin(s, &db);
	if (err)
		return err;
	ended = end_tests(db);
	err = ended < 0 ? ended : end_project_runs(db, now);
	ended |= err > 0;
	err = store_write_end(s, err);
	return err < 0 ? err : ended > 0;
}

static int turn_row(const struct db_value *row, size_t columns, void *arg)
{
	struct project_turn *t = arg;

	(void)columns;
	t->project_run_id = row[0].integer;
	t->position = row[1].integer;
	t->test_id = row[2].integer;
	(void)str_copy(t->test_name, sizeof(t->test_name), row[3].bytes);
	t->project_id = row[4].integer;
	(void)str_copy(t->project_name, sizeof(t->project_name), row[5].bytes);
	(void)str_copy(t->report_mode, sizeof(t->report_mode), row[6].bytes);
	return 0;
}

int store_project_turn_next(struct store *s, struct project_turn *ret)
{
	/* at most one row: returns 1, 0 or an error */
	return db_query(store_reader(s),
			"SELECT p.id, t.position, t.test_id, t.test_name, "
			"p.project_id, p.project_name, p.report_mode "
			"FROM project_run p JOIN project_run_test t "
			"ON t.project_run_id = p.id "
			"WHERE p.status = 'running' AND t.state = 'waiting' "
			"AND NOT EXISTS (SELECT 1 FROM project_run_test o "
			"WHERE o.project_run_id = p.id AND o.state = "
			"'started') ORDER BY p.id, t.position LIMIT 1",
			NULL, 0, turn_row, ret);
}

/* Insert a run that never began: it is `done` at once. */
static int insert_refused(struct db *db, const struct project_turn *turn,
			  const json_t *test, const char *text, int64_t now,
			  struct db_value callback_box)
{
#define TEXT(name, other) \
	db_text(test ? json_string_value(json_object_get(test, name)) : (other))
	char *tags = json_dumps(json_object_get(test, "tags"), JSON_COMPACT);
	char session_id[UUID_TEXT_BYTES];

	uuid_make(session_id);
	const struct db_value params[] = {
		db_text(session_id),
		DB_I(turn->test_id),
		db_text(turn->test_name),
		TEXT("scenario", ""),
		DB_I(turn->project_id),
		db_text(turn->project_name),
		DB_I(json_integer_value(json_object_get(test, "agentpool_id"))),
		TEXT("agentpool_name", ""),
		db_text(tags ? tags : "[]"),
		db_text(text),
		TEXT("record", "none"),
		db_text(turn->report_mode),
		DB_I(now),
		/* a failure: callbacks on recovery alone are not about it */
		db_text(callback_box.type != DB_BLOB            ? "none"
			: strcmp(callback_on(test), "recovery") ? "due"
								: "wanted"),
		DB_I(turn->project_run_id),
		DB_I(turn->position),
		callback_box,
	};
	int64_t run_id = 0;
	int err;

	err = db_query(
		db,
		"INSERT INTO run (session_id, test_id, test_name, "
		"testcase_name, project_id, project_name, agentpool_id, "
		"agentpool_name, tags_json, result_description, record, "
		"report_mode, created_at, stopped_at, callback_state, "
		"project_run_id, project_position, callback_box, "
		"conditions_json, "
		"interval_s, max_duration_s, progress, phase, status) VALUES "
		"($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, "
		"$13, $14, $15, $16, $17, '[]', 0, 0, 1, 'done', 'errored') "
		"RETURNING id",
		LEASE_PARAMS(params), db_integer_row, &run_id);
	free(tags);
	return err < 0 ? err : verdict_insert(db, run_id);
#undef TEXT
}

int store_project_turn_refuse(struct store *s, const struct project_turn *turn,
			      const json_t *test, const char *text, int64_t now)
{
	const struct db_value place[] = {DB_I(turn->project_run_id),
					 DB_I(turn->position)};
	uint8_t *box = NULL;
	size_t box_len = 0;
	struct db *db;
	int err = callback_seal(s, callback_wanted(test), &box, &box_len);

	if (!err)
		err = store_write_begin(s, &db);
	if (err) {
		free(box);
		return err;
	}
	err = lease_exec(db,
			 "UPDATE project_run_test SET state = 'ended', "
			 "status = 'errored' WHERE project_run_id = $1 AND "
			 "position = $2 AND state = 'waiting'",
			 LEASE_PARAMS(place));
	if (err == 0)
		err = -EALREADY;
	if (err > 0)
		err = insert_refused(db, turn, test, text, now,
				     box ? db_blob(box, box_len)
					 : db_text(NULL));
	err = store_write_end(s, err);
	free(box);
	return err < 0 ? err : 0;
}
