#include "control/server/store/store_lease_db.h"

#include <errno.h>
#include <string.h>

/* Every parked role hears of the barrier before the instant comes. */
#define GO_DELAY_MS 250

/* Steps in which a role can be at most. */
#define STEP_MAX 1000

/* A run of one role has no other role to synchronise with. */
static int go_delay(struct db *db, int64_t run_id, int64_t *ret_ms)
{
	const struct db_value params[] = {DB_I(run_id)};
	int64_t roles;
	int err = lease_integer(db,
				"SELECT COUNT(*) FROM lease WHERE run_id = $1",
				LEASE_PARAMS(params), &roles);

	if (!err)
		*ret_ms = roles > 1 ? GO_DELAY_MS : 0;
	return err;
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
			  "ready_step < $2 AND NOT (state = 'finished' AND "
			  "outcome = 'completed'))",
			  LEASE_PARAMS(go));
}

int lease_ready(struct store *s, int64_t agent_id, const char *lease_id,
		int64_t step, const struct lease_times *times,
		int64_t *ret_go_in_ms, bool *ret_last)
{
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
