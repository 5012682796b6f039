#include "control/server/store/store_run_limit.h"

#include "control/server/store/store_lease_db.h"
#include "control/server/store/store_run_internal.h"

#include <errno.h>

/* $1 the key or project */
static const char *const present[RUN_LIMIT_KINDS] = {
	[RUN_LIMIT_KEY_RUNS] =
		"SELECT count(*) FROM run WHERE " RUN_ACTIVE "AND key_id = $1",
	[RUN_LIMIT_PROJECT_RUNS] = "SELECT count(*) FROM run WHERE " RUN_ACTIVE
				   "AND project_id = $1",
	[RUN_LIMIT_PROJECT_BYTES] =
		"SELECT CAST(coalesce(sum(z.metrics + z.sip + z.artifacts + "
		"z.events), 0) AS BIGINT) FROM run r JOIN run_size z ON "
		"z.run_id = r.id WHERE r.project_id = $1 AND r." RUN_SHOWN,
};

int run_limits_check(struct db *db, struct run_limits *limits,
		     int64_t project_id)
{
	for (unsigned k = 0; k < RUN_LIMIT_KINDS; k++) {
		const int64_t owner =
			k == RUN_LIMIT_KEY_RUNS ? limits->key_id : project_id;
		const struct db_value param = DB_I(owner);
		int err;

		if (!limits->limit[k] || !owner)
			continue;
		err = db_query(db, present[k], &param, 1, db_integer_row,
			       &limits->present);
		if (err < 0)
			return err;
		if (limits->present < limits->limit[k])
			continue;
		limits->exceeded = (enum run_limit_kind)k;
		return -EDQUOT;
	}
	return 0;
}
