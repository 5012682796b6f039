#include "agent/engine/call/call_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define SESSIONS_MIN  256u
#define SESSIONS_TAKE 2000u /* of a role that answers, whose load is unknown */
/* A stopped session receives for 200 ms at most; more for a busy machine. */
#define LINGER_S 1.0

int calls_new(struct calls **ret, const struct calls_params *params)
{
	struct calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return -ENOMEM;
	calls->job = params->job;
	calls->settings = params->settings;
	calls->report = params->report;
	calls->accounts = params->accounts;
	calls->media = params->media;
	calls->sessions_max = params->sessions_max;
	calls->draw.state = params->seed;
	calls->second_ns = clock_mono_ns();
	*ret = calls;
	return 0;
}

struct calls *calls_free(struct calls *calls)
{
	free(calls);
	return NULL;
}

void calls_handle(struct calls *calls, const struct calls_handlers *handlers,
		  void *arg)
{
	calls->handlers = *handlers;
	calls->arg = arg;
}

/* ---- ceilings ---- */

static double room(const struct wire_action *a, const struct wire_share *share)
{
	if (wire_action_originates(a->type))
		return wire_share_count(share, a->max_concurrent_calls) +
		       ceil(a->calls_per_second / share->of * LINGER_S) + 1;
	if (a->type == WIRE_ACTION_ANSWER)
		return a->max_concurrent_calls ? 2.0 * a->max_concurrent_calls
					       : SESSIONS_TAKE;
	return 0;
}

uint32_t calls_sessions_wanted(const struct wire_job *job,
			       const struct wire_share *share)
{
	double call = 0;
	double answer = 0;
	double both;

	for (size_t s = 0; s < job->step_count; s++) {
		for (size_t i = 0; i < job->steps[s].action_count; i++) {
			const struct wire_action *a = &job->steps[s].actions[i];

			if (wire_action_originates(a->type))
				call = fmax(call, room(a, share));
			else
				answer = fmax(answer, room(a, share));
		}
	}
	both = fmax(call + answer, SESSIONS_MIN);
	return (uint32_t)fmin(both, CALLS_MAX);
}

bool calls_have_room(const struct calls *calls)
{
	return calls->listed < calls->sessions_max;
}

/* ---- figures ---- */

uint32_t calls_listed(const struct calls *calls)
{
	return calls->listed;
}

uint32_t calls_up(const struct calls *calls, bool outgoing)
{
	return calls->up[outgoing];
}

uint32_t calls_up_most(const struct calls *calls)
{
	return calls->up_most;
}

uint32_t calls_lingering(const struct calls *calls, int64_t now_ns)
{
	uint32_t count = 0;
	struct le *le;

	LIST_FOREACH(&calls->list, le)
	{
		const struct call *c = le->data;
		bool over = c->established_ns && c->duration_ns != INT64_MAX &&
			    now_ns >= call_planned_end_ns(c);

		count += c->closed || c->hangup_ns || over;
	}
	return count;
}

double calls_lasted(const struct calls *calls, const struct wire_action *action,
		    int64_t now_ns)
{
	double lasted = 0;
	struct le *le;

	LIST_FOREACH(&calls->list, le)
	{
		const struct call *c = le->data;
		double part;

		if (c->action != action || c->placed_for[0] ||
		    !c->established_ns || c->duration_ns <= 0)
			continue;
		part = (double)(now_ns - c->established_ns) /
		       (double)c->duration_ns;
		lasted += part < 0 ? 0 : part > 1 ? 1 : part;
	}
	return lasted;
}

void calls_second(struct calls *calls, const bool busy[static 2],
		  int64_t now_ns)
{
	double s = (double)(now_ns - calls->second_ns) / (double)NS_PER_S;
	struct report_calls_params second[2];

	/* the first tick at a whole second comes early: no calls are missing in it */
	if (s > 0 && wire_share_divided(&calls->settings->share))
		s = fmax(s, 1);
	for (int dir = 0; dir < 2; dir++) {
		second[dir] = (struct report_calls_params){
			.known = s > 0 && (busy[dir] || calls->up[dir] ||
					   calls->begun[dir]),
			.up = calls->up[dir],
			.per_s = s > 0 ? calls->begun[dir] / s : 0,
		};
		calls->begun[dir] = 0;
	}
	report_calls_second(calls->report, now_ns, second);
	calls->second_ns = now_ns;
}

bool calls_abandoned(const struct calls *calls)
{
	return calls->abandoned;
}

/* ---- end ---- */

void calls_hangup(struct calls *calls)
{
	struct le *le;

	LIST_FOREACH(&calls->list, le)
	{
		call_end(le->data);
	}
}

void calls_overdue(struct calls *calls)
{
	struct le *le;

	LIST_FOREACH(&calls->list, le)
	{
		call_overdue(le->data);
	}
}

void calls_abandon(struct calls *calls)
{
	while (calls->list.head)
		call_abandon(calls->list.head->data);
}
