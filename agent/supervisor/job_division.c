#include "agent/supervisor/job_division.h"

#include "control/wire/division.h"
#include "control/wire/job_decode.h"

#include <sched.h>
#include <stdbool.h>

static bool is_large(const struct wire_action *a)
{
	return wire_action_originates(a->type) &&
	       (a->max_concurrent_calls >= JOB_DIVISION_CONCURRENT ||
		a->calls_per_second >= JOB_DIVISION_RATE);
}

/* Whether it has so many calls that it is worth it. */
static bool job_large(const struct wire_job *job)
{
	for (size_t s = 0; s < job->step_count; s++) {
		const struct wire_step *step = &job->steps[s];

		for (size_t i = 0; i < step->action_count; i++) {
			if (is_large(&step->actions[i]))
				return true;
		}
	}
	return false;
}

/* A shard is divided further: all engines of all agents have a part of the whole. */
static uint32_t engines_of(const struct wire_job *job, uint32_t engines_max)
{
	for (uint32_t engines = engines_max; engines > 1; engines--) {
		if (wire_job_divisible(job, engines * job->share.of, NULL))
			return engines;
	}
	return 1;
}

uint32_t job_division_most(uint32_t configured)
{
	cpu_set_t set;
	int count;

	if (configured)
		return configured;
	/* It fails only on a host with more than the 1024 processors of a cpu_set_t. */
	if (sched_getaffinity(0, sizeof(set), &set))
		return WIRE_ENGINES_MAX;
	count = CPU_COUNT(&set);
	return count < (int)WIRE_ENGINES_MAX ? (uint32_t)count
					     : WIRE_ENGINES_MAX;
}

uint32_t job_division(json_t *spec, uint32_t engines_max,
		      uint32_t *ret_interval_s)
{
	char reason[WIRE_REASON_BYTES];
	struct wire_job *job;
	uint32_t engines;

	if (engines_max <= 1 || wire_job_decode(&job, spec, reason))
		return 1;
	engines = job_large(job) ? engines_of(job, engines_max) : 1;
	if (engines > 1)
		*ret_interval_s = job->interval_s;
	wire_job_free(job);
	return engines;
}
