#include "control/server/run/plan.h"

#include "base/str.h"
#include "control/server/judge/judge.h"
#include "control/server/run/params.h"
#include "control/wire/job.h"
#include "control/wire/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void at(char pointer[static 96], size_t s, size_t a, const char *member)
{
	str_print(pointer, 96, "/step.%zu.%zu.%s", s, a, member);
}

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
		if (json_array_append_new(steps, json_array()))
			return -ENOMEM;
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

static bool known_member(const char *name)
{
	return strcmp(name, "type") == 0 || strcmp(name, "role") == 0 ||
	       strcmp(name, "name") == 0 ||
	       strcmp(name, "credential_share") == 0;
}

static const struct {
	const char *pool;
	const char *as; /* what a job has in its place */
} pools[] = {
	{"credential_pool", "credentials"},
	{"challenge_pool", "challenge_credentials"},
	{"turn_credential_pool", "turn_credentials"},
	{"target_pool", "target"},
};

#define POOL_COUNT (sizeof(pools) / sizeof(pools[0]))

static const char *pool_member(const char *name)
{
	for (size_t i = 0; i < POOL_COUNT; i++) {
		if (strcmp(pools[i].pool, name) == 0)
			return pools[i].as;
	}
	return NULL;
}

/* Replaces a pool's id by what it holds. */
static int resolve(json_t *action, const struct plan_source *source,
		   const char *member, const char *as, int64_t id,
		   const char *pointer, json_t *errors)
{
	bool credentials = strcmp(member, "target_pool") != 0;
	json_t *value;
	int err;

	err = credentials ? source->credentials(source->arg, id, &value)
			  : source->target(source->arg, id, &value);
	if (err == -ENOENT) {
		plan_error(errors, pointer, "there is no %s with the id %lld",
			   credentials ? "credential pool" : "target",
			   (long long)id);
		return 0;
	}
	if (err)
		return err;
	if (credentials && !json_array_size(value))
		plan_error(errors, pointer,
			   "there is no credential pool with the id %lld, or "
			   "it is empty",
			   (long long)id);
	return json_object_set_new(action, as, value) ? -ENOMEM : 0;
}

/* The part of a pool that is this role's: every n-th credential. */
static int take_share(json_t *planned, const json_t *share, const char *pointer,
		      json_t *errors)
{
	json_t *all = json_object_get(planned, "credentials");
	size_t part =
		(size_t)json_integer_value(json_object_get(share, "part"));
	size_t of = (size_t)json_integer_value(json_object_get(share, "of"));
	json_t *own = json_array();

	/* an empty one has been spoken of */
	if (json_array_size(all) && json_array_size(all) < of)
		plan_error(errors, pointer,
			   "the credential pool has %zu credentials, the %zu "
			   "roles that share it need one each",
			   json_array_size(all), of);
	for (size_t i = part; own && of && i < json_array_size(all); i += of)
		if (json_array_append(own, json_array_get(all, i))) {
			json_decref(own);
			return -ENOMEM;
		}
	return json_object_set_new(planned, "credentials", own) ? -ENOMEM : 0;
}

/* Scenarios carry these: a stored test may not (steps_check()). */
static bool is_inline(const char *name)
{
	return strcmp(name, "credentials") == 0 || strcmp(name, "target") == 0;
}

/* An uploaded prompt goes by its hash; any other is a file of the agents'. */
static int plan_prompt(json_t *planned, const struct plan_source *source,
		       const char *member, const char *name)
{
	char sha256[65];
	char hash[32];
	int err = source->prompt && name
			  ? source->prompt(source->arg, name, sha256)
			  : -ENOENT;

	if (err)
		return err == -ENOENT ? 0 : err;
	str_print(hash, sizeof(hash), "%s_sha256", member);
	return json_object_set_new(planned, hash, json_string(sha256)) ? -ENOMEM
								       : 0;
}

/* The hashes of the uploads that a script plays, by their names. */
static int plan_plays(json_t *planned, const struct plan_source *source,
		      const json_t *script)
{
	json_t *hashes = json_object();
	json_t *entry;
	size_t i;
	int err = hashes ? 0 : -ENOMEM;

	json_array_foreach(script, i, entry)
	{
		const char *action =
			json_string_value(json_array_get(entry, 0));
		const char *name = json_string_value(json_array_get(entry, 1));
		char sha256[65];
		int found;

		if (err || !source->prompt || !action || !name ||
		    strcmp(action, "play") != 0)
			continue;
		found = source->prompt(source->arg, name, sha256);
		if (found == 0)
			err = json_object_set_new(hashes, name,
						  json_string(sha256))
				      ? -ENOMEM
				      : 0;
		else if (found != -ENOENT)
			err = found;
	}
	if (!err && json_object_size(hashes))
		err = json_object_set(planned, "play_sha256", hashes) ? -ENOMEM
								      : 0;
	json_decref(hashes);
	return err;
}

/* One member of a test's action into the job's. */
static int plan_member(json_t *planned, const char *type, const char *name,
		       json_t *value, const struct plan_source *source,
		       const char *pointer, json_t *errors)
{
	const struct step_param *param = step_param_find(type, name);
	const char *as;
	json_t *typed;
	int err;

	if (is_inline(name))
		return json_object_set(planned, name, value) ? -ENOMEM : 0;
	if (!param) {
		plan_error(errors, pointer,
			   "a %.20s action has no parameter '%.60s'", type,
			   name);
		return 0;
	}
	err = param_normalize(param, value, &typed);
	if (err == -EINVAL) {
		plan_error(errors, pointer, "%s must be %s", name,
			   param_type_name(param));
		return 0;
	}
	if (err)
		return err;
	as = pool_member(name);
	if (as) {
		err = resolve(planned, source, name, as,
			      json_integer_value(typed), pointer, errors);
		json_decref(typed);
		return err;
	}
	if (strcmp(name, "prompt") == 0 || strcmp(name, "expect_prompt") == 0) {
		err = plan_prompt(planned, source, name,
				  json_string_value(typed));
		if (err) {
			json_decref(typed);
			return err;
		}
	}
	if (strcmp(name, "sipclient_actions") == 0) {
		err = plan_plays(planned, source, typed);
		if (err) {
			json_decref(typed);
			return err;
		}
	}
	return json_object_set_new(planned, name, typed) ? -ENOMEM : 0;
}

static int plan_action(struct plan *plan, struct plan_role *role, size_t s,
		       size_t a, json_t *action,
		       const struct plan_source *source, json_t *errors)
{
	const char *type = text_of(action, "type"), *name;
	json_t *steps = json_object_get(role->spec, "steps"), *value;
	json_t *planned =
		json_pack("{s:s, s:I}", "type", type, "index", (json_int_t)a);
	char pointer[96];
	int err;

	(void)plan;
	if (!planned ||
	    json_array_append_new(json_array_get(steps, s), planned))
		return -ENOMEM;
	json_object_foreach(action, name, value)
	{
		if (known_member(name) || json_is_null(value))
			continue;
		at(pointer, s, a, name);
		err = plan_member(planned, type, name, value, source, pointer,
				  errors);
		if (err)
			return err;
	}
	value = json_object_get(action, "credential_share");
	if (!value || !json_object_get(planned, "credentials"))
		return 0;
	at(pointer, s, a, "credential_pool");
	return take_share(planned, value, pointer, errors);
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
			char pointer[96];
			int err = 0;

			at(pointer, s, a, "role");
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
				role = &plan->roles[plan->role_count - 1];
			}
			if (!err)
				err = plan_action(plan, role, s, a, action,
						  source, errors);
			if (err)
				return err;
		}
	}
	return 0;
}

/* The users of a role: of what it registers, else of what it calls from. */
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

/* Where nothing is dialled, the callee is. */
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
				if (strcmp(text_of(action, "type"), "call") ||
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

/* "/steps/1/0/target: is missing" of a role's job -> the test's own place. */
static void report(const struct plan_role *role, const char *reason,
		   json_t *errors)
{
	static const char prefix[] = "/steps/";
	const char *text = strstr(reason, ": ");
	unsigned long s, a, index;
	char *end, member[48] = "";
	const json_t *action;
	char pointer[96];
	size_t len;

	if (strncmp(reason, prefix, strlen(prefix)) != 0 || !text) {
		plan_error(errors, "", "role %s: %s", role->role, reason);
		return;
	}
	s = strtoul(reason + strlen(prefix), &end, 10);
	a = *end == '/' ? strtoul(end + 1, &end, 10) : 0;
	if (*end == '/') {
		len = strcspn(end + 1, "/:");
		if (len < sizeof(member))
			memcpy(member, end + 1, len);
	}
	for (size_t i = 0; i < POOL_COUNT; i++) {
		if (strcmp(member, pools[i].as) == 0)
			str_copy(member, sizeof(member), pools[i].pool);
	}
	action = json_array_get(
		json_array_get(json_object_get(role->spec, "steps"), s), a);
	index = (unsigned long)json_integer_value(
		json_object_get(action, "index"));
	at(pointer, s, index, member);
	plan_error(errors, pointer, "role %s, step %lu, action %lu: %s %s",
		   role->role, s, index, member, text + 2);
}

static int check_jobs(const struct plan *plan, json_t *errors)
{
	for (size_t i = 0; i < plan->role_count; i++) {
		char reason[WIRE_REASON_BYTES];
		struct wire_job *job = NULL;
		int err;

		err = wire_job_decode(&job, plan->roles[i].spec, reason);
		wire_job_free(job);
		if (err == -EINVAL)
			report(&plan->roles[i], reason, errors);
		else if (err)
			return err;
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

/* Conditions as a whole: what the test itself carries was never checked. */
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

/* Audio is decoded where a condition asks about it. */
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

/* A condition on a role that is not there would fail for ever. */
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
	if (!err)
		err = check_jobs(plan, errors);
	return err;
}

static void passwords_remove(json_t *credentials)
{
	json_t *credential;
	size_t i;

	json_array_foreach(credentials, i, credential)
	{
		json_object_del(credential, "password");
	}
}

json_t *plan_spec_public(const json_t *spec)
{
	json_t *copy = json_deep_copy(spec), *step, *action;
	size_t s, a;

	json_array_foreach(json_object_get(copy, "steps"), s, step)
	{
		json_array_foreach(step, a, action)
		{
			for (size_t i = 0; i < POOL_COUNT; i++)
				passwords_remove(
					json_object_get(action, pools[i].as));
		}
	}
	return copy;
}
