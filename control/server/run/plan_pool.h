/**
 * Pools in the actions of a test: a job has what they hold in their place.
 * Of the planner, and of who tries out an action of a test.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PLAN_POOL_H
#define OFFHOOK_SERVER_RUN_PLAN_POOL_H

#include "control/server/run/plan.h"

/** What a job has in the place of a pool: "credentials" for
 * "credential_pool". @return NULL: the parameter names no pool */
const char *plan_pool_as(const char *name);

/** The other way round. @return NULL: it is no member of a pool's */
const char *plan_pool_named(const char *as);

/**
 * Put what a pool holds into a job's action.
 * @param pool     parameter that names it: plan_pool_as() knows it
 * @param pointer  of the parameter, for errors
 * @return 0 (see errors); -ENOMEM; -EIO
 */
int plan_pool_resolve(json_t *action, const struct plan_source *source,
		      const char *pool, int64_t id, const char *pointer,
		      json_t *errors);

/**
 * Leave an action the part of its credentials that is its role's: every n-th.
 * @param share    {part, of}: part counts from 0
 * @param pointer  of the pool, for errors
 * @return 0 (see errors); -ENOMEM
 */
int plan_pool_share(json_t *action, const json_t *share, const char *pointer,
		    json_t *errors);

#endif
