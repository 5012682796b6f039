#include "control/server/store/store_metrics.h"

#include "control/server/store/store_db.h"
#include "control/server/store/store_run_internal.h"

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
		     "AND " RUN_SHOWN " GROUP BY status",
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

struct telling {
	store_agent_h *agent_h;
	void *arg;
};

static int agent_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct telling *t = arg;
	const struct agent_figures agent = {
		.pool = row[0].bytes,
		.name = row[1].bytes,
		.up = row[2].integer != 0,
		.capacity = row[3].integer,
		.in_use = row[4].integer,
		.last_seen_ms = row[5].integer,
		.has_offset = row[6].type == DB_INT,
		.clock_offset_us = row[6].integer,
	};

	(void)columns;
	return t->agent_h(&agent, t->arg);
}

int store_each_agent(struct store *s, int64_t seen_after_ms,
		     store_agent_h *agent_h, void *arg)
{
	const struct db_value params[] = {DB_I(seen_after_ms),
					  DB_I(METRICS_AGENTS_MAX)};
	struct telling telling = {agent_h, arg};
	int err = db_query(store_reader(s),
			   "SELECT p.name, a.name, a.disconnected = 0 AND "
			   "coalesce(a.last_seen, 0) >= $1, a.capacity, "
			   "(SELECT count(*) FROM lease l WHERE l.agent_id = "
			   "a.id AND l.state IN ('offered', 'started')), "
			   "coalesce(a.last_seen, 0), a.clock_offset_us FROM "
			   "agent a JOIN agent_pool p ON p.id = a.pool_id "
			   "ORDER BY coalesce(a.last_seen, 0) DESC, a.id "
			   "LIMIT $2",
			   params, 2, agent_row, &telling);

	return err < 0 ? err : 0;
}

int store_count_all_agents(struct store *s, int64_t *ret)
{
	int rows = db_query(store_reader(s), "SELECT count(*) FROM agent", NULL,
			    0, db_integer_row, ret);

	return rows < 0 ? rows : 0;
}

struct test_telling {
	store_test_h *test_h;
	void *arg;
};

/* Read a figure in a unit's multiple. */
static struct test_figure figure(const struct db_value *v, double scale)
{
	return v->type == DB_NULL
		       ? (struct test_figure){.known = false}
		       : (struct test_figure){true, db_number(v) * scale};
}

static int test_row(const struct db_value *row, size_t columns, void *arg)
{
	const struct test_telling *t = arg;
	const struct test_figures test = {
		.project = row[0].bytes,
		.name = row[1].bytes,
		.verdict = row[2].type == DB_TEXT ? row[2].bytes : NULL,
		.ended_s = figure(&row[3], 1e-3),
		.duration_s = figure(&row[4], 1e-3),
		.mos = figure(&row[5], 1),
		.mos_min = figure(&row[6], 1),
		.loss = figure(&row[7], 1e-2),
		.pdd_s = figure(&row[8], 1e-3),
		.pdd_max_s = figure(&row[9], 1e-3),
	};

	(void)columns;
	return t->test_h(&test, t->arg);
}

#define R_HAS_VERDICT RUN_HAS_VERDICT("r")

/* The last run of a test is found by the index run_by_test: how many are stored
 * does not matter. */
#define EACH_TEST                                                        \
	"WITH last AS (SELECT t.id AS test_id, (SELECT r.id FROM run r " \
	"WHERE r.test_id = t.id AND " R_HAS_VERDICT " "                  \
	"ORDER BY r.id DESC LIMIT 1) AS run_id FROM test t "             \
	"ORDER BY t.id LIMIT $1) "                                       \
	"SELECT p.name, t.name, r.status, r.stopped_at, "                \
	"r.stopped_at - r.started_at, v.mos, v.mos_min, v.loss_pct, "    \
	"v.pdd_ms, v.pdd_max_ms FROM last l JOIN test t ON t.id = "      \
	"l.test_id JOIN project p ON p.id = t.project_id "               \
	"LEFT JOIN run r ON r.id = l.run_id "                            \
	"LEFT JOIN run_verdict v ON v.run_id = r.id AND "                \
	"r.metrics_removed_at IS NULL ORDER BY t.id"

int store_each_test(struct store *s, store_test_h *test_h, void *arg)
{
	const struct db_value max = DB_I(METRICS_TESTS_MAX);
	struct test_telling telling = {test_h, arg};
	int err = db_query(store_reader(s), EACH_TEST, &max, 1, test_row,
			   &telling);

	return err < 0 ? err : 0;
}

int store_count_tests(struct store *s, int64_t *ret)
{
	int err = db_query(store_reader(s), "SELECT count(*) FROM test", NULL,
			   0, db_integer_row, ret);

	return err < 0 ? err : 0;
}

int store_artifact_bytes(struct store *s, int64_t *ret)
{
	int err = db_query(store_reader(s),
			   "SELECT coalesce(sum(size), 0) FROM artifact", NULL,
			   0, db_integer_row, ret);

	return err < 0 ? err : 0;
}
