#include "agent/supervisor/job_division.h"

#include "control/wire/job.h"
#include "control/wire/job_decode.h"

#include <stdbool.h>

static bool originates(const struct wire_action *a)
{
	return a->type == WIRE_ACTION_CALL || a->type == WIRE_ACTION_STREAM;
}

static bool is_large(const struct wire_action *a)
{
	return originates(a) &&
	       (a->max_concurrent_calls >= JOB_DIVISION_CONCURRENT ||
		a->calls_per_second >= JOB_DIVISION_RATE);
}

/* Calls begin together at the go of their step; those of a later action would begin when
 * each engine is through with the one before. */
static bool calls_divisible(const struct wire_action *a, uint32_t engines,
			    bool first)
{
	return first && engines <= a->max_concurrent_calls &&
	       engines <= a->max_total_calls && !a->rtp_capture &&
	       a->stream.local_port == 0;
}

static bool action_divisible(const struct wire_action *a, uint32_t engines,
			     bool first)
{
	if (a->client != WIRE_CLIENT_NATIVE)
		return false;
	switch (a->type) {
	case WIRE_ACTION_CALL:
	case WIRE_ACTION_STREAM:
		return calls_divisible(a, engines, first);
	case WIRE_ACTION_REGISTER:
		return a->credential_count % engines == 0;
	case WIRE_ACTION_WAIT:
		return a->wait_calls == 0;
	case WIRE_ACTION_UNREGISTER:
		return true;
	case WIRE_ACTION_ANSWER:
	case WIRE_ACTION_MESSAGE:
	case WIRE_ACTION_OPTIONS:
	case WIRE_ACTION_SUBSCRIBE:
	case WIRE_ACTION_PUBLISH:
	case WIRE_ACTION_NOTIFY:
		return false;
	}
	return false;
}

/* @param ret_large  whether it has so many calls that it is worth it */
static bool job_divisible(const struct wire_job *job, uint32_t engines,
			  bool *ret_large)
{
	*ret_large = false;
	for (size_t s = 0; s < job->step_count; s++) {
		const struct wire_step *step = &job->steps[s];

		for (size_t i = 0; i < step->action_count; i++) {
			const struct wire_action *a = &step->actions[i];

			if (!action_divisible(a, engines, i == 0))
				return false;
			*ret_large |= is_large(a);
		}
	}
	return true;
}

static uint32_t engines_of(const struct wire_job *job, uint32_t engines_max)
{
	for (uint32_t engines = engines_max; engines > 1; engines--) {
		bool large;

		if (job_divisible(job, engines, &large) && large)
			return engines;
	}
	return 1;
}

uint32_t job_division(json_t *spec, uint32_t engines_max,
		      uint32_t *ret_interval_s)
{
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job;
	uint32_t engines;

	if (engines_max <= 1 || wire_job_decode(&job, spec, reason))
		return 1;
	engines = engines_of(job, engines_max);
	if (engines > 1)
		*ret_interval_s = job->interval_s;
	wire_job_free(job);
	return engines;
}
