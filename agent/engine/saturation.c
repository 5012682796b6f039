#include "agent/engine/saturation.h"

#include "agent/engine/host_load.h"
#include "agent/engine/report/report.h"
#include "base/clock.h"
#include "base/str.h"
#include "media/lateness.h"
#include "sip/mono_timer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_BYTES 600

/* A time that figures are about: the interval that is open, or the job. */
struct span {
	struct host_load_sample begin;
	struct lateness_mark sent;
	struct lateness_mark loop;
	struct saturation_counters counters; /* at its begin */
	double clock_step_ms;                /* the largest */
};

struct saturation {
	struct saturation_params p;
	struct host_load host;
	const struct lateness *sent; /* NULL: not started, or over */
	struct mono_timer tick;
	int64_t due_ns; /* of the tick */
	struct lateness loop;
	struct span interval;
	struct span job;
};

int saturation_new(struct saturation **ret,
		   const struct saturation_params *params)
{
	struct saturation *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->p = *params;
	host_load_open(&s->host);
	*ret = s;
	return 0;
}

struct saturation *saturation_free(struct saturation *s)
{
	if (s) {
		mono_timer_cancel(&s->tick);
		host_load_close(&s->host);
		free(s);
	}
	return NULL;
}

/* ---- the loop's lateness ---- */

/* Ticks that fell due during a stall count, each with its own lateness: percentiles are
 * then of time, and a stall of 300 ms is not one late tick among hundreds. */
static void ticks_count(struct saturation *s, int64_t now_ns)
{
	for (; s->due_ns <= now_ns; s->due_ns += SATURATION_TICK_MS * NS_PER_MS)
		lateness_add(&s->loop, now_ns - s->due_ns);
}

static void tick(void *arg)
{
	struct saturation *s = arg;
	int64_t now_ns = clock_mono_ns();

	ticks_count(s, now_ns);
	mono_timer_start(&s->tick, clock_ms_until(s->due_ns, now_ns), tick, s);
}

void saturation_start(struct saturation *s, const struct lateness *sent)
{
	int64_t now_ns = clock_mono_ns();

	s->sent = sent;
	host_load_read(&s->host, &s->job.begin);
	s->interval.begin = s->job.begin;
	s->due_ns = now_ns + SATURATION_TICK_MS * NS_PER_MS;
	mono_timer_start(&s->tick, SATURATION_TICK_MS, tick, s);
}

/* ---- figures ---- */

static double share_pct(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static int64_t bound_ns(uint32_t limit_ms, uint32_t otherwise_ms)
{
	return (limit_ms ? limit_ms : otherwise_ms) * NS_PER_MS;
}

static void host_figures(struct wire_generator *ret,
			 const struct host_load_sample *a,
			 const struct host_load_sample *b)
{
	double length_ns = (double)(b->mono_ns - a->mono_ns);
	unsigned known = a->known & b->known;

	ret->processor_pct = share_pct(
		(double)(b->processor_ns - a->processor_ns), length_ns);
	ret->clock_step_ms = (double)(b->wall_offset_ns - a->wall_offset_ns) /
			     (double)NS_PER_MS;
	if ((known & HOST_LOAD_STEAL) && b->host_ticks > a->host_ticks) {
		ret->known |= WIRE_GENERATOR_STEAL;
		ret->steal_pct =
			share_pct((double)(b->steal_ticks - a->steal_ticks),
				  (double)(b->host_ticks - a->host_ticks));
	}
	if (known & HOST_LOAD_THROTTLED) {
		ret->known |= WIRE_GENERATOR_THROTTLED;
		ret->throttled = b->throttled - a->throttled;
		ret->throttled_ms =
			(double)(b->throttled_ns - a->throttled_ns) /
			(double)NS_PER_MS;
	}
	if (known & HOST_LOAD_WAIT) {
		ret->known |= WIRE_GENERATOR_WAIT;
		ret->processor_wait_pct = share_pct(
			(double)(b->loop_wait_ns - a->loop_wait_ns), length_ns);
	}
}

/* Figures since the span's begin; its marks move on.
 * @param ret_loop  of the loop's lateness */
static void figures(struct saturation *s, struct span *span,
		    const struct host_load_sample *now,
		    struct wire_generator *ret,
		    struct lateness_figures *ret_sent,
		    struct lateness_figures *ret_loop)
{
	const struct saturation_limits *limits = s->p.limits;

	*ret = (struct wire_generator){0};
	lateness_since(s->sent, &span->sent,
		       bound_ns(limits->send_lateness_ms, 20), ret_sent);
	lateness_since(&s->loop, &span->loop,
		       bound_ns(limits->loop_lateness_ms, 100), ret_loop);
	if (ret_sent->n) {
		ret->known |= WIRE_GENERATOR_SENT;
		ret->packets_late = ret_sent->later;
		ret->send_lateness_p99_ms = ret_sent->p99_ms;
		ret->send_lateness_max_ms = ret_sent->max_ms;
	}
	if (ret_loop->n) {
		ret->known |= WIRE_GENERATOR_LOOP;
		ret->loop_lateness_p99_ms = ret_loop->p99_ms;
		ret->loop_lateness_max_ms = ret_loop->max_ms;
	}
	host_figures(ret, &span->begin, now);
}

static void interval_end(struct saturation *s,
			 const struct host_load_sample *now,
			 const struct saturation_counters *counters)
{
	struct span *span = &s->interval;
	const struct saturation_counters *before = &span->counters;
	struct lateness_figures sent, loop;
	struct wire_event_generator e = {
		.interval_s = (double)(now->mono_ns - span->begin.mono_ns) /
			      (double)NS_PER_S,
		.packets_sent = counters->packets_sent - before->packets_sent,
		.packets_received =
			counters->packets_received - before->packets_received,
		.receive_queue_drops = counters->receive_queue_drops -
				       before->receive_queue_drops,
		.ring_drops = counters->ring_drops - before->ring_drops,
		.starts_missed =
			counters->starts_missed - before->starts_missed,
	};

	figures(s, span, now, &e.generator, &sent, &loop);
	if (counters->sip_known) {
		e.generator.known |= WIRE_GENERATOR_SIP;
		e.generator.sip_queue_drops =
			counters->sip_queue_drops - before->sip_queue_drops;
	}
	if (fabs(e.generator.clock_step_ms) > fabs(s->job.clock_step_ms))
		s->job.clock_step_ms = e.generator.clock_step_ms;
	span->begin = *now;
	span->counters = *counters;
	report_engine_event(
		s->p.report,
		wire_event_generator(report_time(s->p.report, now->mono_ns),
				     &e));
}

void saturation_second(struct saturation *s, int64_t now_ns,
		       const struct saturation_counters *counters)
{
	struct host_load_sample now;

	if (!s->sent || now_ns - s->interval.begin.mono_ns <
				(int64_t)s->p.interval_s * NS_PER_S)
		return;
	host_load_read(&s->host, &now);
	interval_end(s, &now, counters);
}

/* ---- the judgement ---- */

struct clauses {
	char text[TEXT_BYTES];
	size_t used;
	unsigned count;
};

static void clause(struct clauses *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void clause(struct clauses *c, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list args;
	int n;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	n = str_print(c->text + c->used, sizeof(c->text) - c->used, "%s%s",
		      c->count++ ? "; " : "", text);
	if (n > 0)
		c->used += (size_t)n;
}

/* Whether more than the share that is allowed was late. */
static bool late_judge(const struct lateness_figures *l, uint32_t limit_ms,
		       uint32_t allowed_pct)
{
	return limit_ms && l->later >= SATURATION_LATE_MIN &&
	       l->later * 100 > l->n * allowed_pct;
}

static void exceeded(struct clauses *c, const struct saturation_limits *limits,
		     const struct wire_generator *g,
		     const struct lateness_figures *sent,
		     const struct lateness_figures *loop)
{
	if (late_judge(sent, limits->send_lateness_ms, limits->share_pct))
		clause(c,
		       "%.1f %% of %" PRIu64 " packets left more than %u ms "
		       "late, by %.0f ms at most (limit: %u %% of them)",
		       share_pct((double)sent->later, (double)sent->n), sent->n,
		       limits->send_lateness_ms, sent->max_ms,
		       limits->share_pct);
	if (late_judge(loop, limits->loop_lateness_ms, limits->share_pct))
		clause(c,
		       "timers of the signalling loop were more than %u ms "
		       "late %.1f %% of the time, by %.0f ms at most (limit: "
		       "%u %%)",
		       limits->loop_lateness_ms,
		       share_pct((double)loop->later, (double)loop->n),
		       loop->max_ms, limits->share_pct);
	if (limits->steal_pct && g->steal_pct > limits->steal_pct)
		clause(c,
		       "%.1f %% of the host's processor time were stolen "
		       "(limit: %u %%)",
		       g->steal_pct, limits->steal_pct);
	if (limits->throttled && g->throttled > limits->throttled)
		clause(c,
		       "a control group throttled the agent in %" PRIu64
		       " periods (limit: %u)",
		       g->throttled, limits->throttled);
	if (limits->clock_step_ms &&
	    fabs(g->clock_step_ms) > limits->clock_step_ms)
		clause(c,
		       "the wall clock was stepped by %.0f ms (limit: %u ms)",
		       g->clock_step_ms, limits->clock_step_ms);
}

/* What may be the cause, beside what is above its own limit. */
static void causes(struct clauses *c, const struct saturation_limits *limits,
		   const struct wire_generator *g)
{
	if (g->throttled &&
	    g->throttled <=
		    (limits->throttled ? limits->throttled : UINT64_MAX))
		clause(c,
		       "a control group throttled the agent in %" PRIu64
		       " periods",
		       g->throttled);
	if (g->processor_wait_pct >= 1)
		clause(c, "the loop waited for a processor %.0f %% of the time",
		       g->processor_wait_pct);
	if (g->steal_pct >= 1 &&
	    g->steal_pct <= (limits->steal_pct ? limits->steal_pct : 100))
		clause(c, "%.0f %% of the host's processor time were stolen",
		       g->steal_pct);
	clause(c, "the engine used %.0f %% of a processor", g->processor_pct);
}

static void judge(struct saturation *s, const struct wire_generator *g,
		  const struct lateness_figures *sent,
		  const struct lateness_figures *loop)
{
	struct clauses c = {.text = ""};
	char text[TEXT_BYTES + 32];
	unsigned limits;

	exceeded(&c, s->p.limits, g, sent, loop);
	limits = c.count;
	if (!limits)
		return;
	causes(&c, s->p.limits, g);
	str_print(text, sizeof(text), "generator saturated: %s", c.text);
	report_flaw(s->p.report, "generator_saturated", limits, text);
}

void saturation_end(struct saturation *s, int64_t now_ns,
		    const struct saturation_counters *counters,
		    struct wire_generator *ret)
{
	struct lateness_figures sent, loop;
	struct host_load_sample now;

	*ret = (struct wire_generator){0};
	if (!s->sent)
		return;
	mono_timer_cancel(&s->tick);
	ticks_count(s, now_ns);
	host_load_read(&s->host, &now);
	interval_end(s, &now, counters);
	figures(s, &s->job, &now, ret, &sent, &loop);
	ret->clock_step_ms = s->job.clock_step_ms;
	if (counters->sip_known) {
		ret->known |= WIRE_GENERATOR_SIP;
		ret->sip_queue_drops = counters->sip_queue_drops;
	}
	s->sent = NULL;
	judge(s, ret, &sent, &loop);
}
