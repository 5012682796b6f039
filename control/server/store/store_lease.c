#include "control/server/store/store_lease.h"

#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_lease_view.h"
#include "control/server/store/store_run_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
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
	*value = db_integer_or_0(&row[0]);
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

void lease_whose(char text[static LEASE_WHOSE_BYTES], const char *role,
		 int64_t shard, int64_t shards)
{
	if (shards > 1)
		(void)str_print(text, LEASE_WHOSE_BYTES,
				"%.32s (shard %" PRId64 " of %" PRId64 ")",
				role, shard + 1, shards);
	else
		(void)str_print(text, LEASE_WHOSE_BYTES, "%.32s", role);
}

static int view_row(const struct db_value *row, size_t columns, void *arg)
{
	struct lease_view *v = arg;

	(void)columns;
	v->found = true;
	v->run_id = row[0].integer;
	copy(v->role, sizeof(v->role), &row[1]);
	v->agent_id = db_integer_or_0(&row[2]);
	copy(v->state, sizeof(v->state), &row[3]);
	v->ended_at = db_integer_or_0(&row[4]);
	v->next_seq = row[5].integer;
	copy(v->phase, sizeof(v->phase), &row[6]);
	v->stopping_at = db_integer_or_0(&row[7]);
	v->go_step = row[8].integer;
	v->go_at = db_integer_or_0(&row[9]);
	v->epoch = row[10].integer;
	v->enough = row[11].integer == 1;
	lease_whose(v->whose, v->role, row[12].integer, row[13].integer);
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
		       "r.go_step, r.go_at, l.epoch, "
		       "CASE WHEN r.stop_reason = 'enough' THEN 1 ELSE 0 END, "
		       "l.shard, l.shards "
		       "FROM lease l "
		       "JOIN run r ON r.id = l.run_id WHERE l.id = $1 "
		       "AND r." RUN_SHOWN,
		       &id, 1, view_row, ret);
	if (err < 0)
		return err;
	if (!ret->found || (ret->agent_id && ret->agent_id != agent_id))
		return -ENOENT;
	return ret->agent_id ? 0 : -ESTALE;
}

const char *lease_command(const struct lease_view *v)
{
	if (strcmp(v->phase, "running") != 0 &&
	    strcmp(v->phase, "dispatching") != 0)
		return "cancel";
	return v->enough ? "enough" : "continue";
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

int lease_run_reduced(struct db *db, int64_t run_id, const char *lease_id)
{
	const struct db_value params[] = {DB_I(run_id), db_text(lease_id)};

	return lease_exec(
		db,
		"UPDATE run SET shards_lost = shards_lost + 1 WHERE id = $1 "
		"AND phase IN ('dispatching', 'running', 'stopping') AND "
		"EXISTS (SELECT 1 FROM lease l JOIN lease o ON o.run_id = "
		"l.run_id AND o.role = l.role AND o.id <> l.id WHERE "
		"l.id = $2 AND l.allow_reduced = 1 AND o.state <> 'lost')",
		LEASE_PARAMS(params));
}

/* Set the run to running when all roles are confirmed. */
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
		 int64_t epoch, const struct lease_times *times)
{
	const struct db_value params[] = {db_text(lease_id), DB_I(agent_id),
					  DB_I(times->now),
					  DB_I(times->now + times->lease_ms)};
	const struct db_value again[] = {db_text(lease_id),
					 DB_I(times->now + times->lease_ms)};
	struct lease_view v;
	int err;

	err = lease_view(db, lease_id, agent_id, &v);
	if (err)
		return err;
	if (epoch && epoch != v.epoch)
		return -ESTALE; /* its answer came late: offered again since */
	if (strcmp(v.state, "started") == 0) {
		/* our answer was lost or late; the agent counts from this request */
		err = lease_exec(db,
				 "UPDATE lease SET expires_at = $2 "
				 "WHERE id = $1 AND state = 'started'",
				 LEASE_PARAMS(again));
		return err < 0 ? err : 0;
	}
	err = lease_exec(db,
			 "UPDATE lease SET state = 'started', agent_name = "
			 "(SELECT name FROM agent WHERE id = $2), "
			 "started_at = $3, expires_at = $4 WHERE id = $1 "
			 "AND agent_id = $2 AND state = 'offered'",
			 LEASE_PARAMS(params));
	if (err < 0)
		return err;
	return err ? run_started(db, v.run_id, times->now) : -ESTALE;
}

int lease_start(struct store *s, int64_t agent_id, const char *lease_id,
		int64_t epoch, const struct lease_times *times)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = start(db, agent_id, lease_id, epoch, times);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}

/* Renew a lease. The progress of a run is that of its slowest role. */
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
				 "min(CASE WHEN state IN ('finished', 'lost') "
				 "THEN 1.0 ELSE progress END) FROM lease "
				 "WHERE run_id = $1) WHERE id = $1 "
				 "AND phase <> 'done'",
				 LEASE_PARAMS(run));
	return err;
}

/* An agent tells the start of its first calls, with each answer that told it the time better. */
static int note_began(struct db *db, const char *lease_id,
		      const struct lease_began *began)
{
	const struct db_value params[] = {db_text(lease_id), DB_I(began->t_us),
					  DB_I(began->error_us)};
	int err;

	if (!began->t_us)
		return 0;
	err = lease_exec(db,
			 "UPDATE lease SET began_us = $2, began_error_us = $3 "
			 "WHERE id = $1 AND (began_us IS NULL OR "
			 "began_error_us > $3)",
			 LEASE_PARAMS(params));
	return err < 0 ? err : 0;
}

int lease_renew(struct store *s, int64_t agent_id, const char *lease_id,
		double progress, const struct lease_began *began,
		const struct lease_times *times, const char **ret_command)
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
		err = -ESTALE; /* the sweeper ends the lease */
	if (!err)
		err = renew(db, &v, lease_id, progress, times);
	if (err >= 0 && began)
		err = note_began(db, lease_id, began);
	err = store_write_end(s, err);
	if (err < 0)
		return err;
	*ret_command = lease_command(&v);
	return 0;
}

/* The leases that it had keep its name. They must not be those of an agent that is
 * given its id. @return 1 it was deleted; 0 it has a started lease; -EIO */
static int delete_agent(struct db *db, int64_t agent_id)
{
	const struct db_value agent = DB_I(agent_id);
	int deleted = lease_exec(db,
				 "DELETE FROM agent WHERE id = $1 AND NOT "
				 "EXISTS (SELECT 1 FROM lease WHERE "
				 "agent_id = $1 AND state = 'started')",
				 &agent, 1);
	int err;

	if (deleted <= 0)
		return deleted;
	err = lease_exec(db,
			 "UPDATE lease SET agent_id = NULL WHERE "
			 "agent_id = $1 AND ended_at IS NOT NULL",
			 &agent, 1);
	return err < 0 ? err : 1;
}

static int disconnect(struct db *db, const struct lease_leave *leave,
		      int64_t now)
{
	const struct db_value agent[] = {
		DB_I(leave->agent_id), DB_I(now),
		db_text(leave->instance[0] ? leave->instance : NULL)};
	int err;

	/* A poll that is still parked came before this: it is not the latest
	 * any more, gets no job, and does not bring the agent back. Nor does
	 * one of this instance that comes later, on another connection. */
	err = lease_exec(db,
			 "UPDATE agent SET disconnected = 1, last_seen = $2, "
			 "polled_at = $2, left_instance = $3 WHERE id = $1",
			 LEASE_PARAMS(agent));
	if (err >= 0)
		err = lease_exec(db,
				 "UPDATE lease SET state = 'waiting', "
				 "agent_id = NULL, offered_at = NULL, "
				 "expires_at = NULL WHERE agent_id = $1 "
				 "AND state = 'offered'",
				 agent, 1);
	if (err >= 0 && leave->gone)
		err = delete_agent(db, leave->agent_id);
	else if (err >= 0)
		err = 0;
	if (err) /* deleted, or -EIO */
		return err;
	/* the sweeper puts the agent's name before the reason */
	err = lease_exec(db,
			 "UPDATE lease SET expires_at = 0, "
			 "reason = 'disconnected' "
			 "WHERE agent_id = $1 AND state = 'started'",
			 agent, 1);
	return err < 0 ? err : 0;
}

int lease_disconnect(struct store *s, const struct lease_leave *leave,
		     const struct lease_times *times, bool *ret_deleted)
{
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = store_write_end(s, disconnect(db, leave, times->now));
	if (err < 0)
		return err;
	*ret_deleted = err > 0;
	return 0;
}

/* ---- the barrier between steps ---- */

/* Ceiling of the step that a role can report. */
#define STEP_MAX 1000

/* A run of one role waits for no other role. */
static int go_delay(struct db *db, int64_t run_id, int64_t *ret_ms)
{
	const struct db_value params[] = {DB_I(run_id), DB_I(LEASE_GO_DELAY_MS),
					  DB_I(LEASE_GO_SHARDS_MS)};

	return lease_integer(db,
			     "SELECT CASE WHEN count(*) = 1 THEN 0 "
			     "WHEN max(shards) > 1 THEN CAST($3 AS BIGINT) "
			     "ELSE CAST($2 AS BIGINT) END FROM lease "
			     "WHERE run_id = $1",
			     LEASE_PARAMS(params), ret_ms);
}

static int note_ready(struct db *db, const struct lease_view *v,
		      const char *lease_id, int64_t step, int64_t go_at)
{
	const struct db_value ready[] = {db_text(lease_id), DB_I(step)};
	const struct db_value go[] = {DB_I(v->run_id), DB_I(step), DB_I(go_at)};
	int err;

	err = lease_exec(db,
			 "UPDATE lease SET ready_step = $2 WHERE id = $1 "
			 "AND ready_step < $2",
			 LEASE_PARAMS(ready));
	if (err < 0)
		return err;
	return lease_exec(db,
			  "UPDATE run SET go_step = $2, go_at = $3 "
			  "WHERE id = $1 AND go_step = $2 - 1 AND NOT EXISTS "
			  "(SELECT 1 FROM lease WHERE run_id = $1 AND "
			  "ready_step < $2 AND " LEASE_HOLDS_UP ")",
			  LEASE_PARAMS(go));
}

int lease_ready(struct store *s, int64_t agent_id, const char *lease_id,
		const struct lease_ready *ready,
		const struct lease_times *times, int64_t *ret_go_in_ms,
		bool *ret_last)
{
	const int64_t step = ready->step;
	struct lease_view v;
	struct db *db;
	int64_t delay_ms = 0;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = lease_view(db, lease_id, agent_id, &v);
	if (!err && strcmp(v.state, "started") != 0)
		err = -ESTALE;
	if (!err && (step < 0 || step > STEP_MAX || step > v.go_step + 1))
		err = -ERANGE;
	if (!err && step == v.go_step + 1 && strcmp(v.phase, "running") != 0 &&
	    strcmp(v.phase, "dispatching") != 0)
		err = -ECANCELED;
	if (!err && step == v.go_step + 1)
		err = note_began(db, lease_id, &ready->began);
	if (!err && step == v.go_step + 1)
		err = go_delay(db, v.run_id, &delay_ms);
	if (!err && step == v.go_step + 1)
		err = note_ready(db, &v, lease_id, step, times->now + delay_ms);
	err = store_write_end(s, err);
	if (err < 0)
		return err;
	*ret_last = err > 0;
	*ret_go_in_ms = 0;
	if (err > 0)
		*ret_go_in_ms = delay_ms;
	else if (step == v.go_step + 1)
		return -EAGAIN;
	else if (step == v.go_step && v.go_at > times->now)
		*ret_go_in_ms = v.go_at - times->now;
	return 0;
}

/* ---- the end of a lease ---- */

struct missing {
	json_t *ranges;
	int64_t expected; /* next expected number */
	int err;
};

static int add_range(json_t *ranges, int64_t from, int64_t to)
{
	if (json_array_size(ranges) >= LEASE_MISSING_MAX)
		return 0; /* the rest is listed when these have arrived */
	return json_array_append_new(
		       ranges,
		       json_pack("[I, I]", (json_int_t)from, (json_int_t)to))
		       ? -ENOMEM
		       : 0;
}

static int seq_row(const struct db_value *row, size_t columns, void *arg)
{
	struct missing *m = arg;

	(void)columns;
	if (row[0].integer > m->expected)
		m->err = add_range(m->ranges, m->expected, row[0].integer - 1);
	m->expected = row[0].integer + 1;
	return m->err;
}

/* @return 0 no upload is missing; -EBUSY and the ranges */
static int find_missing(struct db *db, const char *lease_id, int64_t next_seq,
			int64_t last_seq, json_t **ret)
{
	const struct db_value params[] = {db_text(lease_id), DB_I(next_seq),
					  DB_I(last_seq)};
	struct missing m = {.ranges = NULL, .expected = next_seq};
	int err;

	if (next_seq > last_seq)
		return 0;
	m.ranges = json_array();
	if (!m.ranges)
		return -ENOMEM;
	err = db_query(db,
		       "SELECT seq FROM upload WHERE lease_id = $1 "
		       "AND seq >= $2 AND seq <= $3 ORDER BY seq",
		       LEASE_PARAMS(params), seq_row, &m);
	if (err >= 0 && m.expected <= last_seq)
		err = add_range(m.ranges, m.expected, last_seq);
	if (err >= 0 && json_array_size(m.ranges)) {
		*ret = m.ranges;
		return -EBUSY;
	}
	json_decref(m.ranges);
	return err < 0 ? err : 0;
}

/* The shard is lost if the run goes on without it; else the run stops. */
static int could_not_carry_on(struct db *db, const struct lease_view *v,
			      const char *lease_id, const char *text,
			      int64_t now)
{
	const struct db_value params[] = {db_text(lease_id), db_text(text)};
	int reduced = lease_run_reduced(db, v->run_id, lease_id);

	if (reduced < 0)
		return reduced;
	if (!reduced)
		return lease_run_stopping(db, v->run_id, "error", text, now);
	return lease_exec(db,
			  "UPDATE lease SET state = 'lost', reason = $2 "
			  "WHERE id = $1",
			  LEASE_PARAMS(params));
}

/* Change the run by the outcome of a lease. */
static int run_outcome(struct db *db, const struct lease_view *v,
		       const char *lease_id, const struct lease_end *end,
		       int64_t now)
{
	const bool stopped = strcmp(end->outcome, "stopped") == 0;
	const char *reason = end->reason;
	char text[1100];

	if (strcmp(end->outcome, "completed") == 0)
		return 0;
	/* it was cancelled: its results are judged, and no shard is lost */
	if (stopped && strcmp(v->phase, "stopping") == 0)
		return 0;
	if (strcmp(end->outcome, "failed") == 0) {
		if (!reason[0])
			reason = "the system under test kept the job from "
				 "going on";
		snprintf(text, sizeof(text), "%s: %s", v->whose, reason);
		return lease_run_stopping(db, v->run_id, "failed", text, now);
	}
	if (!reason[0])
		reason = stopped ? "the agent stopped the job by itself"
				 : "the agent gave no reason";
	snprintf(text, sizeof(text), "%s: the agent could not carry on: %s",
		 v->whose, reason);
	return could_not_carry_on(db, v, lease_id, text, now);
}

static int finish(struct db *db, const struct lease_view *v,
		  const char *lease_id, const struct lease_end *end,
		  int64_t now)
{
	const struct db_value params[] = {
		db_text(lease_id), db_text(end->outcome), db_text(end->reason),
		DB_I(end->last_seq), DB_I(now)};
	int err;

	err = lease_exec(db,
			 "UPDATE lease SET state = 'finished', outcome = $2, "
			 "reason = $3, last_seq = $4, ended_at = $5, "
			 "progress = 1, secret_box = NULL "
			 "WHERE id = $1 AND state = 'started'",
			 LEASE_PARAMS(params));
	if (err <= 0)
		return err; /* it had ended; late uploads were still accepted */
	return run_outcome(db, v, lease_id, end, now);
}

int lease_finish(struct store *s, int64_t agent_id, const char *lease_id,
		 const struct lease_end *end, const struct lease_times *times,
		 json_t **ret_missing)
{
	struct lease_view v;
	struct db *db;
	int err = store_write_begin(s, &db);

	if (err)
		return err;
	err = lease_view(db, lease_id, agent_id, &v);
	if (!err && !lease_uploads(&v, times))
		err = -ESTALE;
	if (!err)
		err = find_missing(db, lease_id, v.next_seq, end->last_seq,
				   ret_missing);
	if (!err)
		err = finish(db, &v, lease_id, end, times->now);
	err = store_write_end(s, err);
	return err < 0 ? err : 0;
}
