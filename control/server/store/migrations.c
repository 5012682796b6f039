/* The list of schema changes. Append; never change or remove a step that has
 * been released: files that have it would be refused. */
#include "control/server/store/migrate.h"

extern const char schema_010[]; /* schema-010.sql, embedded */
extern const char schema_011[]; /* schema-011.sql */
extern const char schema_013[]; /* schema-013.sql */
extern const char schema_014[]; /* schema-014.sql */
extern const char schema_015[]; /* schema-015.sql */

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
	/* the number is taken by a step that is not here yet, which replaces this */
	{20, "reserved", NULL, NULL},
	{21, "calibrations of agents",
	 /* what its host measured of itself (control/wire/calibration.h) */
	 "ALTER TABLE agent ADD COLUMN calibration_json TEXT;", NULL},
};

const size_t migration_count = sizeof(migrations) / sizeof(*migrations);
