#include "agent/engine/job/session_count.h"

#include <math.h>

#define SESSIONS_MIN  256u
#define SESSIONS_TAKE 2000u /* a role that answers cannot know its load */
/* A stopped session lingers 200 ms at most; the rest is for a loaded machine. */
#define LINGER_S 1.0

static bool originates(const struct wire_action *a)
{
	return a->type == WIRE_ACTION_CALL || a->type == WIRE_ACTION_STREAM;
}

static double room(const struct wire_action *a)
{
	if (originates(a))
		return a->max_concurrent_calls +
		       ceil(a->calls_per_second * LINGER_S) + 1;
	if (a->type == WIRE_ACTION_ANSWER)
		return a->max_concurrent_calls ? 2.0 * a->max_concurrent_calls
					       : SESSIONS_TAKE;
	return 0;
}

uint32_t session_count_wanted(const struct wire_job *job)
{
	double call = 0;
	double answer = 0;
	double both;

	for (size_t s = 0; s < job->step_count; s++) {
		for (size_t i = 0; i < job->steps[s].action_count; i++) {
			const struct wire_action *a = &job->steps[s].actions[i];

			if (originates(a))
				call = fmax(call, room(a));
			else
				answer = fmax(answer, room(a));
		}
	}
	both = fmax(call + answer, SESSIONS_MIN);
	return (uint32_t)fmin(both, ENGINE_CALLS_MAX);
}
