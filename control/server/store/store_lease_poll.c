#include "control/server/store/lease_clock.h"
#include "control/server/store/store_lease.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_lease_fit.h"

#include "control/server/store/store_secret.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waiting runs considered in one poll; later ones wait for the next poll. */
#define CANDIDATES_MAX 64

/* The connection of a parked poll may be lost: the poll proves only that the
 * agent was alive when it arrived. The agent's next poll replaces it, and so does its
 * sign-off, even if that overtakes the poll. A poll in the
 * future was noted while the clock was set back, with a time read before.
 * @return 1; -ESTALE it is not the latest; -ENOENT; -EIO */
static int note_agent(struct db *db, const struct lease_poll *poll,
		      const char *features, const char *calibration)
{
	const struct db_value params[] = {
		DB_I(poll->agent_id),
		DB_I(poll->arrived),
		DB_I(poll->draining),
		poll->has_offset ? DB_I(poll->offset_us)
				 : (struct db_value){.type = DB_NULL},
		db_text(features),
		DB_I(lease_clock_ms()),
		db_text(poll->instance),
		db_text(calibration)};
	int64_t there;
	int err;

	err = lease_exec(
		db,
		"UPDATE agent SET polled_at = $2, draining = $3, "
		"disconnected = 0, clock_offset_us = "
		"coalesce($4, clock_offset_us), features_json = "
		"coalesce($5, features_json), calibration_json = "
		"coalesce($8, calibration_json), last_seen = CASE WHEN "
		"last_seen > $2 THEN last_seen ELSE $2 END "
		"WHERE id = $1 AND (coalesce(polled_at, 0) <= $2 "
		"OR polled_at > $6) AND (left_instance IS NULL OR "
		"left_instance <> coalesce($7, ''))",
		LEASE_PARAMS(params));
	if (err)
		return err;
	err = lease_integer(db, "SELECT count(*) FROM agent WHERE id = $1",
			    params, 1, &there);
	return err ? err : there ? -ESTALE : -ENOENT;
}

static bool holds(const json_t *held, const char *id)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(held, i, entry)
	{
		const char *text = json_string_value(entry);

		if (text && strcmp(text, id) == 0)
			return true;
	}
	return false;
}

struct id_list {
	char ids[CANDIDATES_MAX][UUID_TEXT_BYTES];
	int64_t numbers[CANDIDATES_MAX];
	size_t count;
};

static int id_row(const struct db_value *row, size_t columns, void *arg)
{
	struct id_list *list = arg;

	if (list->count == CANDIDATES_MAX)
		return 0;
	if (row[0].type == DB_TEXT)
		(void)str_copy(list->ids[list->count], UUID_TEXT_BYTES,
			       row[0].bytes);
	else
		list->numbers[list->count] = row[0].integer;
	if (columns > 1)
		list->numbers[list->count] = row[1].integer;
	list->count++;
	return 0;
}

/* End started leases that the agent no longer holds: it has restarted. */
static int take_lost(struct db *db, const struct lease_poll *poll)
{
	const struct db_value params[] = {DB_I(poll->agent_id),
					  DB_I(poll->arrived - LEASE_FRESH_MS)};
	struct id_list started = {.count = 0};
	int err;

	if (!json_is_array(poll->held))
		return 0;
	err = db_query(db,
		       "SELECT id FROM lease WHERE agent_id = $1 AND "
		       "state = 'started' AND started_at < $2",
		       LEASE_PARAMS(params), id_row, &started);
	for (size_t i = 0; err >= 0 && i < started.count; i++) {
		const struct db_value id = db_text(started.ids[i]);

		if (!holds(poll->held, started.ids[i]))
			err = lease_exec(db,
					 "UPDATE lease SET expires_at = 0, "
					 "reason = 'does not hold the job any "
					 "more: it was restarted' "
					 "WHERE id = $1 AND state = 'started'",
					 &id, 1);
	}
	return err < 0 ? err : 0;
}

static int offer(struct db *db, const char *lease_id, int64_t agent_id,
		 const struct lease_times *times)
{
	const struct db_value params[] = {db_text(lease_id), DB_I(agent_id),
					  DB_I(times->now + times->offer_ms)};

	return lease_exec(db,
			  "UPDATE lease SET state = 'offered', agent_id = $2, "
			  "epoch = epoch + 1, "
			  "offered_at = NULL, expires_at = $3 "
			  "WHERE id = $1 AND state = 'waiting'",
			  LEASE_PARAMS(params));
}

/* Choose an agent for each role: the polling agent, if it can take all roles;
 * none, if another agent can take all of them with its next poll; else several
 * agents. */
static bool choose(const struct fit *f, size_t seats[static FIT_ROLES_MAX])
{
	for (size_t a = 0; a < f->agent_count; a++) {
		if (!fit_takes_all(f, &f->agents[a]))
			continue;
		memset(seats, 0, FIT_ROLES_MAX * sizeof(*seats));
		return a == 0;
	}
	return fit_seat(f, false, seats);
}

/* @return leases given to the polling agent */
static int offer_all(struct db *db, const struct fit *f, int64_t run_id,
		     const struct lease_times *times, bool *ret_spread)
{
	const struct db_value run = DB_I(run_id);
	size_t seats[FIT_ROLES_MAX];
	int given = 0, err;

	if (!f->role_count || !choose(f, seats))
		return 0;
	for (size_t r = 0; r < f->role_count; r++) {
		err = offer(db, f->roles[r].lease_id, f->agents[seats[r]].id,
			    times);
		if (err < 0)
			return err;
		given += seats[r] == 0;
		*ret_spread |= seats[r] > 0;
	}
	err = lease_exec(db,
			 "UPDATE run SET phase = 'dispatching' "
			 "WHERE id = $1 AND phase = 'queued'",
			 &run, 1);
	return err < 0 ? err : given;
}

/* Whether the run cannot be placed, or can be without the other agents of the pool:
 * they may be thousands. */
static bool alone_suffices(const struct fit *f)
{
	return !f->role_count || !f->agent_count ||
	       fit_takes_all(f, &f->agents[0]) ||
	       !fit_takes_any(f, &f->agents[0]);
}

/* Offer all waiting leases of a run, or none. The polling agent is first, with
 * the room that it reports.
 * @return leases given to the polling agent */
static int place_run(struct db *db, const struct lease_poll *poll,
		     const struct lease_times *times, int64_t run_id,
		     int64_t mine, bool *ret_spread)
{
	struct fit_query query = {
		.run_id = run_id,
		.seen_after = times->now - times->lease_ms,
		.first_agent = poll->agent_id,
		.only_first = true,
	};
	struct fit fit;
	int given = fit_read(db, &query, &fit);

	if (!given && fit.agent_count)
		fit.agents[0].room = mine;
	if (!given && !alone_suffices(&fit)) {
		fit_release(&fit);
		query.only_first = false;
		given = fit_read(db, &query, &fit);
		if (!given && fit.agent_count)
			fit.agents[0].room = mine;
	}
	if (!given && fit.agent_count)
		given = offer_all(db, &fit, run_id, times, ret_spread);
	fit_release(&fit);
	return given;
}

/* Compute how many jobs the polling agent can take. Its own figure is corrected
 * by what it did not know when it polled: offers not yet delivered to it, and
 * jobs that ended while the poll was parked. It may have counted such a job as
 * over already, so the result is limited to the room known here: an offer that
 * the agent must refuse would leave a run half placed. */
static int own_room(struct db *db, const struct lease_poll *poll, int64_t *ret)
{
	const struct db_value agent = DB_I(poll->agent_id);
	const struct db_value since[] = {agent, DB_I(poll->arrived)};
	int64_t taken = 0, ended = 0, room = 0;
	int err;

	err = lease_integer(db,
			    "SELECT count(*) FROM lease WHERE agent_id = $1 "
			    "AND state = 'offered' AND offered_at IS NULL",
			    &agent, 1, &taken);
	if (!err)
		err = lease_integer(db,
				    "SELECT count(*) FROM lease "
				    "WHERE agent_id = $1 AND ended_at > $2 "
				    "AND started_at IS NOT NULL",
				    LEASE_PARAMS(since), &ended);
	if (!err)
		err = lease_integer(db,
				    "SELECT capacity - (SELECT count(*) FROM "
				    "lease WHERE agent_id = $1 AND state IN "
				    "('offered', 'started')) FROM agent "
				    "WHERE id = $1 AND held = 0",
				    &agent, 1, &room);
	if (err)
		return err;
	*ret = poll->free - taken + ended;
	if (*ret > room)
		*ret = room;
	return 0;
}

static int place_runs(struct db *db, const struct lease_poll *poll,
		      const struct lease_times *times, bool *ret_spread)
{
	const struct db_value agent = DB_I(poll->agent_id);
	struct id_list runs = {.count = 0};
	int64_t mine = 0;
	int err;

	if (poll->draining)
		return 0;
	err = db_query(db,
		       "SELECT id FROM run WHERE agentpool_id IN "
		       "(SELECT pool_id FROM agent_serves WHERE agent_id = $1) "
		       "AND " RUN_ACTIVE
		       "AND phase IN ('queued', 'dispatching') AND EXISTS "
		       "(SELECT 1 FROM lease WHERE run_id = run.id AND "
		       "state = 'waiting') ORDER BY id LIMIT 64",
		       &agent, 1, id_row, &runs);
	if (err > 0)
		err = own_room(db, poll, &mine);
	for (size_t i = 0; err >= 0 && i < runs.count && mine > 0; i++) {
		err = place_run(db, poll, times, runs.numbers[i], mine,
				ret_spread);
		if (err > 0)
			mine = poll->one_run ? 0 : mine - err;
	}
	return err < 0 ? err : 0;
}

struct jobs {
	struct store *store;
	json_t *array;
	int err;
};

static int add_job(struct jobs *jobs, const struct db_value *row)
{
	char *plain;
	size_t len;
	json_t *spec;
	int err;

	err = secret_open(store_secrets(jobs->store), LEASE_BOX, row[4].bytes,
			  row[4].len, &plain, &len);
	if (err)
		return err;
	spec = json_loadb(plain, len, 0, NULL);
	secret_wipe_free(plain, len);
	if (!spec)
		return -ENOMEM;
	return json_array_append_new(
		       jobs->array,
		       json_pack("{s:s, s:I, s:s, s:s, s:I, s:o}", "lease_id",
				 (const char *)row[0].bytes, "epoch",
				 (json_int_t)row[5].integer, "session_id",
				 (const char *)row[1].bytes, "role",
				 (const char *)row[2].bytes, "attempt",
				 (json_int_t)row[3].integer, "spec", spec))
		       ? -ENOMEM
		       : 0;
}

static int job_row(const struct db_value *row, size_t columns, void *arg)
{
	struct jobs *jobs = arg;

	(void)columns;
	if (row[4].type != DB_BLOB)
		return 0;
	jobs->err = add_job(jobs, row);
	return jobs->err;
}

/* Collect offers not yet delivered to this agent: made by this poll or by
 * another agent's. Each is delivered once; if the answer is lost, the offer
 * lapses and is made again. */
static int deliver(struct store *s, struct db *db,
		   const struct lease_poll *poll,
		   const struct lease_times *times, json_t *array)
{
	const struct db_value agent[] = {DB_I(poll->agent_id), DB_I(times->now),
					 DB_I(times->now + times->offer_ms)};
	struct jobs jobs = {.store = s, .array = array};
	int err;

	err = db_query(db,
		       "SELECT l.id, r.session_id, l.role, r.attempt, "
		       "l.secret_box, l.epoch FROM lease l JOIN run r ON "
		       "r.id = l.run_id WHERE l.agent_id = $1 AND "
		       "l.state = 'offered' AND l.offered_at IS NULL "
		       "ORDER BY l.run_id, l.role, l.shard",
		       agent, 1, job_row, &jobs);
	if (err <= 0)
		return err;
	return lease_exec(db,
			  "UPDATE lease SET offered_at = $2, expires_at = $3 "
			  "WHERE agent_id = $1 AND state = 'offered' AND "
			  "offered_at IS NULL",
			  LEASE_PARAMS(agent));
}

static int answer_poll(struct store *s, struct db *db,
		       const struct lease_poll *poll,
		       const struct lease_times *times, json_t *jobs,
		       bool *ret_spread)
{
	int err = take_lost(db, poll);

	/* An agent without room cancels this poll when a job ends, and polls
	 * again: jobs in this answer would be lost until they lapse. */
	if (!err && !poll->free)
		return 0;
	if (!err)
		err = place_runs(db, poll, times, ret_spread);
	if (!err)
		err = deliver(s, db, poll, times, jobs);
	return err;
}

int lease_poll(struct store *s, const struct lease_poll *poll,
	       const struct lease_times *times, json_t **ret_jobs,
	       bool *ret_spread)
{
	json_t *jobs = json_array();
	char *features = poll->features
				 ? json_dumps(poll->features, JSON_COMPACT)
				 : NULL;
	char *calibration =
		poll->calibration ? json_dumps(poll->calibration, JSON_COMPACT)
				  : NULL;
	bool spread = false;
	struct db *db;
	int err = jobs && (features || !poll->features) &&
				  (calibration || !poll->calibration)
			  ? 0
			  : -ENOMEM;

	if (!err)
		err = store_write_begin(s, &db);
	if (!err) {
		err = note_agent(db, poll, features, calibration);
		if (err > 0)
			err = answer_poll(s, db, poll, times, jobs, &spread);
		err = store_write_end(s, err);
	}
	free(features);
	free(calibration);
	if (err < 0) {
		json_decref(jobs);
		return err;
	}
	*ret_jobs = jobs;
	*ret_spread = spread;
	return 0;
}

/* ---- polls that were woken ---- */

int lease_waits(struct store *s, bool *ret)
{
	int64_t waits;
	int err = lease_integer(
		store_reader(s),
		"SELECT EXISTS (SELECT 1 FROM lease WHERE state = 'waiting') "
		"OR EXISTS (SELECT 1 FROM lease WHERE state = 'offered' AND "
		"offered_at IS NULL)",
		NULL, 0, &waits);

	if (!err)
		*ret = waits != 0;
	return err;
}

/* What lease_waits() has found, of the thread that owns the store. */
struct waits {
	uint64_t changes;
	bool none;
};

/* After a wake all polls ask, and most of them at the same state of the database. */
static int none_waits(struct store *s, bool *ret)
{
	struct waits *kept = store_cache(s, STORE_CACHE_WAITS);
	const uint64_t changes = store_changes(s);
	bool waits;
	int err;

	if (kept && kept->changes == changes) {
		*ret = kept->none;
		return 0;
	}
	err = lease_waits(s, &waits);
	if (err)
		return err;
	*ret = !waits;
	if (!kept) {
		kept = calloc(1, sizeof(*kept));
		if (!kept)
			return 0; /* it is read again next time */
		store_cache_keep(s, STORE_CACHE_WAITS, kept, free);
	}
	*kept = (struct waits){.changes = changes, .none = !waits};
	return 0;
}

int lease_poll_idle(struct store *s, const struct lease_poll *poll, bool *ret)
{
	const struct db_value params[] = {DB_I(poll->agent_id),
					  DB_I(poll->arrived)};
	int64_t idle;
	int err = 0;

	*ret = false;
	/* PostgreSQL: to ask for changes is as much work as the query below; and
	 * the agent may have signed off at another controller */
	if (db_dialect(store_reader(s)) == DB_SQLITE)
		err = none_waits(s, ret);
	if (err || *ret)
		return err;
	err = lease_integer(
		store_reader(s),
		"SELECT count(*) FROM agent a WHERE a.id = $1 AND "
		"a.disconnected = 0 AND a.polled_at <= $2 AND NOT EXISTS "
		"(SELECT 1 FROM lease WHERE agent_id = $1 AND state = "
		"'offered' AND offered_at IS NULL) AND NOT EXISTS "
		"(SELECT 1 FROM run WHERE agentpool_id IN "
		"(SELECT pool_id FROM agent_serves WHERE agent_id = $1) "
		"AND " RUN_ACTIVE "AND phase IN ('queued', 'dispatching') AND "
		"EXISTS (SELECT 1 FROM lease WHERE run_id = run.id AND state "
		"= 'waiting'))",
		LEASE_PARAMS(params), &idle);
	if (!err)
		*ret = idle > 0;
	return err;
}
