#include "control/server/store/store_metrics.h"

#include "control/server/store/store_db.h"

struct counting {
	store_count_h *count_h;
	void *arg;
};

static int count_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct counting *c = arg;

	(void)columns;
	return c->count_h(row[0].bytes, row[1].integer, c->arg);
}

static int count(struct store *s, const char *sql,
		 const struct db_value *params, size_t param_count,
		 store_count_h *count_h, void *arg)
{
	struct counting c = {.count_h = count_h, .arg = arg};
	int err = db_query(store_reader(s), sql, params, param_count, count_row,
			   &c);

	return err < 0 ? err : 0;
}

int store_count_active(struct store *s, store_count_h *count_h, void *arg)
{
	return count(s,
		     "SELECT phase, count(*) FROM run WHERE phase <> 'done' "
		     "GROUP BY phase",
		     NULL, 0, count_h, arg);
}

int store_count_done(struct store *s, store_count_h *count_h, void *arg)
{
	return count(s,
		     "SELECT status, count(*) FROM run WHERE phase = 'done' "
		     "GROUP BY status",
		     NULL, 0, count_h, arg);
}

int store_count_agents(struct store *s, int64_t seen_after_ms,
		       store_count_h *count_h, void *arg)
{
	const struct db_value after = DB_I(seen_after_ms);

	return count(s,
		     "SELECT t.state, count(a.state) FROM "
		     "(SELECT 'online' AS state UNION ALL SELECT 'draining' "
		     "UNION ALL SELECT 'offline') t LEFT JOIN "
		     "(SELECT CASE WHEN disconnected = 1 OR last_seen < $1 "
		     "THEN 'offline' WHEN draining = 1 OR held = 1 "
		     "THEN 'draining' "
		     "ELSE 'online' END AS state FROM agent) a "
		     "ON a.state = t.state GROUP BY t.state",
		     &after, 1, count_h, arg);
}

int store_count_places(struct store *s, int64_t seen_after_ms,
		       store_count_h *count_h, void *arg)
{
	const struct db_value after = DB_I(seen_after_ms);

	return count(s,
		     "SELECT 'capacity', coalesce(sum(capacity), 0) FROM agent "
		     "WHERE disconnected = 0 AND last_seen >= $1 "
		     "UNION ALL SELECT 'in_use', count(*) FROM lease l "
		     "JOIN agent a ON a.id = l.agent_id WHERE "
		     "l.state IN ('offered', 'started') "
		     "AND a.disconnected = 0 AND a.last_seen >= $1",
		     &after, 1, count_h, arg);
}
