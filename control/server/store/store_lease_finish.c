#include "control/server/store/store_lease_db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct missing {
	json_t *ranges;
	int64_t expected; /* next number that should be there */
	int err;
};

static int add_range(json_t *ranges, int64_t from, int64_t to)
{
	if (json_array_size(ranges) >= LEASE_MISSING_MAX)
		return 0; /* the rest when these are there */
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

/* @return 0 all there; -EBUSY and the ranges */
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

/* What an outcome means for the run. */
static int run_outcome(struct db *db, const struct lease_view *v,
		       const struct lease_end *end, int64_t now)
{
	const char *reason = end->reason;
	char text[1100];

	if (strcmp(end->outcome, "completed") == 0)
		return 0;
	if (strcmp(end->outcome, "failed") == 0) {
		if (!reason[0])
			reason = "the system under test kept the job from "
				 "going on";
		snprintf(text, sizeof(text), "%s: %s", v->role, reason);
		return lease_run_stopping(db, v->run_id, "failed", text, now);
	}
	if (!reason[0])
		reason = strcmp(end->outcome, "stopped") == 0
				 ? "the agent stopped the job by itself"
				 : "the agent gave no reason";
	snprintf(text, sizeof(text), "%s: the agent could not carry on: %s",
		 v->role, reason);
	return lease_run_stopping(db, v->run_id, "error", text, now);
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
		return err; /* ended before: late uploads were welcome */
	return run_outcome(db, v, end, now);
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
