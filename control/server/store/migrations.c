/* The list of schema changes. Append; never change or remove a step that has
 * been released: files that have it would be refused. */
#include "control/server/store/migrate.h"

#include "base/str.h"
#include "control/server/store/point_migration.h"

extern const char schema_010[]; /* schema-010.sql, embedded */
extern const char schema_011[]; /* schema-011.sql */
extern const char schema_013[]; /* schema-013.sql */
extern const char schema_014[]; /* schema-014.sql */
extern const char schema_015[]; /* schema-015.sql */
extern const char schema_027[]; /* schema-027.sql */

/* SQLite cannot drop a constraint of a table. Its columns are those of step 10, then of 17,
 * 18 and 20. */
static int leases_by_shard(struct db *db)
{
	static const char columns[] =
		"id, run_id, role, spec_json, secret_box, agent_id, state, "
		"offered_at, started_at, expires_at, ended_at, outcome, reason, "
		"ready_step, progress, next_seq, last_seq, epoch, agent_name";
	char copy[1024];
	int err;

	if (db_dialect(db) == DB_POSTGRESQL)
		return db_script(db,
				 "ALTER TABLE lease DROP CONSTRAINT "
				 "lease_run_id_role_key;"
				 "CREATE UNIQUE INDEX lease_by_role ON lease "
				 "(run_id, role, shard)");
	err = db_script(
		db,
		"CREATE TABLE lease_new (id TEXT PRIMARY KEY, run_id INTEGER "
		"NOT NULL REFERENCES run(id) ON DELETE CASCADE, role TEXT NOT "
		"NULL, spec_json TEXT NOT NULL, secret_box BLOB, agent_id "
		"INTEGER, state TEXT NOT NULL, offered_at INTEGER, started_at "
		"INTEGER, expires_at INTEGER, ended_at INTEGER, outcome TEXT, "
		"reason TEXT, ready_step INTEGER NOT NULL DEFAULT -1, progress "
		"REAL NOT NULL DEFAULT 0, next_seq INTEGER NOT NULL DEFAULT 1, "
		"last_seq INTEGER, epoch INTEGER NOT NULL DEFAULT 0, "
		"agent_name TEXT, shard INTEGER NOT NULL DEFAULT 0, shards "
		"INTEGER NOT NULL DEFAULT 1, agents_min INTEGER NOT NULL "
		"DEFAULT 1, began_us INTEGER, began_error_us INTEGER)");
	if (err)
		return err;
	str_print(copy, sizeof(copy),
		  "INSERT INTO lease_new (%s) SELECT %s FROM lease;"
		  "DROP TABLE lease; ALTER TABLE lease_new RENAME TO lease",
		  columns, columns);
	err = db_script(db, copy);
	if (err)
		return err;
	return db_script(db, "CREATE INDEX lease_by_state ON lease (state);"
			     "CREATE INDEX lease_by_end ON lease (agent_id, "
			     "ended_at) WHERE ended_at IS NOT NULL;"
			     "CREATE UNIQUE INDEX lease_by_role ON lease "
			     "(run_id, role, shard)");
}

/* PostgreSQL checks the reference of each point by itself, a third of what a point costs its
 * server. Instead an upload locks its series (store_ingest.c), so that they stay until its
 * points are committed, and a series takes its points with it. */
static int points_without_key(struct db *db)
{
	if (db_dialect(db) != DB_POSTGRESQL)
		return 0;
	return db_script(db,
			 "ALTER TABLE point DROP CONSTRAINT "
			 "point_series_id_fkey;"
			 "CREATE TRIGGER series_points AFTER DELETE ON series "
			 "BEGIN DELETE FROM point WHERE series_id = OLD.id; "
			 "END;");
}

const struct migration migrations[] = {
	{10, "base", schema_010, NULL},
	{11, "verdicts of runs", schema_011, NULL},
	{12, "callbacks on recovery",
	 "ALTER TABLE test ADD COLUMN callback_on_recovery INTEGER NOT NULL "
	 "DEFAULT 0;"
	 /* verdicts that the run's callback is about: failure recovery both */
	 "ALTER TABLE run ADD COLUMN callback_on TEXT NOT NULL "
	 "DEFAULT 'failure';",
	 NULL},
	{13, "audit log", schema_013, NULL},
	{14, "deletion in chunks", schema_014, NULL},
	{15, "retention", schema_015, NULL},
	{16, "limits of keys",
	 /* of api_key that started the run; negative: a user of the pages */
	 "ALTER TABLE run ADD COLUMN key_id INTEGER;", NULL},
	{17, "epochs of leases",
	 /* raised with each offer: what an earlier one allowed is over */
	 "ALTER TABLE lease ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;",
	 NULL},
	{18, "agents that leave",
	 /* of the agent that took the job, also when that is deleted */
	 "ALTER TABLE lease ADD COLUMN agent_name TEXT;"
	 "UPDATE lease SET agent_name = (SELECT name FROM agent WHERE "
	 "agent.id = lease.agent_id) WHERE agent_id IS NOT NULL;"
	 /* its process that has signed off: polls of that one come late */
	 "ALTER TABLE agent ADD COLUMN left_instance TEXT;",
	 NULL},
	{19, "several pools an agent",
	 /* besides agent.pool_id, which is never here */
	 "CREATE TABLE agent_further_pool ("
	 "agent_id INTEGER NOT NULL REFERENCES agent(id) ON DELETE CASCADE, "
	 "pool_id INTEGER NOT NULL REFERENCES agent_pool(id), "
	 "PRIMARY KEY (agent_id, pool_id)) WITHOUT ROWID;"
	 "CREATE INDEX agent_further_pool_by_pool "
	 "ON agent_further_pool (pool_id);"
	 "CREATE VIEW agent_serves AS SELECT id AS agent_id, pool_id FROM "
	 "agent UNION ALL SELECT agent_id, pool_id FROM agent_further_pool;",
	 NULL},
	{20, "shards of roles",
	 /* the shard, from 0, and how many the role has; the first agents_min of
	  * them are on different agents */
	 "ALTER TABLE lease ADD COLUMN shard INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE lease ADD COLUMN shards INTEGER NOT NULL DEFAULT 1;"
	 "ALTER TABLE lease ADD COLUMN agents_min INTEGER NOT NULL DEFAULT 1;"
	 /* when it began its calls, by the controller's clock, and how far that
	  * may be wrong */
	 "ALTER TABLE lease ADD COLUMN began_us INTEGER;"
	 "ALTER TABLE lease ADD COLUMN began_error_us INTEGER;",
	 leases_by_shard},
	{21, "calibrations of agents",
	 /* what its host measured of itself (control/wire/calibration.h) */
	 "ALTER TABLE agent ADD COLUMN calibration_json TEXT;", NULL},
	{22, "rates and failed logins of all controllers",
	 /* the bucket of a key: when it is full again, us since 1970 */
	 "CREATE TABLE key_rate (key_id INTEGER NOT NULL, "
	 "full_at_us INTEGER NOT NULL, PRIMARY KEY (key_id)) WITHOUT ROWID;"
	 /* a keyed hash of a name or an address; ms since 1970 */
	 "CREATE TABLE login_failure (subject BLOB PRIMARY KEY, "
	 "failures INTEGER NOT NULL, last_at INTEGER NOT NULL) WITHOUT ROWID;"
	 "CREATE INDEX login_failure_by_last ON login_failure (last_at);",
	 NULL},
	{23, "runs that go on without a lost shard",
	 "ALTER TABLE lease ADD COLUMN allow_reduced INTEGER NOT NULL DEFAULT 0;"
	 /* those that it went on without */
	 "ALTER TABLE run ADD COLUMN shards_lost INTEGER NOT NULL DEFAULT 0;",
	 NULL},
	{24, "thinned metrics",
	 /* since then interval_s is that of the thinned points */
	 "ALTER TABLE run ADD COLUMN metrics_thinned_at INTEGER;"
	 /* work that is not done: points before t of the series, and those of
	  * series before it, are thinned */
	 "CREATE TABLE thinning ("
	 "run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, "
	 "series_id INTEGER NOT NULL, t INTEGER NOT NULL, "
	 "PRIMARY KEY (run_id)) WITHOUT ROWID;",
	 NULL},
	{25, "points without a foreign key on PostgreSQL", NULL,
	 points_without_key},
	{26, "warnings of runs",
	 /* what its start warned of, an array of sentences */
	 "ALTER TABLE run ADD COLUMN warnings_json TEXT NOT NULL DEFAULT '[]';",
	 NULL},
	{27, "points in blocks", schema_027, point_migration},
	{28, "capacity searches",
	 "CREATE TABLE capacity_search ("
	 "id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, "
	 /* as of a run: the test may be deleted or changed meanwhile */
	 "test_id INTEGER, test_name TEXT NOT NULL, project_id INTEGER, "
	 "project_name TEXT NOT NULL, agentpool_name TEXT NOT NULL, "
	 "params_json TEXT NOT NULL, "
	 /* the test as it was, encrypted, until the search is over */
	 "test_box BLOB, "
	 /* running done stopped errored */
	 "status TEXT NOT NULL, stop_requested INTEGER NOT NULL DEFAULT 0, "
	 /* when the next trial starts; NULL while a trial is in progress,
	  * and after the search has ended */
	 "next_at INTEGER, waiting_for TEXT, "
	 "description TEXT NOT NULL DEFAULT '', "
	 "result_json TEXT NOT NULL DEFAULT 'null', "
	 "key_id INTEGER, created_at INTEGER NOT NULL, stopped_at INTEGER);"
	 "CREATE INDEX capacity_search_active ON capacity_search (id) "
	 "WHERE status = 'running';"
	 "CREATE TABLE capacity_trial ("
	 "search_id INTEGER NOT NULL REFERENCES capacity_search(id) "
	 "ON DELETE CASCADE, position INTEGER NOT NULL, load REAL NOT NULL, "
	 /* session_id: the trial's run, which may have been deleted.
	  * outcome: held, failed, saturated, or void: the run says nothing
	  * about the load; NULL while the trial is in progress */
	 "session_id TEXT NOT NULL, started_at INTEGER NOT NULL, outcome TEXT, "
	 /* the text of the condition that failed */
	 "broken TEXT NOT NULL DEFAULT '', sentence TEXT NOT NULL DEFAULT '', "
	 "PRIMARY KEY (search_id, position)) WITHOUT ROWID;",
	 NULL},
};

const size_t migration_count = sizeof(migrations) / sizeof(*migrations);
