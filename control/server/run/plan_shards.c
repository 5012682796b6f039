#include "control/server/run/plan_shards.h"

#include "control/server/run/override.h"
#include "control/server/run/plan.h"
#include "control/server/run/plan_action.h"
#include "control/server/run/plan_needs.h"
#include "control/wire/division.h"
#include "control/wire/job_decode.h"

#include <errno.h>

/* Take the parameter of one action.
 * @return false: an error was added */
static bool agents_take(struct plan_role *role, const struct wire_action *a,
			size_t s, json_t *errors)
{
	char pointer[PLAN_POINTER_BYTES];

	if (a->agents.most <= 1)
		return true;
	plan_action_pointer(pointer, s, a->index, "agents");
	if (role->shards > 1 && (a->agents.most != role->shards ||
				 a->agents.least != role->agents_min)) {
		plan_error(errors, pointer,
			   "the role %s is divided by another action already: "
			   "all its actions have the same agents",
			   role->role);
		return false;
	}
	role->shards = a->agents.most;
	role->agents_min = a->agents.least;
	role->allow_reduced |= a->allow_reduced;
	return true;
}

static bool job_agents(struct plan_role *role, const struct wire_job *job,
		       json_t *errors)
{
	role->shards = role->agents_min = 1;
	role->allow_reduced = false;
	for (size_t s = 0; s < job->step_count; s++) {
		for (size_t i = 0; i < job->steps[s].action_count; i++) {
			if (!agents_take(role, &job->steps[s].actions[i], s,
					 errors))
				return false;
		}
	}
	return true;
}

/* Accounts that call without registration are in all shards: each takes its own. */
static bool accounts_divide(const struct plan_role *role, size_t s,
			    const struct wire_action *a, json_t *errors)
{
	char pointer[PLAN_POINTER_BYTES];

	if (a->type != WIRE_ACTION_CALL ||
	    a->credential_count % role->shards == 0)
		return true;
	plan_action_pointer(pointer, s, a->index, "credential_pool");
	plan_error(errors, pointer,
		   "the %zu accounts cannot be divided evenly over %u shards, "
		   "and no account is in two: make it a multiple of %u",
		   a->credential_count, role->shards, role->shards);
	return false;
}

static bool job_check(const struct plan_role *role, const struct wire_job *job,
		      json_t *errors)
{
	struct wire_division_problem problem;
	char pointer[PLAN_POINTER_BYTES];
	bool registered = false; /* it calls from these accounts */

	if (!wire_job_divisible(job, role->shards, &problem)) {
		plan_action_pointer(pointer, problem.step,
				    problem.action->index, problem.member);
		plan_error(errors, pointer,
			   "the role %s is divided over %u shards: %s %s",
			   role->role, role->shards, problem.member,
			   problem.reason);
		return false;
	}
	for (size_t s = 0; s < job->step_count; s++) {
		for (size_t i = 0; i < job->steps[s].action_count; i++) {
			const struct wire_action *a = &job->steps[s].actions[i];

			registered |= a->type == WIRE_ACTION_REGISTER;
			if (!registered && !accounts_divide(role, s, a, errors))
				return false;
		}
	}
	return true;
}

/* @param ret_first  set to true if its calls are in the first step */
static bool calls_first(const struct wire_job *job)
{
	const struct wire_step *step = &job->steps[0];

	return job->step_count > 0 && step->action_count > 0 &&
	       wire_action_originates(step->actions[0].type);
}

static int role_divide(struct plan_role *role, bool *ret_first, json_t *errors)
{
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job;
	bool divided;
	int err = wire_job_decode(&job, role->spec, reason);

	if (err)
		return err == -EINVAL ? 0 : err; /* reported before */
	divided = job_agents(role, job, errors) && role->shards > 1 &&
		  job_check(role, job, errors);
	if (divided)
		*ret_first |= calls_first(job);
	wire_job_free(job);
	return divided ? plan_needs_shards(role->spec) : 0;
}

/* Calls in the first step begin together like any others: all agents of the run wait for
 * each other before it, too, also those of roles that are not divided. */
static int barrier_first(struct plan *plan)
{
	for (size_t i = 0; i < plan->role_count; i++) {
		json_t *spec = plan->roles[i].spec;
		int err = plan_needs_shards(spec);

		if (err ||
		    json_object_set_new(spec, "barrier_first", json_true()))
			return -ENOMEM;
	}
	return 0;
}

int plan_shards(struct plan *plan, json_t *errors)
{
	bool first = false;
	size_t jobs = 0;

	for (size_t i = 0; i < plan->role_count; i++) {
		int err = role_divide(&plan->roles[i], &first, errors);

		if (err)
			return err;
		jobs += plan->roles[i].shards;
	}
	if (jobs > PLAN_JOBS_MAX)
		plan_error(errors, "/steps",
			   "the roles have %zu shards together, at most %d are "
			   "possible: lower agents",
			   jobs, PLAN_JOBS_MAX);
	return first ? barrier_first(plan) : 0;
}
