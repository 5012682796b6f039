/**
 * Checks that agents accept the jobs of a plan. Internal to the planner.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PLAN_CHECK_H
#define OFFHOOK_SERVER_RUN_PLAN_CHECK_H

#include "control/server/run/plan.h"

/**
 * Decode every job as an agent does, and report errors with pointers into the
 * test. Then add to the jobs the uploads that scripts play by names with
 * placeholders.
 * @return 0 (see errors); -ENOMEM; -EIO
 */
int plan_jobs_check(struct plan *plan, const struct plan_source *source,
		    json_t *errors);

#endif
