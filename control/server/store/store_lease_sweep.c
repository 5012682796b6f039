#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_lease_fit.h"
#include "control/server/store/store_lease_view.h"

#include "control/server/store/store_lease_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Rows handled in one sweep; the next sweep continues. */
#define SWEEP_MAX 256

struct lost_row {
	char id[UUID_TEXT_BYTES];
	int64_t run_id;
	char whose[LEASE_WHOSE_BYTES];
	char agent[128];
	char reason[128];
};

struct lost_list {
	struct lost_row rows[SWEEP_MAX];
	size_t count;
};

static void copy(char *dst, size_t size, const struct db_value *value)
{
	if (value->type != DB_TEXT)
		dst[0] = '\0';
	else /* cut if it is too long for a message */
		snprintf(dst, size, "%s", (const char *)value->bytes);
}

static int lost_row(const struct db_value *row, size_t columns, void *arg)
{
	struct lost_list *list = arg;
	struct lost_row *lost = &list->rows[list->count];

	(void)columns;
	copy(lost->id, sizeof(lost->id), &row[0]);
	lost->run_id = row[1].integer;
	lease_whose(lost->whose, row[2].bytes, row[5].integer, row[6].integer);
	copy(lost->agent, sizeof(lost->agent), &row[3]);
	copy(lost->reason, sizeof(lost->reason), &row[4]);
	list->count++;
	return 0;
}

static int lose(struct db *db, const struct lost_row *lost,
		const struct sweep_times *times)
{
	char text[512];
	struct db_value params[3] = {db_text(lost->id), DB_I(times->now)};
	int err;

	if (lost->reason[0])
		snprintf(text, sizeof(text), "%s: agent %s %s", lost->whose,
			 lost->agent, lost->reason);
	else
		snprintf(text, sizeof(text),
			 "%s: agent %s stopped answering in mid-run: it did "
			 "not renew its lease within %" PRId64 " s",
			 lost->whose, lost->agent, times->lease_ms / 1000);
	params[2] = db_text(text);
	err = lease_exec(db,
			 "UPDATE lease SET state = 'lost', ended_at = $2, "
			 "reason = $3, secret_box = NULL "
			 "WHERE id = $1 AND state = 'started'",
			 LEASE_PARAMS(params));
	if (err <= 0)
		return err;
	err = lease_run_reduced(db, lost->run_id, lost->id);
	if (!err)
		err = lease_run_stopping(db, lost->run_id, "error", text,
					 times->now);
	return err < 0 ? err : 1;
}

/* A shard that was lost does not hold up the others at a barrier. */
static int sweep_barriers(struct db *db, int64_t now)
{
	const struct db_value params[] = {DB_I(now + LEASE_GO_SHARDS_MS)};

	return lease_exec(
		db,
		"UPDATE run SET go_step = go_step + 1, go_at = $1 "
		"WHERE " RUN_ACTIVE "AND phase = 'running' AND "
		"shards_lost > 0 AND EXISTS (SELECT 1 FROM lease WHERE "
		"run_id = run.id AND state = 'started') AND NOT EXISTS "
		"(SELECT 1 FROM lease WHERE run_id = run.id AND "
		"ready_step < run.go_step + 1 AND " LEASE_HOLDS_UP ")",
		LEASE_PARAMS(params));
}

/* End leases that were not renewed, and those of runs that did not stop in
 * time. */
static int sweep_lost(struct db *db, const struct sweep_times *times)
{
	const struct db_value params[] = {
		DB_I(times->now),
		/* before the grace period ends, only leases that are known to
		 * be lost */
		DB_I(times->now >= times->grace_until ? times->now : 1),
		DB_I(times->now - LEASE_STOPPING_MS - times->lease_ms)};
	static const char sql[] =
		"SELECT l.id, l.run_id, l.role, coalesce(l.agent_name, a.name, '?'), "
		"l.reason, l.shard, l.shards FROM lease l JOIN run r ON r.id = l.run_id "
		"LEFT JOIN agent a ON a.id = l.agent_id "
		"WHERE l.state = 'started' AND $1 > 0 AND (l.expires_at < $2 "
		"OR r.stopping_at < $3) ORDER BY l.id LIMIT 256";
	struct lost_list lost;
	int changed = 0, err;

	lost.count = 0;
	err = db_query(db, sql, LEASE_PARAMS(params), lost_row, &lost);
	for (size_t i = 0; err >= 0 && i < lost.count; i++) {
		err = lose(db, &lost.rows[i], times);
		changed |= err > 0;
	}
	return err < 0 ? err : changed;
}

static int sweep_offers(struct db *db, int64_t now)
{
	const struct db_value params[] = {DB_I(now)};
	int changed, err;

	changed = lease_exec(db,
			     "UPDATE lease SET state = 'waiting', "
			     "agent_id = NULL, offered_at = NULL, "
			     "expires_at = NULL WHERE state = 'offered' "
			     "AND expires_at < $1",
			     LEASE_PARAMS(params));
	if (changed <= 0)
		return changed;
	err = lease_exec(
		db,
		"UPDATE run SET phase = 'queued' WHERE " RUN_ACTIVE
		"AND phase = 'dispatching' AND NOT EXISTS (SELECT 1 FROM "
		"lease WHERE run_id = run.id AND state <> 'waiting')",
		NULL, 0);
	return err < 0 ? err : 1;
}

struct waiting_row {
	int64_t run_id;
	char pool[128];
	int64_t roles;
	int64_t online;
	int64_t capacity; /* of the agents online */
	int64_t created_at;
	int64_t last_seen; /* of any agent of the pool; 0: never */
};

struct waiting_list {
	struct waiting_row rows[SWEEP_MAX];
	size_t count;
};

static int waiting_row(const struct db_value *row, size_t columns, void *arg)
{
	struct waiting_list *list = arg;
	struct waiting_row *w = &list->rows[list->count];

	(void)columns;
	w->run_id = row[0].integer;
	copy(w->pool, sizeof(w->pool), &row[1]);
	w->roles = row[2].integer;
	w->online = row[3].integer;
	w->capacity = row[4].integer;
	w->created_at = row[5].integer;
	w->last_seen = row[6].integer;
	list->count++;
	return 0;
}

/* @return 1 the agents online lack a capability that the run needs, named in
 * text; 0; -EIO; -ENOMEM */
static int incapable(struct db *db, const struct waiting_row *w,
		     const struct sweep_times *times, char *text, size_t size)
{
	const struct fit_query query = {
		.run_id = w->run_id,
		.seen_after = times->now - times->lease_ms,
	};
	struct fit fit;
	int err = fit_read(db, &query, &fit);

	if (!err)
		err = fit_missing(&fit, w->pool, text, size);
	fit_release(&fit);
	return err;
}

/* Whether an agent of the pool that takes no jobs now may do so soon: it was seen
 * within claim_timeout, as one that restarts, or it could not be seen. One that its
 * operator lets drain does not count: that may last.
 * @return 1; 0; -EIO */
static int may_come_back(struct db *db, const struct waiting_row *w,
			 const struct sweep_times *times)
{
	const bool grace = times->now < times->grace_until;
	const struct db_value params[] = {
		DB_I(w->run_id), DB_I(times->now - times->lease_ms),
		DB_I(grace ? 0 : times->now - times->claim_timeout_ms)};
	int64_t count;
	int err = lease_integer(
		db,
		"SELECT count(*) FROM agent WHERE id IN (SELECT agent_id FROM "
		"agent_serves WHERE pool_id = (SELECT agentpool_id FROM run "
		"WHERE id = $1)) AND held = 0 AND last_seen > $3 AND NOT "
		"(" AGENT_TAKES_JOBS "AND last_seen > $2)",
		LEASE_PARAMS(params), &count);

	return err < 0 ? err : count > 0;
}

static int give_up(struct db *db, const struct waiting_row *w,
		   const struct sweep_times *times)
{
	int64_t since = w->created_at;
	char text[512];
	int err;

	if (!w->online && w->last_seen > since)
		since = w->last_seen;
	/* those that there are could not be seen */
	if (!w->online && w->last_seen && times->now < times->grace_until)
		return 0;
	if (times->now - since < times->claim_timeout_ms)
		return 0;
	if (!w->online)
		snprintf(text, sizeof(text),
			 "no agent of pool %s was online for %" PRId64
			 " s: start one, or check that it can reach the "
			 "controller",
			 w->pool, times->claim_timeout_ms / 1000);
	else if (w->capacity < w->roles)
		snprintf(text, sizeof(text),
			 "the agents of pool %s that are online can take "
			 "%" PRId64 " jobs together, the run needs %" PRId64
			 ": start more agents, or raise their capacity",
			 w->pool, w->capacity, w->roles);
	else if ((err = incapable(db, w, times, text, sizeof(text))) <= 0)
		return err; /* the agents are busy: the run is placed later */
	if (w->online && (err = may_come_back(db, w, times)) != 0)
		return err < 0 ? err : 0;
	return lease_run_stopping(db, w->run_id, "error", text, times->now);
}

/* Stop runs that waited for an agent longer than claim_timeout. */
static int sweep_waiting(struct db *db, const struct sweep_times *times)
{
	const struct db_value params[] = {
		DB_I(times->now - times->lease_ms),
		DB_I(times->now - times->claim_timeout_ms)};
	static const char sql[] =
		"SELECT r.id, r.agentpool_name, (SELECT count(*) FROM lease "
		"WHERE run_id = r.id AND state = 'waiting'), "
		"(SELECT count(*) FROM agent WHERE id IN (SELECT agent_id "
		"FROM agent_serves WHERE pool_id = r.agentpool_id) "
		"AND " AGENT_TAKES_JOBS "AND last_seen > $1), "
		"(SELECT coalesce(sum(capacity), 0) FROM agent WHERE id IN "
		"(SELECT agent_id FROM agent_serves WHERE pool_id = "
		"r.agentpool_id) AND " AGENT_TAKES_JOBS "AND last_seen > $1), "
		"r.created_at, coalesce((SELECT max(last_seen) FROM agent "
		"WHERE id IN (SELECT agent_id FROM agent_serves WHERE "
		"pool_id = r.agentpool_id)), 0) "
		"FROM run r WHERE " RUN_ACTIVE
		"AND r.phase IN ('queued', 'dispatching') "
		"AND r.created_at <= $2 "
		"AND EXISTS (SELECT 1 FROM lease WHERE run_id = r.id AND "
		"state = 'waiting') ORDER BY r.id LIMIT 256";
	struct waiting_list waiting;
	int changed = 0, err;

	waiting.count = 0;
	err = db_query(db, sql, LEASE_PARAMS(params), waiting_row, &waiting);
	for (size_t i = 0; err >= 0 && i < waiting.count; i++) {
		err = give_up(db, &waiting.rows[i], times);
		changed |= err > 0;
	}
	return err < 0 ? err : changed;
}

struct id_list {
	int64_t ids[SWEEP_MAX];
	int64_t values[SWEEP_MAX];
	size_t count;
};

static int id_row(const struct db_value *row, size_t columns, void *arg)
{
	struct id_list *list = arg;

	(void)columns;
	list->ids[list->count] = row[0].integer;
	list->values[list->count++] = row[1].integer;
	return 0;
}

static int sweep_overtime(struct db *db, int64_t now)
{
	const struct db_value params[] = {DB_I(now - RUN_OVERTIME_MS)};
	struct id_list runs = {.count = 0};
	int changed = 0, err;

	err = db_query(
		db,
		"SELECT id, max_duration_s FROM run WHERE " RUN_ACTIVE
		"AND phase IN ('dispatching', 'running') AND started_at + "
		"max_duration_s * 1000 < $1 ORDER BY id LIMIT 256",
		LEASE_PARAMS(params), id_row, &runs);
	for (size_t i = 0; err >= 0 && i < runs.count; i++) {
		char text[160];

		snprintf(text, sizeof(text),
			 "the run did not end within its maximum duration of "
			 "%" PRId64 " s",
			 runs.values[i]);
		err = lease_run_stopping(db, runs.ids[i], "error", text, now);
		changed |= err > 0;
	}
	return err < 0 ? err : changed;
}

static int sweep_ended(struct db *db)
{
	return lease_exec(
		db,
		"UPDATE run SET phase = 'judging' WHERE " RUN_ACTIVE
		"AND phase IN ('dispatching', 'running', 'stopping') AND NOT EXISTS "
		"(SELECT 1 FROM lease WHERE run_id = run.id AND state IN "
		"('waiting', 'offered', 'started'))",
		NULL, 0);
}

/* Check whether anything is due, by a read-only query without the write lock:
 * usually nothing is. */
static int anything_to_do(struct store *s, const struct sweep_times *times,
			  bool *ret)
{
	int64_t active;
	int err;

	(void)times;
	err = lease_integer(store_reader(s),
			    "SELECT count(*) FROM run WHERE " RUN_ACTIVE
			    "AND phase <> 'judging'",
			    NULL, 0, &active);
	*ret = active > 0;
	return err;
}

int store_sweep(struct store *s, const struct sweep_times *times,
		bool *ret_changed)
{
	int changed = 0, err;
	struct db *db;
	bool active;

	*ret_changed = false;
	err = anything_to_do(s, times, &active);
	if (err || !active)
		return err;
	err = store_write_begin(s, &db);
	if (err)
		return err;
	err = sweep_offers(db, times->now);
	changed |= err > 0;
	if (err >= 0)
		err = sweep_lost(db, times);
	changed |= err > 0;
	if (err >= 0)
		err = sweep_barriers(db, times->now);
	changed |= err > 0;
	if (err >= 0)
		err = sweep_waiting(db, times);
	changed |= err > 0;
	if (err >= 0)
		err = sweep_overtime(db, times->now);
	changed |= err > 0;
	if (err >= 0)
		err = sweep_ended(db);
	changed |= err > 0;
	err = store_write_end(s, err);
	if (err < 0)
		return err;
	*ret_changed = changed;
	return 0;
}
