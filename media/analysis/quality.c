#include "media/analysis/quality.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/prefetch.h"
#include "media/analysis/detail.h"

/* RFC 3611 section 4.7.6: non-adaptive buffer; concealment unspecified */
#define RX_CONFIG_FIXED 0x20

void rtp_quality_init(struct rtp_quality *q, struct rtp_stream *stream)
{
	memset(q, 0, sizeof(*q));
	q->stream = stream;
	jb_fixed_init(&q->fixed, JB_FIXED_DELAY_MS);
	jb_adaptive_init(&q->adaptive);
	pattern_init_settling(&q->fixed_pattern, RTP_MAX_MISORDER);
	pattern_init_settling(&q->adaptive_pattern, RTP_MAX_MISORDER);
	skew_init(&q->skew, q->skew_points, stream->rest->skew_points,
		  SKEW_WINDOWS_LIVE);
	rtp_stream_observe(stream, &rtp_quality_observer, q);
}

static uint64_t discarded(const struct rtp_quality *q)
{
	return q->fixed.late + q->fixed.early;
}

static double period_ms(const struct rtp_quality *q)
{
	const struct rtp_timing *t = &q->stream->timing;

	return t->clock_hz ? t->period_ticks * 1000.0 / t->clock_hz : 20.0;
}

/* Is this unique packet behind the one that arrived before it? */
static void take_order(struct rtp_quality *q, const struct rtp_observation *o)
{
	if (o->new_segment || !q->has_last)
		q->report_begin = (uint16_t)o->ext;
	else if (o->ext < q->last_ext)
		q->out_of_order++;
	q->has_last = true;
	q->last_ext = o->ext;
}

static void take_buffers(struct rtp_quality *q, const struct rtp_observation *o)
{
	const struct rtp_sample *x = &o->sample;
	bool fixed = true;
	bool adaptive = true;

	if (o->verdict == RTP_VERY_LATE) {
		/* it is already counted as bad, which may be final */
		jb_fixed_very_late(&q->fixed);
		jb_adaptive_very_late(&q->adaptive);
		return;
	}
	if (x->has_pdv) {
		if (x->reference) {
			jb_fixed_epoch(&q->fixed);
			jb_adaptive_epoch(&q->adaptive);
		}
		fixed = jb_fixed_update(&q->fixed, x->transit_ms) == JB_PLAYED;
		adaptive = jb_adaptive_update(&q->adaptive, x->transit_ms,
					      period_ms(q)) == JB_PLAYED;
	}
	pattern_add(&q->fixed_pattern, o->ext, o->new_segment, fixed);
	pattern_add(&q->adaptive_pattern, o->ext, o->new_segment, adaptive);
}

static void take_gap(struct rtp_quality *q, double delta_ms)
{
	if (q->has_gap_second && delta_ms <= q->gap_second_ms)
		return;
	q->has_gap_second = true;
	q->gap_second_ms = delta_ms;
}

static void observe(const struct rtp_observation *o, void *arg)
{
	struct rtp_quality *q = arg;
	const struct rtp_sample *x = &o->sample;

	if (o->verdict == RTP_PENDING || o->verdict == RTP_DUPLICATE)
		return;
	take_order(q, o);
	take_buffers(q, o);
	if (x->has_ipdv)
		moments_add(&q->ipdv_ms, x->ipdv_ms);
	if (x->has_delta)
		take_gap(q, x->delta_ms);
	if (x->has_pdv)
		skew_add(&q->skew, x->reference, x->media_ms, x->transit_ms);
}

/* observe() for each packet. */
static void observe_run(const struct rtp_run *run, void *arg)
{
	struct rtp_quality *q = arg;
	const struct rtp_run_samples *x = run->samples;
	const uint32_t count = (uint32_t)x->count;
	const struct jb_run transit = jb_run_of(x);
	double delta_min_ms;
	double delta_max_ms;

	q->last_ext = run->ext + count - 1;
	pattern_add_run(&q->fixed_pattern, run->ext, count,
			jb_fixed_run(&q->fixed, &transit));
	pattern_add_run(&q->adaptive_pattern, run->ext, count,
			jb_adaptive_run(&q->adaptive, &transit, period_ms(q)));
	moments_add_block(&q->ipdv_ms, x->ipdv_ms, count);
	samples_range(x->delta_ms, count, &delta_min_ms, &delta_max_ms);
	take_gap(q, delta_max_ms);
	skew_add_run(&q->skew, x);
}

static void prefetch_run(const void *arg)
{
	const struct rtp_quality *q = arg;

	prefetch(q, offsetof(struct rtp_quality, fixed_pattern));
	pattern_prefetch(&q->fixed_pattern, RTP_MAX_MISORDER);
	pattern_prefetch(&q->adaptive_pattern, RTP_MAX_MISORDER);
}

const struct rtp_observer rtp_quality_observer = {
	.prefetch = prefetch_run,
	.packet = observe,
	.run = observe_run,
};

void rtp_quality_finish(struct rtp_quality *q)
{
	rtp_stream_end_run(q->stream);
	pattern_finish(&q->fixed_pattern);
	pattern_finish(&q->adaptive_pattern);
}

void rtp_quality_close_second(struct rtp_quality *q, struct stream_second *ret)
{
	uint64_t burst_bad;

	rtp_stream_end_run(q->stream);
	burst_bad = q->fixed_pattern.burst_gap.burst_bad;
	ret->discarded = discarded(q) - q->discarded_before;
	ret->out_of_order = q->out_of_order - q->out_of_order_before;
	ret->burst_lost = burst_bad - q->burst_bad_before;
	/* the end of a burst is known only some packets later */
	ret->has_quality = ret->packets > 0 || ret->burst_lost > 0;
	ret->has_gap = q->has_gap_second;
	ret->gap_ms = q->gap_second_ms;
	if (q->has_gap_second &&
	    (!q->has_gap || q->gap_second_ms > q->gap_max_ms)) {
		q->has_gap = true;
		q->gap_max_ms = q->gap_second_ms;
	}
	q->discarded_before += ret->discarded;
	q->out_of_order_before += ret->out_of_order;
	q->burst_bad_before = burst_bad;
	q->has_gap_second = false;
	q->gap_second_ms = 0.0;
}

bool rtp_quality_is_open(struct rtp_quality *q)
{
	rtp_stream_end_run(q->stream);
	return q->burst_bad_before != q->fixed_pattern.burst_gap.burst_bad;
}

/* Delay of the network, to be added to that of a buffer: half of the round-trip
 * time. */
static double network_delay_ms(const struct rtp_quality *q)
{
	const struct moments *rtt = &q->stream->rtt.moments;

	return rtt->n ? rtt->mean / 2.0 : 0.0;
}

static void model_total(const struct rtp_quality *q,
			const struct loss_pattern *p, uint64_t discards,
			double buffer_ms, struct stream_buffer *ret)
{
	struct burst_gap_figures f;
	struct detail_score score;

	burst_gap_figures(&p->burst_gap, period_ms(q), &f);
	detail_score_pattern(q->stream, p, buffer_ms + network_delay_ms(q),
			     &score);
	*ret = (struct stream_buffer){
		.known = true,
		.discarded = discards,
		.delay_ms = buffer_ms,
		.burst_lost = p->burst_gap.burst_bad,
		.burst_density_pct = 100.0 * f.burst_density,
		.gap_density_pct = 100.0 * f.gap_density,
		.burst_duration_ms = f.burst_duration_ms,
		.gap_duration_ms = f.gap_duration_ms,
		.burst_ratio = loss_runs_burst_r(&p->runs, p->packets),
		.ta_ms = score.ta_ms,
		.has_network = q->stream->rtt.moments.n > 0,
		.network_ms = network_delay_ms(q),
		.has_score = score.score.valid,
		.r_factor = score.score.r,
		.mos = score.score.mos,
	};
}

void rtp_quality_total(struct rtp_quality *q, struct stream_total *ret)
{
	double scratch[SKEW_SCRATCH(SKEW_WINDOWS_LIVE)];

	rtp_stream_end_run(q->stream);
	ret->has_quality = q->has_last;
	ret->out_of_order = q->out_of_order;
	ret->has_gap = q->has_gap;
	ret->gap_max_ms = q->gap_max_ms;
	ret->has_skew = skew_ppm(&q->skew, scratch, &ret->skew_ppm);
	if (!q->has_last)
		return;
	model_total(q, &q->fixed_pattern, discarded(q), q->fixed.delay_ms,
		    &ret->fixed);
	model_total(q, &q->adaptive_pattern, q->adaptive.late,
		    jb_adaptive_delay_ms(&q->adaptive), &ret->adaptive);
}

void rtp_quality_voip(struct rtp_quality *q, struct rtcp_voip_metrics *ret)
{
	const struct moments *rtt = &q->stream->rtt.moments;
	struct loss_pattern pattern;
	struct rtp_counters c;
	struct detail_score score;

	rtp_stream_counters(q->stream, &c);
	/* the block includes packets that are not final yet */
	pattern = q->fixed_pattern;
	pattern_finish(&pattern);
	detail_voip_metrics(
		&(struct voip_input){
			.stream = q->stream,
			.pattern = &pattern,
			.lost = c.lost,
			.discarded = discarded(q),
			.buffer_ms = q->fixed.delay_ms,
			.network_ms = network_delay_ms(q),
		},
		ret);
	detail_score_pattern(q->stream, &pattern, q->fixed.delay_ms, &score);
	ret->end_system_delay_ms =
		(uint16_t)fmin(score.ta_ms + 0.5, UINT16_MAX);
	if (rtt->n)
		ret->rtt_ms =
			(uint16_t)fmin(q->stream->rtt_ms + 0.5, UINT16_MAX);
	ret->rx_config = RX_CONFIG_FIXED;
}

static uint32_t to_ticks(double ms, uint32_t clock_hz)
{
	return (uint32_t)fmin(ms * clock_hz / 1000.0 + 0.5, UINT32_MAX);
}

bool rtp_quality_summary(struct rtp_quality *q, struct rtcp_stat_summary *ret)
{
	struct rtp_counters c;
	uint32_t clock_hz;
	uint16_t end;

	rtp_stream_counters(q->stream, &c);
	clock_hz = q->stream->timing.clock_hz;
	end = (uint16_t)(q->stream->seq.max + 1);
	if (!q->has_last || (q->has_report && end == q->report_begin))
		return false;
	*ret = (struct rtcp_stat_summary){
		.ssrc = q->stream->ssrc,
		.begin_seq = q->report_begin,
		.end_seq = end,
		.has_loss = true,
		.has_duplicates = true,
		.duplicates = (uint32_t)(c.duplicates - q->report_duplicates),
		.has_jitter = q->ipdv_ms.n > 0 && clock_hz > 0,
	};
	/* below 0 if late packets arrived: subtract it from the next block, so
	 * that the blocks add up to the loss */
	if (c.lost > q->report_lost) {
		ret->lost = (uint32_t)(c.lost - q->report_lost);
		q->report_lost = c.lost;
	}
	if (ret->has_jitter) {
		ret->min_jitter_ticks = to_ticks(q->ipdv_ms.min, clock_hz);
		ret->max_jitter_ticks = to_ticks(q->ipdv_ms.max, clock_hz);
		ret->mean_jitter_ticks = to_ticks(q->ipdv_ms.mean, clock_hz);
		ret->dev_jitter_ticks =
			to_ticks(moments_stddev(&q->ipdv_ms), clock_hz);
	}
	q->ipdv_ms = (struct moments){0};
	q->has_report = true;
	q->report_begin = end;
	q->report_duplicates = c.duplicates;
	return true;
}
