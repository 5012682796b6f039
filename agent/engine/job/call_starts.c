#include "agent/engine/job/job_internal.h"

#include "base/log.h"

#include <math.h>

int64_t call_starts_due_ns(double number, double per_second, uint32_t ramp_up_s)
{
	double ramp = ramp_up_s;
	double at = number <= per_second * ramp / 2
			    ? sqrt(2 * ramp * number / per_second)
			    : number / per_second + ramp / 2;

	return (int64_t)llround(at * (double)NS_PER_S);
}

double call_starts_number(int64_t at_ns, double per_second, uint32_t ramp_up_s)
{
	double at = (double)at_ns / (double)NS_PER_S;
	double ramp = ramp_up_s;

	return at < ramp ? per_second * at * at / (2 * ramp)
			 : per_second * (at - ramp / 2);
}

void call_starts_late(struct call_starts *s, int64_t late_ns, int64_t now_ns)
{
	if (late_ns > s->late_ns ||
	    now_ns - s->late_at_ns > STARTS_LATE_FOR_NS) {
		s->late_ns = late_ns;
		s->late_at_ns = now_ns;
	}
	if (s->waits && s->late_ns > s->late_max_ns)
		s->late_max_ns = s->late_ns;
}

static uint32_t pairs_of_range(const struct actions *actions)
{
	uint32_t first =
		actions->settings->rtp_min + (actions->settings->rtp_min & 1u);

	return actions->settings->rtp_max > first
		       ? (actions->settings->rtp_max - first + 1) / 2
		       : 0;
}

static void range_too_small(struct actions *actions, uint32_t asked)
{
	report_end_job(
		actions->report, "error",
		"role %s: no port of the RTP range is free: %u calls are up, "
		"the test asks for %u at a time and the range %u-%u has room "
		"for %u: widen rtp_ports, or lower max_concurrent_calls",
		actions->job->role, calls_listed(actions->calls), asked,
		actions->settings->rtp_min, actions->settings->rtp_max,
		pairs_of_range(actions));
}

static void range_taken(struct actions *actions)
{
	report_end_job(
		actions->report, "error",
		"role %s: no port of the RTP range %u-%u is free for %u s, "
		"and no call of this role holds one: other jobs of this "
		"agent or other programs do: widen or move rtp_ports",
		actions->job->role, actions->settings->rtp_min,
		actions->settings->rtp_max,
		(unsigned)(STARTS_FOREIGN_NS / NS_PER_S));
}

bool call_starts_wait(struct actions *actions, const struct wire_action *action,
		      int64_t now_ns)
{
	struct call_starts *s = &actions->starts;
	uint32_t lingering = calls_lingering(actions->calls, now_ns);
	uint32_t asked = action->max_concurrent_calls;
	bool late = s->late_ns >= STARTS_LATE_NS &&
		    now_ns - s->late_at_ns <= STARTS_LATE_FOR_NS;

	if (actions->answering)
		asked += actions->answering->max_concurrent_calls;
	if (!s->waits) {
		s->waits = true;
		s->since_ns = now_ns;
	}
	if (lingering > s->lingered_max)
		s->lingered_max = lingering;
	if (late && s->late_ns > s->late_max_ns)
		s->late_max_ns = s->late_ns;
	if (lingering == 0 && !late && asked > pairs_of_range(actions) &&
	    calls_listed(actions->calls) > 0)
		range_too_small(actions, asked);
	else if (calls_listed(actions->calls) == 0 &&
		 now_ns - s->since_ns >= STARTS_FOREIGN_NS)
		range_taken(actions);
	return !report_ended(actions->report);
}

void call_starts_over(struct call_starts *s, uint64_t missed)
{
	if (s->missed == 0 && missed > 0)
		log_warning("starts of calls are missed: no RTP port was free "
			    "while %u calls lingered, the loop was %lld ms "
			    "late",
			    s->lingered_max,
			    (long long)(s->late_max_ns / NS_PER_MS));
	s->waits = false;
	s->missed += missed;
}

bool call_starts_saturated(const struct call_starts *s)
{
	return s->missed > 0 && s->late_max_ns >= STARTS_LATE_NS;
}
