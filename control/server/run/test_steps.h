/**
 * The steps of a stored test: their shape, and the parameters of their
 * actions that a run may override.
 * Thread: worker.
 */
#ifndef OFFHOOK_CONTROL_SERVER_RUN_TEST_STEPS_H
#define OFFHOOK_CONTROL_SERVER_RUN_TEST_STEPS_H

#include "control/server/request/request.h"

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
