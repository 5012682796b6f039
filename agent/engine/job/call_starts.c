#include "agent/engine/job/call_starts.h"

#include "agent/engine/call/call_media.h"
#include "agent/engine/engine_internal.h"
#include "base/log.h"

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

/* Calls that hold a port and should not: closed and not accounted for, their
 * BYE not answered, or their time is over. */
static uint32_t calls_linger(const struct engine *e, int64_t now_ns)
{
	uint32_t count = 0;
	struct le *le;

	LIST_FOREACH(&e->calls, le)
	{
		const struct call *c = le->data;
		bool over = c->established_ns && c->duration_ns != INT64_MAX &&
			    now_ns >= call_end_ns(c);

		count += c->closed || c->hangup_ns || over;
	}
	return count;
}

static uint32_t pairs_of_range(const struct engine *e)
{
	uint32_t first = e->settings.rtp_min + (e->settings.rtp_min & 1u);

	return e->settings.rtp_max > first
		       ? (e->settings.rtp_max - first + 1) / 2
		       : 0;
}

static void range_too_small(struct engine *e, uint32_t asked)
{
	report_end_job(
		e->report, "error",
		"role %s: no port of the RTP range is free: %u calls are up, "
		"the test asks for %u at a time and the range %u-%u has room "
		"for %u: widen rtp_ports, or lower max_concurrent_calls",
		e->job->role, e->calls_listed, asked, e->settings.rtp_min,
		e->settings.rtp_max, pairs_of_range(e));
}

static void range_taken(struct engine *e)
{
	report_end_job(
		e->report, "error",
		"role %s: no port of the RTP range %u-%u is free for %u s, "
		"and no call of this role holds one: other jobs of this "
		"agent or other programs do: widen or move rtp_ports",
		e->job->role, e->settings.rtp_min, e->settings.rtp_max,
		(unsigned)(STARTS_FOREIGN_NS / NS_PER_S));
}

bool call_starts_wait(struct engine *e, const struct wire_action *action,
		      int64_t now_ns)
{
	struct call_starts *s = &e->starts;
	uint32_t lingering = calls_linger(e, now_ns);
	uint32_t asked = action->max_concurrent_calls;
	bool late = s->late_ns >= STARTS_LATE_NS &&
		    now_ns - s->late_at_ns <= STARTS_LATE_FOR_NS;

	if (e->answering)
		asked += e->answering->max_concurrent_calls;
	if (!s->waits) {
		s->waits = true;
		s->since_ns = now_ns;
	}
	if (lingering > s->lingered_max)
		s->lingered_max = lingering;
	if (late && s->late_ns > s->late_max_ns)
		s->late_max_ns = s->late_ns;
	if (lingering == 0 && !late && asked > pairs_of_range(e) &&
	    e->calls_listed > 0)
		range_too_small(e, asked);
	else if (e->calls_listed == 0 &&
		 now_ns - s->since_ns >= STARTS_FOREIGN_NS)
		range_taken(e);
	return !report_ended(e->report);
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
