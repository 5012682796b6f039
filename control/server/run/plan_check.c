#include "control/server/run/plan_check.h"

#include "base/str.h"
#include "control/server/run/plan_action.h"
#include "control/server/run/plan_pool.h"
#include "control/wire/job.h"

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
	pool = plan_pool_named(param);
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
