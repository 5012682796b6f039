#include "control/server/run/plan_check.h"

#include "base/str.h"
#include "control/server/run/override.h"
#include "control/server/run/plan_action.h"
#include "control/server/run/plan_pool.h"
#include "control/server/run/step_params.h"
#include "control/wire/job.h"
#include "control/wire/job_decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_BYTES 48

/* Split "target/hosts/0: is missing": its parameter, and the place within its
 * value. A pool's is the test's own; what the pool holds has no place there. */
static void place_read(const char *reason, char param[static PLACE_BYTES],
		       char within[static PLACE_BYTES])
{
	size_t len = strcspn(reason, "/:");
	const char *pool;

	str_print(param, PLACE_BYTES, "%.*s", (int)len, reason);
	str_print(within, PLACE_BYTES, "%.*s", (int)strcspn(reason + len, ":"),
		  reason + len);
	pool = step_pool_param(param);
	if (!pool)
		return;
	str_copy(param, PLACE_BYTES, pool);
	within[0] = '\0';
}

/* "/steps/1/0/target: is missing" of a role's job -> the test's own place. */
static void report(const struct plan_role *role, const char *reason,
		   json_t *errors)
{
	static const char prefix[] = "/steps/";
	const char *text = strstr(reason, ": ");
	char param[PLACE_BYTES] = "", within[PLACE_BYTES] = "";
	char member[2 * PLACE_BYTES], pointer[PLAN_POINTER_BYTES];
	unsigned long s, a, index;
	const json_t *action;
	char *end;

	if (strncmp(reason, prefix, strlen(prefix)) != 0 || !text) {
		plan_error(errors, "", "role %s: %s", role->role, reason);
		return;
	}
	s = strtoul(reason + strlen(prefix), &end, 10);
	a = *end == '/' ? strtoul(end + 1, &end, 10) : 0;
	if (*end == '/')
		place_read(end + 1, param, within);
	action = json_array_get(
		json_array_get(json_object_get(role->spec, "steps"), s), a);
	index = (unsigned long)json_integer_value(
		json_object_get(action, "index"));
	str_print(member, sizeof(member), "%s%s", param, within);
	plan_action_pointer(pointer, s, index, member);
	plan_error(errors, pointer, "role %s, step %lu, action %lu: %s %s",
		   role->role, s, index, param, text + 2);
}

/* Find the uploads that the argument of one `play` names when its placeholders
 * are filled in. */
static int plays_fill(json_t *hashes, const struct wire_fillings *fillings,
		      const char *argument, const struct plan_source *source,
		      const char *pointer, json_t *errors)
{
	size_t before = json_array_size(errors);
	char name[WIRE_ARGUMENT_BYTES];
	int err = 0;

	for (unsigned n = 0; !err && n < fillings->count; n++) {
		if (wire_filling(name, fillings, argument, n) < 0 ||
		    json_object_get(hashes, name))
			continue;
		err = plan_play_add(hashes, source, name, pointer, errors);
		if (json_object_size(hashes) > WIRE_CLIENT_ACTIONS_MAX)
			plan_error(errors, pointer,
				   "plays more than %d uploads, as it is "
				   "filled in",
				   WIRE_CLIENT_ACTIONS_MAX);
		if (json_array_size(errors) > before)
			break; /* one error is enough */
	}
	return err;
}

/* @param planned  the action of the job, s and a its place there */
static int action_fill(json_t *planned, const struct wire_job *job, size_t s,
		       size_t a, const struct plan_source *source,
		       json_t *errors)
{
	const struct wire_action *action = &job->steps[s].actions[a];
	json_t *hashes = json_object_get(planned, "play_sha256");
	struct wire_fillings fillings;
	int err = 0;

	hashes = hashes ? json_incref(hashes) : json_object();
	if (!hashes)
		return -ENOMEM;
	wire_fillings_init(&fillings, job, action,
			   wire_registered_before(job, action));
	for (size_t i = 0; !err && i < action->client_action_count; i++) {
		const struct wire_client_action *c = &action->client_actions[i];
		char member[PLACE_BYTES], pointer[PLAN_POINTER_BYTES];

		if (c->type != WIRE_SCRIPT_PLAY ||
		    !wire_argument_is_template(c->argument))
			continue;
		str_print(member, sizeof(member), "sipclient_actions/%zu/1", i);
		plan_action_pointer(pointer, s, action->index, member);
		err = plays_fill(hashes, &fillings, c->argument, source,
				 pointer, errors);
	}
	if (!err && json_object_size(hashes) &&
	    json_object_set(planned, "play_sha256", hashes))
		err = -ENOMEM;
	json_decref(hashes);
	return err;
}

static int job_fill(json_t *spec, const struct wire_job *job,
		    const struct plan_source *source, json_t *errors)
{
	json_t *steps = json_object_get(spec, "steps");
	int err = 0;

	for (size_t s = 0; s < job->step_count; s++) {
		json_t *step = json_array_get(steps, s);

		for (size_t a = 0; !err && a < job->steps[s].action_count; a++)
			err = action_fill(json_array_get(step, a), job, s, a,
					  source, errors);
	}
	return err;
}

int plan_jobs_check(struct plan *plan, const struct plan_source *source,
		    json_t *errors)
{
	for (size_t i = 0; i < plan->role_count; i++) {
		char reason[WIRE_REASON_BYTES];
		struct wire_job *job = NULL;
		int err;

		err = wire_job_decode(&job, plan->roles[i].spec, reason);
		if (err == -EINVAL) {
			report(&plan->roles[i], reason, errors);
			err = 0;
		} else if (!err) {
			err = job_fill(plan->roles[i].spec, job, source,
				       errors);
		}
		wire_job_free(job);
		if (err)
			return err;
	}
	return 0;
}
