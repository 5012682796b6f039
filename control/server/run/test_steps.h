/**
 * The steps of a stored test: their shape, and the parameters of their
 * actions (docs/reference/parameters.md) that a run may override.
 * Thread: worker.
 */
#ifndef OFFHOOK_CONTROL_SERVER_RUN_TEST_STEPS_H
#define OFFHOOK_CONTROL_SERVER_RUN_TEST_STEPS_H

#include "control/server/request/request.h"

/** A parameter of an action. */
struct step_param {
	const char *name;
	const char *type;     /* integer number string boolean array */
	const char *fallback; /* JSON text of the default; NULL: none */
	const char *actions;  /* types that have it, separated by blanks */
};

/** Find a parameter of an action type. @return constant; NULL: none */
const struct step_param *step_param_find(const char *action_type,
					 const char *name);

/** What a job has in the place of a pool: "credentials" for
 * "credential_pool". @return NULL: the parameter names no pool */
const char *step_pool_member(const char *name);

/** Get the pool parameter of a job's member: "credential_pool" for
 * "credentials". @return NULL: no pool has this member */
const char *step_pool_param(const char *as);

/** True for a role as the API names them: caller, callee, A, B, ... */
bool step_role_valid(const char *role);

/**
 * Check steps, all but what needs the database; notes errors below pointer.
 * It is what an agent would check, so that a stored test can be run.
 */
void steps_check(json_t *steps, const char *pointer, struct reply *rep);

/**
 * What a run may override, as GET /tests lists it.
 * @return new array of {key, role, action, type, default, value}
 */
json_t *steps_parameters(json_t *steps);

#endif
