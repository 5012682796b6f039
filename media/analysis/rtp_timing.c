#include "media/analysis/rtp_timing.h"

#include <math.h>

#include "base/clock.h"

#define TS_JUMP_MS 1000.0 /* docs/measurement.md "Discontinuities" */
/* Divisions took a quarter of a packet's time: multiply instead. */
#define NS_MS 1e-6
/* A run is shorter than a minute: nanoseconds times clock in 64 bits. */
#define RUN_CLOCK_MAX (UINT32_C(1) << 23)

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

/* floor(t * clock) - ts mod 2^32, without 128-bit arithmetic */
static uint32_t transit_ticks(const struct packet_record *r, uint32_t clock_hz)
{
	uint64_t s = (uint64_t)(r->mono_ns / NS_PER_S);
	uint64_t ns = (uint64_t)(r->mono_ns % NS_PER_S);

	return (uint32_t)(s * clock_hz + ns * clock_hz / NS_PER_S) - r->rtp_ts;
}

static void set_reference(struct rtp_timing *t, const struct packet_record *r,
			  int64_t ext, struct rtp_sample *ret)
{
	t->ref_ns = r->mono_ns;
	t->ref_ts = r->rtp_ts;
	t->ref_ext = ext;
	t->has_ref = true;
	t->gap_kind = false;
	t->int_transit = transit_ticks(r, t->clock_hz);
	t->epoch_ns = r->mono_ns;
	t->media_ticks = 0;
	t->min_transit_ms = 0.0;
	ret->reference = true;
	ret->has_pdv = true;
}

/* A sender's timestamp jump, or a pause in which its timestamps stood still;
 * a stall of the network is neither. */
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

/* J + (|D| - J) / 16 with two operations between J and the next J. */
static double jitter_after(double jitter_ms, double d_ms)
{
	return jitter_ms * (15.0 / 16.0) + d_ms * (1.0 / 16.0);
}

static void integer_jitter(struct rtp_timing *t, const struct packet_record *r)
{
	uint32_t transit = transit_ticks(r, t->clock_hz);
	int32_t d = (int32_t)(transit - t->int_transit);
	uint32_t distance = d < 0 ? 0u - (uint32_t)d : (uint32_t)d;

	t->int_transit = transit;
	t->int_jitter += distance - ((t->int_jitter + 8) >> 4);
	if (t->int_jitter >> 4 > t->int_jitter_max)
		t->int_jitter_max = t->int_jitter >> 4;
}

/* Beside jitter; before the reference moves on. */
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
	integer_jitter(t, r);
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
		/* RFC 7160: old and new timestamps have no relation */
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

/* May rtp_timing_run() begin with this packet? */
static bool is_plain(const struct rtp_timing *t, const struct rtp_arrival *a,
		     int64_t ext, uint32_t clock_hz)
{
	return t->has_ref && !t->gap_kind && ext == t->ref_ext + 1 &&
	       clock_hz == t->clock_hz && clock_hz <= RUN_CLOCK_MAX &&
	       t->period_ticks > 0 &&
	       (uint64_t)t->period_ticks * 5 <= clock_hz && a->mono_ns >= 0;
}

/* take_sample() but its integers; up to the first packet that is anything
 * else. */
static size_t run_samples(struct rtp_timing *t, const struct rtp_arrival *run,
			  size_t count, int64_t start_ns,
			  struct rtp_run_samples *ret)
{
	const double step_ms = (int32_t)t->period_ticks * t->tick_ms;
	int64_t media_ticks = t->media_ticks;
	uint32_t ts = t->ref_ts;
	int64_t ref_ns = t->ref_ns;
	double jitter_ms = t->jitter_ms;
	double min_ms = t->min_transit_ms;
	size_t i;

	for (i = 0; i < count; i++) {
		double delta_ms = (double)(run[i].mono_ns - ref_ns) * NS_MS;
		double d_ms = fabs(delta_ms - step_ms);
		double transit_ms;

		ts += t->period_ticks;
		if (run[i].rtp_ts != ts || d_ms > TS_JUMP_MS ||
		    run[i].mono_ns < start_ns)
			break;
		media_ticks += t->period_ticks;
		jitter_ms = jitter_after(jitter_ms, d_ms);
		ret->delta_ms[i] = delta_ms;
		ret->ipdv_ms[i] = d_ms;
		ret->jitter_ms[i] = jitter_ms;
		ret->media_ms[i] = (double)media_ticks * t->tick_ms;
		transit_ms = (double)(run[i].mono_ns - t->epoch_ns) * NS_MS -
			     ret->media_ms[i];
		min_ms = transit_ms < min_ms ? transit_ms : min_ms;
		ret->transit_ms[i] = transit_ms;
		ret->pdv_ms[i] = transit_ms - min_ms;
		ref_ns = run[i].mono_ns;
	}
	t->ref_ns = ref_ns;
	t->ref_ts += (uint32_t)i * t->period_ticks;
	t->ref_ext += (int64_t)i;
	t->media_ticks = media_ticks;
	t->jitter_ms = jitter_ms;
	t->min_transit_ms = min_ms;
	t->samples += (uint32_t)i;
	return i;
}

/* integer_jitter() of each, with what changes in registers. */
static void run_integer(struct rtp_timing *t, const struct rtp_arrival *run,
			size_t count, int64_t start_ns)
{
	const uint32_t clock_hz = t->clock_hz;
	const uint32_t start_ticks =
		(uint32_t)((uint64_t)(start_ns / NS_PER_S) * clock_hz);
	uint32_t transit = t->int_transit;
	uint32_t jitter = t->int_jitter;
	uint32_t highest = t->int_jitter_max << 4;

	for (size_t i = 0; i < count; i++) {
		uint64_t ns = (uint64_t)(run[i].mono_ns - start_ns);
		int32_t d = (int32_t)(start_ticks +
				      (uint32_t)(ns * clock_hz / NS_PER_S) -
				      run[i].rtp_ts - transit);

		transit += (uint32_t)d;
		jitter += (d < 0 ? 0u - (uint32_t)d : (uint32_t)d) -
			  ((jitter + 8) >> 4);
		highest = jitter > highest ? jitter : highest;
	}
	t->int_transit = transit;
	t->int_jitter = jitter;
	t->int_jitter_max = highest >> 4;
}

void rtp_timing_run(struct rtp_timing *t, const struct rtp_arrival *run,
		    size_t count, int64_t ext, uint32_t clock_hz,
		    struct rtp_run_samples *ret)
{
	const int64_t start_ns = run[0].mono_ns / NS_PER_S * NS_PER_S;

	ret->count = 0;
	if (!is_plain(t, run, ext, clock_hz))
		return;
	ret->count = run_samples(t, run, count, start_ns, ret);
	if (ret->count == 0)
		return;
	run_integer(t, run, ret->count, start_ns);
	t->has_period = true;
}

uint32_t rtp_timing_jitter_ticks(const struct rtp_timing *t)
{
	return t->int_jitter >> 4;
}
