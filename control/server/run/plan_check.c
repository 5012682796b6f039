#include "control/server/run/plan_check.h"

#include "base/str.h"
#include "control/server/run/plan_action.h"
#include "control/server/run/plan_pool.h"
#include "control/wire/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "/steps/1/0/target: is missing" of a role's job -> the test's own place. */
static void report(const struct plan_role *role, const char *reason,
		   json_t *errors)
{
	static const char prefix[] = "/steps/";
	const char *text = strstr(reason, ": ");
	unsigned long s, a, index;
	char *end, member[48] = "";
	const json_t *action;
	char pointer[PLAN_POINTER_BYTES];
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
	if (plan_pool_named(member))
		str_copy(member, sizeof(member), plan_pool_named(member));
	action = json_array_get(
		json_array_get(json_object_get(role->spec, "steps"), s), a);
	index = (unsigned long)json_integer_value(
		json_object_get(action, "index"));
	plan_action_pointer(pointer, s, index, member);
	plan_error(errors, pointer, "role %s, step %lu, action %lu: %s %s",
		   role->role, s, index, member, text + 2);
}

int plan_jobs_check(const struct plan *plan, json_t *errors)
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
