#include "control/server/store/store_lease_db.h"

#include <errno.h>
#include <string.h>

int lease_exec(struct db *db, const char *sql, const struct db_value *params,
	       size_t count)
{
	return db_query(db, sql, params, count, NULL, NULL);
}

static int integer_row(const struct db_value *row, size_t columns, void *arg)
{
	int64_t *value = arg;

	(void)columns;
	*value = row[0].type == DB_INT ? row[0].integer : 0;
	return 0;
}

int lease_integer(struct db *db, const char *sql, const struct db_value *params,
		  size_t count, int64_t *ret)
{
	int err;

	*ret = 0;
	err = db_query(db, sql, params, count, integer_row, ret);
	return err < 0 ? err : 0;
}

static void copy(char *dst, size_t size, const struct db_value *value)
{
	(void)str_copy(dst, size, value->type == DB_TEXT ? value->bytes : "");
}

static int view_row(const struct db_value *row, size_t columns, void *arg)
{
	struct lease_view *v = arg;

	(void)columns;
	v->found = true;
	v->run_id = row[0].integer;
	copy(v->role, sizeof(v->role), &row[1]);
	v->agent_id = row[2].type == DB_INT ? row[2].integer : 0;
	copy(v->state, sizeof(v->state), &row[3]);
	v->ended_at = row[4].type == DB_INT ? row[4].integer : 0;
	v->next_seq = row[5].integer;
	copy(v->phase, sizeof(v->phase), &row[6]);
	v->stopping_at = row[7].type == DB_INT ? row[7].integer : 0;
	v->go_step = row[8].integer;
	v->go_at = row[9].type == DB_INT ? row[9].integer : 0;
	return 0;
}

int lease_view(struct db *db, const char *lease_id, int64_t agent_id,
	       struct lease_view *ret)
{
	const struct db_value id = db_text(lease_id);
	int err;

	*ret = (struct lease_view){.found = false};
	err = db_query(db,
		       "SELECT l.run_id, l.role, l.agent_id, l.state, "
		       "l.ended_at, l.next_seq, r.phase, r.stopping_at, "
		       "r.go_step, r.go_at FROM lease l "
		       "JOIN run r ON r.id = l.run_id WHERE l.id = $1",
		       &id, 1, view_row, ret);
	if (err < 0)
		return err;
	if (!ret->found || (ret->agent_id && ret->agent_id != agent_id))
		return -ENOENT;
	return ret->agent_id ? 0 : -ESTALE;
}

bool lease_uploads(const struct lease_view *v, const struct lease_times *times)
{
	if (strcmp(v->state, "started") == 0)
		return true;
	return v->ended_at && v->ended_at + times->grace_ms > times->now &&
	       strcmp(v->state, "cancelled") != 0;
}

int lease_run_stopping(struct db *db, int64_t run_id, const char *stop_reason,
		       const char *text, int64_t now)
{
	const struct db_value change[] = {DB_I(run_id), db_text(stop_reason),
					  db_text(text), DB_I(now)};
	const struct db_value cancel[] = {DB_I(run_id), DB_I(now)};
	int changed;

	changed = lease_exec(db,
			     "UPDATE run SET phase = 'stopping', "
			     "stop_reason = $2, result_description = $3, "
			     "stopping_at = $4 WHERE id = $1 AND phase IN "
			     "('queued', 'dispatching', 'running')",
			     LEASE_PARAMS(change));
	if (changed <= 0)
		return changed;
	changed = lease_exec(db,
			     "UPDATE lease SET state = 'cancelled', "
			     "ended_at = $2, secret_box = NULL "
			     "WHERE run_id = $1 AND state IN "
			     "('waiting', 'offered')",
			     LEASE_PARAMS(cancel));
	return changed < 0 ? changed : 1;
}

/* All roles confirmed: the run is running. */
static int run_started(struct db *db, int64_t run_id, int64_t now)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(now)};
	int err;

	err = lease_exec(db,
			 "UPDATE run SET started_at = $2 "
			 "WHERE id = $1 AND started_at IS NULL "
			 "AND phase <> 'done'",
			 LEASE_PARAMS(params));
	if (err < 0)
		return err;
	return lease_exec(db,
			  "UPDATE run SET phase = 'running' WHERE id = $1 "
			  "AND phase = 'dispatching' AND NOT EXISTS "
			  "(SELECT 1 FROM lease WHERE run_id = $1 AND state "
			  "IN ('waiting', 'offered'))",
			  params, 1);
}

static int start(struct db *db, int64_t agent_id, const char *lease_id,
		 const struct lease_times *times)
{
	const struct db_value params[] = {db_text(lease_id), DB_I(agent_id),
					  DB_I(times->now),
					  DB_I(times->now + times->lease_ms)};
	struct lease_view v;
	int err;

	err = lease_view(db, lease_id, agent_id, &v);
	if (err)
		return err;
	if (strcmp(v.state, "started") == 0)
		return 0; /* our answer was lost */
	err = lease_exec(db,
			 "UPDATE lease SET state = 'started', "
			 "started_at = $3, expires_at = $4 WHERE id = $1 "
			 "AND agent_id = $2 AND state = 'offered'",
			 LEASE_PARAMS(params));
	if (err < 0)
		return err;
	return err ? run_started(db, v.run_id, times->now) : -ESTALE;
}

int lease_start(struct store *s, int64_t agent_id, const char *lease_id,
		const struct lease_times *times)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = start(db, agent_id, lease_id, times);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

/* A run's progress is that of its slowest role. */
static int renew(struct db *db, const struct lease_view *v,
		 const char *lease_id, double progress,
		 const struct lease_times *times)
{
	const struct db_value lease[] = {db_text(lease_id),
					 DB_I(times->now + times->lease_ms),
					 DB_R(progress)};
	const struct db_value agent[] = {DB_I(v->agent_id), DB_I(times->now)};
	const struct db_value run[] = {DB_I(v->run_id)};
	int err;

	err = lease_exec(db,
			 "UPDATE lease SET expires_at = $2, progress = $3 "
			 "WHERE id = $1 AND state = 'started'",
			 LEASE_PARAMS(lease));
	if (err >= 0)
		err = lease_exec(db,
				 "UPDATE agent SET last_seen = $2, "
				 "disconnected = 0 WHERE id = $1",
				 LEASE_PARAMS(agent));
	if (err >= 0)
		err = lease_exec(db,
				 "UPDATE run SET progress = (SELECT "
				 "min(CASE WHEN state = 'finished' THEN 1.0 "
				 "ELSE progress END) FROM lease "
				 "WHERE run_id = $1) WHERE id = $1 "
				 "AND phase <> 'done'",
				 LEASE_PARAMS(run));
	return err;
}

int lease_renew(struct store *s, int64_t agent_id, const char *lease_id,
		double progress, const struct lease_times *times,
		bool *ret_cancel)
{
	struct lease_view v;
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = lease_view(db, lease_id, agent_id, &v);
	if (!err && strcmp(v.state, "started") != 0)
		err = -ESTALE;
	if (!err && v.stopping_at &&
	    v.stopping_at + LEASE_STOPPING_MS < times->now)
		err = -ESTALE; /* the sweeper will take it away */
	if (!err)
		err = renew(db, &v, lease_id, progress, times);
	err = store_write_end(s, err);
	if (err < 0)
		return err;
	*ret_cancel = strcmp(v.phase, "running") != 0 &&
		      strcmp(v.phase, "dispatching") != 0;
	return 0;
}

int lease_disconnect(struct store *s, int64_t agent_id,
		     const struct lease_times *times)
{
	const struct db_value agent[] = {DB_I(agent_id), DB_I(times->now)};
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = lease_exec(db,
			 "UPDATE agent SET disconnected = 1, last_seen = $2 "
			 "WHERE id = $1",
			 LEASE_PARAMS(agent));
	if (err >= 0)
		err = lease_exec(db,
				 "UPDATE lease SET state = 'waiting', "
				 "agent_id = NULL, offered_at = NULL, "
				 "expires_at = NULL WHERE agent_id = $1 "
				 "AND state = 'offered'",
				 agent, 1);
	if (err >= 0) /* the sweeper says it with the agent's name */
		err = lease_exec(db,
				 "UPDATE lease SET expires_at = 0, "
				 "reason = 'disconnected' "
				 "WHERE agent_id = $1 AND state = 'started'",
				 agent, 1);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}
