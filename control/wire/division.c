#include "control/wire/division.h"

#include <stdarg.h>
#include <stdio.h>

/* Where the check is, and what it found. */
struct division {
	uint32_t parts;
	size_t step;
	struct wire_division_problem *problem;
};

static bool refuse(const struct division *d, const struct wire_action *a,
		   const char *member, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* @return false */
static bool refuse(const struct division *d, const struct wire_action *a,
		   const char *member, const char *fmt, ...)
{
	struct wire_division_problem *problem = d->problem;
	va_list args;

	if (!problem)
		return false;
	problem->step = d->step;
	problem->action = a;
	problem->member = member;
	va_start(args, fmt);
	(void)vsnprintf(problem->reason, sizeof(problem->reason), fmt, args);
	va_end(args);
	return false;
}

static bool count_divisible(const struct division *d,
			    const struct wire_action *a, const char *member,
			    uint32_t count)
{
	return count >= d->parts ||
	       refuse(d, a, member,
		      "%u cannot be divided over %u: raise it to at least %u, "
		      "or divide over fewer",
		      count, d->parts, d->parts);
}

/* Calls begin together at the go of their step; those of a later action would begin when
 * each part is through with the one before. */
static bool calls_divisible(const struct division *d,
			    const struct wire_action *a, bool first)
{
	if (!first)
		return refuse(d, a, "type",
			      "the calls of each part would begin when it is "
			      "through with the action before: put them into a "
			      "step of their own");
	if (a->rtp_capture)
		return refuse(d, a, "rtp_capture",
			      "is one file of all calls, which has no parts: "
			      "switch it off");
	if (a->stream.local_port)
		return refuse(d, a, "local_port",
			      "exists once: leave it out, then each stream "
			      "takes any port");
	return count_divisible(d, a, "max_total_calls", a->max_total_calls) &&
	       count_divisible(d, a, "max_concurrent_calls",
			       a->max_concurrent_calls);
}

static bool accounts_divisible(const struct division *d,
			       const struct wire_action *a)
{
	return a->credential_count % d->parts == 0 ||
	       refuse(d, a, "credential_pool",
		      "has %zu accounts, which cannot be divided evenly over "
		      "%u: make it a multiple of %u",
		      a->credential_count, d->parts, d->parts);
}

static bool action_divisible(const struct division *d,
			     const struct wire_action *a, bool first)
{
	if (a->client != WIRE_CLIENT_NATIVE)
		return refuse(d, a, "client",
			      "only the native client can be divided");
	switch (a->type) {
	case WIRE_ACTION_CALL:
	case WIRE_ACTION_STREAM:
		return calls_divisible(d, a, first);
	case WIRE_ACTION_REGISTER:
		return accounts_divisible(d, a);
	case WIRE_ACTION_WAIT:
		return a->wait_calls == 0 ||
		       refuse(d, a, "wait_calls",
			      "which part will have the calls is not known: "
			      "wait for a time");
	case WIRE_ACTION_UNREGISTER:
		return true;
	case WIRE_ACTION_ANSWER:
	case WIRE_ACTION_MESSAGE:
	case WIRE_ACTION_OPTIONS:
	case WIRE_ACTION_SUBSCRIBE:
	case WIRE_ACTION_PUBLISH:
	case WIRE_ACTION_NOTIFY:
		break;
	}
	return refuse(d, a, "type",
		      "an action `%s` cannot be divided: give it to another "
		      "role",
		      wire_action_name(a->type));
}

bool wire_job_divisible(const struct wire_job *job, uint32_t parts,
			struct wire_division_problem *problem)
{
	struct division d = {.parts = parts, .problem = problem};

	for (d.step = 0; parts > 1 && d.step < job->step_count; d.step++) {
		const struct wire_step *step = &job->steps[d.step];

		for (size_t i = 0; i < step->action_count; i++) {
			if (!action_divisible(&d, &step->actions[i], i == 0))
				return false;
		}
	}
	return true;
}
