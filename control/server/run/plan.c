#include "control/server/run/plan.h"

#include "base/str.h"
#include "control/server/judge/judge_conditions.h"
#include "control/server/run/override.h"
#include "control/server/run/params.h"
#include "control/server/run/plan_action.h"
#include "control/server/run/plan_check.h"
#include "control/server/run/plan_needs.h"
#include "control/server/run/plan_shards.h"
#include "control/server/run/test_steps.h"
#include "control/wire/text.h"

#include <errno.h>
#include <string.h>

void plan_release(struct plan *plan)
{
	for (size_t i = 0; i < plan->role_count; i++)
		json_decref(plan->roles[i].spec);
	plan->role_count = 0;
}

static struct plan_role *find_role(struct plan *plan, const char *role)
{
	for (size_t i = 0; i < plan->role_count; i++)
		if (strcmp(plan->roles[i].role, role) == 0)
			return &plan->roles[i];
	return NULL;
}

static int add_role(struct plan *plan, const struct plan_params *params,
		    const char *role, bool record)
{
	struct plan_role *added = &plan->roles[plan->role_count];
	const char *kept = params->record;
	json_t *steps = json_array();

	for (size_t s = 0; steps && s < json_array_size(params->steps); s++)
		if (json_array_append_new(steps, json_array())) {
			json_decref(steps);
			return -ENOMEM;
		}
	if (record && strcmp(kept, "none") == 0)
		kept = "sip"; /* conditions on messages need them */
	added->spec =
		json_pack("{s:s, s:s, s:i, s:I, s:I, s:s, s:{}, s:o}",
			  "session_id", params->session_id, "role", role,
			  "attempt", (int)params->attempt, "interval_s",
			  (json_int_t)params->interval_s, "max_duration_s",
			  (json_int_t)params->max_duration_s, "record", kept,
			  "peers", "steps", steps);
	if (!added->spec)
		return -ENOMEM;
	added->role = text_of(added->spec, "role");
	plan->role_count++;
	return 0;
}

static int plan_steps(struct plan *plan, const struct plan_params *params,
		      const struct plan_source *source, bool record,
		      json_t *errors)
{
	json_t *step, *action;
	size_t s, a;

	json_array_foreach(params->steps, s, step)
	{
		json_array_foreach(step, a, action)
		{
			const char *name = text_of(action, "role");
			struct plan_role *role = find_role(plan, name);
			char pointer[PLAN_POINTER_BYTES];
			int err;

			plan_action_pointer(pointer, s, a, "role");
			if (!step_role_valid(name)) {
				plan_error(errors, pointer,
					   "the action has no valid role");
				continue;
			}
			if (!role && plan->role_count == PLAN_ROLES_MAX) {
				plan_error(errors, pointer,
					   "more than %d roles",
					   PLAN_ROLES_MAX);
				return 0;
			}
			if (!role) {
				err = add_role(plan, params, name, record);
				if (err)
					return err;
				role = &plan->roles[plan->role_count - 1];
			}
			err = plan_action_add(role->spec, s, a, action, source,
					      errors);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Collect the users of a role: those it registers, else those it calls from. */
static int add_users(json_t *users, const json_t *spec, const char *type)
{
	const json_t *step, *action, *credential;
	size_t s, a, c;

	json_array_foreach(json_object_get(spec, "steps"), s, step)
	{
		json_array_foreach(step, a, action)
		{
			if (type && strcmp(text_of(action, "type"), type) != 0)
				continue;
			json_array_foreach(
				json_object_get(action, "credentials"), c,
				credential)
			{
				json_t *user =
					json_object_get(credential, "username");
				if (json_array_append(users, user))
					return -ENOMEM;
			}
		}
	}
	return 0;
}

static int add_peers(struct plan *plan)
{
	for (size_t i = 0; i < plan->role_count; i++) {
		json_t *users = json_array();
		int err = users ? add_users(users, plan->roles[i].spec,
					    "register")
				: -ENOMEM;

		if (!err && !json_array_size(users))
			err = add_users(users, plan->roles[i].spec, NULL);
		for (size_t k = 0; !err && k < plan->role_count; k++) {
			json_t *peers =
				json_object_get(plan->roles[k].spec, "peers");

			if (k != i &&
			    json_object_set(peers, plan->roles[i].role, users))
				err = -ENOMEM;
		}
		json_decref(users);
		if (err)
			return err;
	}
	return 0;
}

/* Without dial_destination a call goes to the callee. */
static int default_destinations(struct plan *plan)
{
	bool callee = find_role(plan, "callee") != NULL;
	json_t *step, *action;
	size_t s, a;

	for (size_t i = 0; callee && i < plan->role_count; i++) {
		json_t *steps = json_object_get(plan->roles[i].spec, "steps");

		if (strcmp(plan->roles[i].role, "callee") == 0)
			continue;
		json_array_foreach(steps, s, step)
		{
			json_array_foreach(step, a, action)
			{
				/* SIPp has a default of its own */
				if (strcmp(text_of(action, "type"), "call") ||
				    !strcmp(text_of(action, "client"),
					    "sipp") ||
				    json_object_get(action, "dial_destination"))
					continue;
				if (json_object_set_new(
					    action, "dial_destination",
					    json_string("{{callee.username}}")))
					return -ENOMEM;
			}
		}
	}
	return 0;
}

static bool does_something(const json_t *steps)
{
	const json_t *step, *action;
	size_t s, a;

	json_array_foreach(steps, s, step)
	{
		json_array_foreach(step, a, action)
		{
			const char *type = text_of(action, "type");

			if (strcmp(type, "wait") && strcmp(type, "unregister"))
				return true;
		}
	}
	return false;
}

/* Check all conditions: those stored with the test were not checked before. */
static int check_conditions(const struct plan_params *params,
			    struct judge_conditions **ret, json_t *errors)
{
	struct judge_problem problem;
	char pointer[JUDGE_POINTER_BYTES + 16];
	int err;

	err = judge_conditions_new(ret, params->conditions, &problem);
	if (err == -EINVAL) {
		str_print(pointer, sizeof(pointer), "/conditions%s",
			  problem.pointer);
		plan_error(errors, pointer, "%s", problem.reason);
		return 0;
	}
	return err;
}

/* Switch audio_checks on where a condition needs decoded audio. */
static int audio_checks(struct plan_role *role)
{
	json_t *step, *action;
	size_t s, a;

	json_array_foreach(json_object_get(role->spec, "steps"), s, step)
	{
		json_array_foreach(step, a, action)
		{
			const char *type = text_of(action, "type");

			if (strcmp(type, "call") && strcmp(type, "answer") &&
			    strcmp(type, "stream"))
				continue;
			if (json_object_set_new(action, "audio_checks",
						json_true()))
				return -ENOMEM;
		}
	}
	return 0;
}

/* A condition on a role that no step has would always fail. */
static void check_roles(struct plan *plan, const struct plan_params *params,
			json_t *errors)
{
	const json_t *set;
	size_t i;

	json_array_foreach(params->conditions, i, set)
	{
		const char *role = text_of(set, "role");
		char pointer[64];

		if (find_role(plan, role) ||
		    !json_array_size(json_object_get(set, "conditions")))
			continue;
		str_print(pointer, sizeof(pointer), "/conditions/%zu/role", i);
		plan_error(errors, pointer,
			   "%.80s: the test has no role '%.40s'",
			   text_of(set, "condition_type"), role);
	}
}

int plan_make(struct plan *plan, const struct plan_params *params,
	      const struct plan_source *source, json_t *errors)
{
	struct judge_conditions *conditions = NULL;
	bool record;
	int err;

	*plan = (struct plan){.role_count = 0};
	if (!does_something(params->steps)) {
		plan_error(errors, "/steps",
			   "the test has no action that registers, answers or "
			   "calls");
		return 0;
	}
	err = check_conditions(params, &conditions, errors);
	record = conditions && judge_conditions_need_messages(conditions);
	if (!err)
		err = plan_steps(plan, params, source, record, errors);
	for (size_t i = 0; !err && conditions && i < plan->role_count; i++) {
		if (judge_conditions_need_audio(conditions,
						plan->roles[i].role))
			err = audio_checks(&plan->roles[i]);
	}
	judge_conditions_free(conditions);
	if (err || json_array_size(errors))
		return err;
	check_roles(plan, params, errors);
	err = add_peers(plan);
	if (!err)
		err = default_destinations(plan);
	for (size_t i = 0; !err && i < plan->role_count; i++)
		err = plan_needs_add(plan->roles[i].spec);
	if (!err)
		err = plan_jobs_check(plan, source, errors);
	if (!err && !json_array_size(errors))
		err = plan_shards(plan, errors);
	return err;
}
