#include "media/analysis/rtp_timing.h"

#include <math.h>

#include "media/analysis/distribution.h"

#define TS_JUMP_MS 1000.0 /* docs/reference/measurement.md "Discontinuities" */
/* Divisions took a quarter of the time per packet: multiply instead. */
#define NS_MS 1e-6

void rtp_timing_init(struct rtp_timing *t)
{
	*t = (struct rtp_timing){0};
}

void rtp_timing_restart(struct rtp_timing *t)
{
	t->has_ref = false;
	t->gap_kind = false;
}

void rtp_timing_skip(struct rtp_timing *t)
{
	t->gap_kind = true;
}

static void set_reference(struct rtp_timing *t, const struct packet_record *r,
			  int64_t ext, struct rtp_sample *ret)
{
	t->ref_ns = r->mono_ns;
	t->ref_ts = r->rtp_ts;
	t->ref_ext = ext;
	t->has_ref = true;
	t->gap_kind = false;
	t->epoch_ns = r->mono_ns;
	t->media_ticks = 0;
	t->min_transit_ms = 0.0;
	ret->reference = true;
	ret->has_pdv = true;
}

/* A jump of the sender's timestamp, or a pause in which it stood still. A delay
 * in the network is neither. */
static bool is_discontinuity(const struct rtp_timing *t, double d_ms,
			     double step_ms, int64_t dq, bool marker)
{
	double period_ms;

	if (fabs(d_ms) <= TS_JUMP_MS)
		return false;
	period_ms = t->period_ticks * t->tick_ms;
	if (fabs(step_ms - (double)dq * period_ms) > TS_JUMP_MS)
		return true;
	return marker && dq == 1 && d_ms > 0.0;
}

/* J + (|D| - J) / 16, with only two operations from one J to the next. */
static double jitter_after(double jitter_ms, double d_ms)
{
	return jitter_ms * (15.0 / 16.0) + d_ms * (1.0 / 16.0);
}

/* Delay variation; before the reference is updated. */
static void variation(struct rtp_timing *t, const struct packet_record *r,
		      int64_t dq, int32_t step, struct rtp_sample *ret)
{
	int64_t twice = 2 * dq * (int64_t)t->period_ticks;

	ret->has_delta = !packet_marker(r) && !t->gap_kind &&
			 2 * (int64_t)step <= twice + t->period_ticks;
	ret->delta_ms = (double)(r->mono_ns - t->ref_ns) * NS_MS;
	t->media_ticks += step;
	ret->has_pdv = true;
	ret->media_ms = (double)t->media_ticks * t->tick_ms;
	ret->transit_ms =
		(double)(r->mono_ns - t->epoch_ns) * NS_MS - ret->media_ms;
	if (ret->transit_ms < t->min_transit_ms)
		t->min_transit_ms = ret->transit_ms;
	ret->pdv_ms = ret->transit_ms - t->min_transit_ms;
}

static void take_sample(struct rtp_timing *t, const struct packet_record *r,
			int64_t ext, double d_ms, struct rtp_sample *ret)
{
	int32_t step = (int32_t)(r->rtp_ts - t->ref_ts);
	int64_t dq = ext - t->ref_ext;

	t->jitter_ms = jitter_after(t->jitter_ms, fabs(d_ms));
	t->samples++;
	ret->has_ipdv = true;
	ret->ipdv_ms = fabs(d_ms);
	ret->jitter_ms = t->jitter_ms;
	variation(t, r, dq, step, ret);
	if (dq == 1 && !packet_marker(r) && step > 0 &&
	    (uint64_t)step * 5 <= t->clock_hz) {
		t->period_ticks = (uint32_t)step;
		t->has_period = true;
	}
	t->ref_ns = r->mono_ns;
	t->ref_ts = r->rtp_ts;
	t->ref_ext = ext;
	t->gap_kind = false;
}

void rtp_timing_update(struct rtp_timing *t, const struct packet_record *r,
		       int64_t ext, uint32_t clock_hz, struct rtp_sample *ret)
{
	int32_t step;
	double step_ms;
	double d_ms;

	ret->audio = true;
	if (clock_hz != t->clock_hz) {
		/* RFC 7160: timestamps before and after the change are
		 * unrelated */
		if (t->has_ref) {
			ret->clock_change = true;
			t->clock_changes++;
		}
		t->clock_hz = clock_hz;
		t->tick_ms = 1000.0 / clock_hz;
		t->period_ticks = clock_hz / 50;
		t->has_period = false;
		t->has_ref = false;
	}
	if (!t->has_ref) {
		set_reference(t, r, ext, ret);
		return;
	}
	step = (int32_t)(r->rtp_ts - t->ref_ts);
	if (step == 0) {
		ret->same_ts = true;
		t->same_ts++;
		return;
	}
	step_ms = step * t->tick_ms;
	d_ms = (double)(r->mono_ns - t->ref_ns) * NS_MS - step_ms;
	if (is_discontinuity(t, d_ms, step_ms, ext - t->ref_ext,
			     packet_marker(r))) {
		ret->discontinuity = true;
		t->discontinuities++;
		set_reference(t, r, ext, ret);
		return;
	}
	take_sample(t, r, ext, d_ms, ret);
}

bool rtp_timing_is_plain(const struct rtp_timing *t, int64_t ext,
			 uint32_t clock_hz)
{
	return t->has_ref && !t->gap_kind && ext == t->ref_ext &&
	       clock_hz == t->clock_hz && t->period_ticks > 0 &&
	       (uint64_t)t->period_ticks * 5 <= clock_hz;
}

/* Round up to whole vectors, in a form that compilers recognise. */
static int whole(size_t count)
{
	return (int)((count + 3) & ~(size_t)3);
}

/* variation() for each packet, without figures that few observers need. */
static void run_transit(struct rtp_timing *t, const uint32_t *at_ns,
			size_t count, struct rtp_run_samples *ret)
{
	const double start_ns = (double)(t->ref_ns - t->epoch_ns);
	const double start_ticks = (double)t->media_ticks;
	const double period = (double)t->period_ticks;
	const double tick_ms = t->tick_ms;
	const int n = whole(count);

	for (int i = 0; i < n; i++)
		ret->transit_ms[i] =
			(start_ns + (double)(int32_t)at_ns[i + 1]) * NS_MS -
			(start_ticks + period * (double)(i + 1)) * tick_ms;
	samples_range(ret->transit_ms, count, &ret->transit_min_ms,
		      &ret->transit_max_ms);
	ret->min_before_ms = t->min_transit_ms;
	ret->media_before = start_ticks;
	ret->period_ticks = period;
	ret->tick_ms = tick_ms;
	if (ret->transit_min_ms < t->min_transit_ms)
		t->min_transit_ms = ret->transit_min_ms;
}

void rtp_run_pdv_ms(const struct rtp_run_samples *r,
		    double ret[static RTP_RUN_MAX])
{
	double min_ms = r->min_before_ms;

	for (size_t i = 0; i < r->count; i++) {
		double transit_ms = r->transit_ms[i];

		min_ms = transit_ms < min_ms ? transit_ms : min_ms;
		ret[i] = transit_ms - min_ms;
	}
}

void rtp_timing_run(struct rtp_timing *t, const uint32_t *at_ns, size_t count,
		    bool transit, struct rtp_run_samples *ret)
{
	const double step_ms = (int32_t)t->period_ticks * t->tick_ms;
	double jitter_ms = t->jitter_ms;
	const int n = whole(count);

	for (int i = 0; i < n; i++) {
		ret->delta_ms[i] =
			(double)(int32_t)(at_ns[i + 1] - at_ns[i]) * NS_MS;
		ret->ipdv_ms[i] = fabs(ret->delta_ms[i] - step_ms);
	}
	for (size_t i = 0; i < count; i++) {
		jitter_ms = jitter_after(jitter_ms, ret->ipdv_ms[i]);
		ret->jitter_ms[i] = jitter_ms;
	}
	ret->count = count;
	if (transit)
		run_transit(t, at_ns, count, ret);
	t->jitter_ms = jitter_ms;
	t->ref_ns += at_ns[count];
	t->ref_ts += (uint32_t)count * t->period_ticks;
	t->ref_ext += (int64_t)count;
	t->media_ticks += (int64_t)count * t->period_ticks;
	t->samples += (uint32_t)count;
	t->has_period = true;
}

uint32_t rtp_timing_jitter_ticks(const struct rtp_timing *t)
{
	return (uint32_t)fmin(t->jitter_ms * t->clock_hz / 1000.0, UINT32_MAX);
}
