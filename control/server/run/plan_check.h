/**
 * Whether agents will take the jobs of a plan. Internal to the planner.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PLAN_CHECK_H
#define OFFHOOK_SERVER_RUN_PLAN_CHECK_H

#include "control/server/run/plan.h"

/**
 * Decode every job as an agent does; what it refuses is reported where it
 * stands in the test. Then the uploads that scripts play by names with
 * placeholders are noted in the jobs.
 * @return 0 (see errors); -ENOMEM; -EIO
 */
int plan_jobs_check(struct plan *plan, const struct plan_source *source,
		    json_t *errors);

#endif
