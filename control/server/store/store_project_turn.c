#include "control/server/store/store_follow.h"

#include "control/server/store/store_lease_db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The run of a test that is in progress, or about to start again. */
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
		"WHEN EXISTS (" OF_IT "t.status IN ('failed', 'errored')) "
		"THEN 'failed' "
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
	/* one row at most: 1, 0 or an error */
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

/* A run that never began: done at once. */
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
		db_text(callback_box.type == DB_BLOB ? "due" : "none"),
		DB_I(turn->project_run_id),
		DB_I(turn->position),
		callback_box,
	};
	int err;

	err = lease_exec(
		db,
		"INSERT INTO run (session_id, test_id, test_name, "
		"testcase_name, project_id, project_name, agentpool_id, "
		"agentpool_name, tags_json, result_description, record, "
		"report_mode, created_at, stopped_at, callback_state, "
		"project_run_id, project_position, callback_box, "
		"conditions_json, "
		"interval_s, max_duration_s, progress, phase, status) VALUES "
		"($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, "
		"$13, $14, $15, $16, $17, '[]', 0, 0, 1, 'done', 'errored')",
		LEASE_PARAMS(params));
	free(tags);
	return err;
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
