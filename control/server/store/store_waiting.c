#include "control/server/store/store_waiting.h"

#include "base/str.h"
#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_lease_fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define POOL_BYTES 208

/* A run with leases in state `waiting`. */
struct waiting_run {
	int64_t id;
	int64_t pool_id;
	char pool[POOL_BYTES];
	int64_t created_at;
	int64_t roles; /* without an agent */
};

static int run_row(const struct db_value *row, size_t columns, void *arg)
{
	struct waiting_run *run = arg;

	(void)columns;
	run->pool_id = row[0].integer;
	snprintf(run->pool, sizeof(run->pool), "%s",
		 (const char *)row[1].bytes);
	run->created_at = row[2].integer;
	run->roles = row[3].integer;
	return 0;
}

static int read_run(struct store *s, struct waiting_run *run)
{
	const struct db_value params[] = {DB_I(run->id)};

	return db_query(
		store_reader(s),
		"SELECT agentpool_id, agentpool_name, created_at, (SELECT "
		"count(*) FROM lease WHERE run_id = run.id AND state = "
		"'waiting') FROM run WHERE id = $1 AND phase IN ('queued', "
		"'dispatching')",
		LEASE_PARAMS(params), run_row, run);
}

/* The agents of a pool. Those that take jobs are online and do not drain. */
struct pool_agents {
	int64_t enrolled;
	int64_t online;
	int64_t taking;
	int64_t capacity;  /* of those that take jobs */
	int64_t room;      /* capacity not used by jobs */
	int64_t last_seen; /* of any; 0: never */
	int64_t polled_at; /* of those that take jobs */
};

static int agents_row(const struct db_value *row, size_t columns, void *arg)
{
	struct pool_agents *agents = arg;

	(void)columns;
	agents->enrolled = row[0].integer;
	agents->online = row[1].integer;
	agents->taking = row[2].integer;
	agents->capacity = row[3].integer;
	agents->room = row[4].integer;
	agents->last_seen = row[5].integer;
	agents->polled_at = row[6].integer;
	return 0;
}

static int read_agents(struct store *s, int64_t pool_id,
		       const struct waiting_times *times,
		       struct pool_agents *ret)
{
	const struct db_value params[] = {DB_I(pool_id),
					  DB_I(times->now - times->lease_ms)};

	return db_query(
		store_reader(s),
		"SELECT count(*), coalesce(sum(online), 0), "
		"coalesce(sum(taking), 0), coalesce(sum(taking * capacity), "
		"0), coalesce(sum(CASE WHEN capacity > jobs THEN taking * "
		"(capacity - jobs) ELSE 0 END), 0), "
		"coalesce(max(last_seen), 0), "
		"coalesce(max(taking * polled_at), 0) FROM (SELECT "
		"a.capacity, a.last_seen, a.polled_at, "
		"CASE WHEN a.disconnected = 0 AND a.last_seen > $2 THEN 1 "
		"ELSE 0 END AS online, "
		"CASE WHEN " AGENT_TAKES_JOBS "AND a.last_seen > $2 THEN 1 "
		"ELSE 0 END AS taking, "
		"(SELECT count(*) FROM lease l WHERE l.agent_id = a.id AND "
		"l.state IN ('offered', 'started')) AS jobs "
		"FROM agent a WHERE a.id IN (SELECT agent_id FROM "
		"agent_serves WHERE pool_id = $1)) AS pool",
		LEASE_PARAMS(params), agents_row, ret);
}

static int ahead_row(const struct db_value *row, size_t columns, void *arg)
{
	int64_t *room = arg;

	(void)columns;
	/* a run that does not fit is skipped, as in polls */
	if (row[0].integer <= *room)
		*room -= row[0].integer;
	return 0;
}

/* Subtract the room that runs ahead in the queue will get. */
static int reserve_ahead(struct store *s, const struct waiting_run *run,
			 int64_t *room)
{
	const struct db_value params[] = {DB_I(run->pool_id), DB_I(run->id)};

	return db_query(store_reader(s),
			"SELECT (SELECT count(*) FROM lease WHERE run_id = "
			"run.id AND state = 'waiting') FROM run "
			"WHERE " RUN_ACTIVE "AND phase IN ('queued', "
			"'dispatching') AND agentpool_id = $1 AND id < $2 "
			"ORDER BY id",
			LEASE_PARAMS(params), ahead_row, room);
}

static void time_text(int64_t ms, char text[static 24])
{
	time_t s = (time_t)(ms / 1000);
	struct tm tm;

	gmtime_r(&s, &tm);
	(void)strftime(text, 24, "%Y-%m-%d %H:%M:%S", &tm);
}

/* There is room, but perhaps not on agents with the capabilities the run
 * needs. */
static int explain_needs(const struct waiting_run *run, const struct fit *f,
			 char text[static WAITING_TEXT_BYTES])
{
	size_t seats[FIT_ROLES_MAX];
	char needs[256];

	if (!fit_needs(f, needs, sizeof(needs)) || fit_seat(f, false, seats))
		return 0;
	str_print(text, WAITING_TEXT_BYTES,
		  "the agents online in the pool %s that have what the run "
		  "needs (%s) are busy",
		  run->pool, needs);
	return 1;
}

/* @param room  left by runs ahead in the queue */
static int explain(const struct waiting_run *run,
		   const struct pool_agents *agents, const struct fit *f,
		   int64_t room, const struct waiting_times *times,
		   char text[static WAITING_TEXT_BYTES])
{
	int64_t since = times->now - WAITING_POLL_MS;
	char at[24];

	if (!agents->enrolled) {
		str_print(text, WAITING_TEXT_BYTES,
			  "no agent online in the pool %s: none has enrolled",
			  run->pool);
	} else if (!agents->online) {
		time_text(agents->last_seen, at);
		str_print(text, WAITING_TEXT_BYTES,
			  "no agent online in the pool %s: the last one was "
			  "seen at %s UTC",
			  run->pool, at);
	} else if (!agents->taking) {
		str_print(text, WAITING_TEXT_BYTES,
			  "the agents online in the pool %s are draining and "
			  "take no jobs",
			  run->pool);
	} else if (fit_missing(f, run->pool, text, WAITING_TEXT_BYTES)) {
		return 1;
	} else if (agents->capacity < run->roles) {
		str_print(text, WAITING_TEXT_BYTES,
			  "the agents online in the pool %s can take %" PRId64
			  " jobs together, the run needs %" PRId64,
			  run->pool, agents->capacity, run->roles);
	} else if (room < run->roles) {
		str_print(text, WAITING_TEXT_BYTES,
			  "the agents online in the pool %s are busy: %" PRId64
			  " of %" PRId64 " jobs are taken, the run needs "
			  "%" PRId64,
			  run->pool, agents->capacity - room, agents->capacity,
			  run->roles);
	} else if (explain_needs(run, f, text)) {
		return 1;
	} else if (run->created_at < since && agents->polled_at < since) {
		time_text(agents->polled_at, at);
		str_print(text, WAITING_TEXT_BYTES,
			  "the agents online in the pool %s have room, but "
			  "none has asked for a job since %s UTC",
			  run->pool, at);
	} else {
		return 0;
	}
	return 1;
}

/* ---- one agent takes it ---- */

/* Find an agent that takes jobs and has room for so many. @param ret  0: none */
static int roomy_agent(struct store *s, int64_t pool_id, int64_t jobs,
		       int64_t seen_after, int64_t polled_after, int64_t *ret)
{
	const struct db_value params[] = {DB_I(pool_id), DB_I(seen_after),
					  DB_I(polled_after), DB_I(jobs)};
	int err = db_query(
		store_reader(s),
		"SELECT a.id FROM agent_serves p JOIN agent a ON a.id = "
		"p.agent_id WHERE p.pool_id = $1 AND " AGENT_TAKES_JOBS
		"AND a.last_seen > $2 AND a.polled_at >= $3 AND a.capacity - (SELECT count(*) FROM "
		"lease l WHERE l.agent_id = a.id AND l.state IN ('offered', "
		"'started')) >= $4 LIMIT 1",
		LEASE_PARAMS(params), db_integer_row, ret);

	return err < 0 ? err : 0;
}

/* Whether one agent has room and capabilities for all roles, beside those of the
 * runs ahead. It is asked first, as a pool may have 10 000 agents.
 * @return 1; 0 not known; -ENOMEM; -EIO */
static int one_takes_all(struct store *s, const struct waiting_run *run,
			 const struct waiting_times *times)
{
	const int64_t since = times->now - WAITING_POLL_MS;
	struct fit_query query = {
		.run_id = run->id,
		.seen_after = times->now - times->lease_ms,
		.only_first = true,
	};
	int64_t not_ahead = INT64_MAX;
	struct fit fit;
	int err = reserve_ahead(s, run, &not_ahead);

	if (err >= 0)
		err = roomy_agent(
			s, run->pool_id, INT64_MAX - not_ahead + run->roles,
			query.seen_after, run->created_at < since ? since : 0,
			&query.first_agent);
	if (err < 0 || !query.first_agent)
		return err;
	err = fit_read(store_reader(s), &query, &fit);
	if (!err)
		err = fit.agent_count == 1 && fit_takes_all(&fit, fit.agents);
	fit_release(&fit);
	return err;
}

int store_waiting_for(struct store *s, int64_t run_id,
		      const struct waiting_times *times,
		      char text[static WAITING_TEXT_BYTES])
{
	const struct fit_query query = {
		.run_id = run_id,
		.seen_after = times->now - times->lease_ms,
	};
	struct waiting_run run = {.id = run_id};
	struct pool_agents agents = {.enrolled = 0};
	struct fit fit;
	int64_t room;
	int err;

	err = read_run(s, &run);
	if (err <= 0 || !run.roles)
		return err < 0 ? err : 0;
	err = one_takes_all(s, &run, times);
	if (err)
		return err < 0 ? err : 0;
	err = read_agents(s, run.pool_id, times, &agents);
	room = agents.room;
	if (err >= 0)
		err = reserve_ahead(s, &run, &room);
	if (err < 0)
		return err;
	err = fit_read(store_reader(s), &query, &fit);
	if (!err)
		err = explain(&run, &agents, &fit, room, times, text);
	fit_release(&fit);
	return err;
}
