#include "control/server/run/calibrated.h"

#include "base/str.h"
#include "control/server/run/plan.h"
#include "control/server/store/store_pool.h"

#include <inttypes.h>
#include <jansson.h>

/* Calls of a role at a time: of the action that has most. */
static uint64_t calls_of(const json_t *spec)
{
	const json_t *step, *action;
	json_int_t most = 0;
	size_t s, i;

	json_array_foreach(json_object_get(spec, "steps"), s, step)
	{
		json_array_foreach(step, i, action)
		{
			json_int_t calls = json_integer_value(json_object_get(
				action, "max_concurrent_calls"));

			most = calls > most ? calls : most;
		}
	}
	return (uint64_t)most;
}

int calibrated_check(struct store *store, int64_t pool_id,
		     const struct plan *plan,
		     char text[static CALIBRATED_TEXT_BYTES])
{
	struct pool_calibration pool;
	uint64_t all = 0;
	int err = store_pool_calibration(store, pool_id, &pool);

	text[0] = '\0';
	if (err || pool.uncalibrated || !pool.calibrated)
		return err;
	for (size_t i = 0; i < plan->role_count; i++) {
		uint64_t calls = calls_of(plan->roles[i].spec);

		all += calls;
		/* the largest shard, if the role is divided over agents */
		calls = (calls + plan->roles[i].shards - 1) /
			plan->roles[i].shards;
		if (calls <= pool.calls_most || text[0])
			continue;
		(void)str_print(text, CALIBRATED_TEXT_BYTES,
				"role %.64s asks for %" PRIu64
				" calls at a time%s, but no agent of its pool "
				"is calibrated for more than %" PRIu64,
				plan->roles[i].role, calls,
				plan->roles[i].shards > 1 ? " of an agent" : "",
				pool.calls_most);
	}
	if (!text[0] && all > pool.calls)
		(void)str_print(text, CALIBRATED_TEXT_BYTES,
				"the roles ask for %" PRIu64
				" calls at a time, but all agents of the pool "
				"together are calibrated for %" PRIu64,
				all, pool.calls);
	return 0;
}
