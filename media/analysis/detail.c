#include "media/analysis/detail.h"

#include <math.h>
#include <string.h>

void series_add(struct series *s, double ms)
{
	histogram_add(&s->all, ms);
	if (s->n < DETAIL_SAMPLES_MAX) {
		s->samples[s->n++] = ms;
		return;
	}
	if (s->n == DETAIL_SAMPLES_MAX) {
		for (size_t i = 0; i < DETAIL_SAMPLES_MAX; i++)
			histogram_add(&s->interval, s->samples[i]);
		s->n++;
	}
	histogram_add(&s->interval, ms);
}

/* Add several samples at once. */
static void series_add_block(struct series *s, const double *ms, size_t n)
{
	if (s->n + n > DETAIL_SAMPLES_MAX) {
		for (size_t i = 0; i < n; i++)
			series_add(s, ms[i]);
		return;
	}
	histogram_add_block(&s->all, ms, n);
	memcpy(&s->samples[s->n], ms, n * sizeof(*ms));
	s->n += n;
}

void series_close(struct series *s, struct distribution *ret)
{
	if (s->n <= DETAIL_SAMPLES_MAX) {
		distribution_of_samples(ret, s->samples, s->n);
	} else {
		distribution_of_histogram(ret, &s->interval);
		memset(&s->interval, 0, sizeof(s->interval));
	}
	s->n = 0;
}

void stream_detail_init(struct stream_detail *d,
			const struct rtp_stream *stream)
{
	memset(d, 0, sizeof(*d));
	d->stream = stream;
	pattern_init(&d->network);
	pattern_init(&d->fixed);
	pattern_init(&d->adaptive);
	d->network.histogram = &d->histograms[DETAIL_NETWORK];
	d->fixed.histogram = &d->histograms[DETAIL_FIXED];
	d->adaptive.histogram = &d->histograms[DETAIL_ADAPTIVE];
	jb_fixed_init(&d->jb_fixed, JB_FIXED_DELAY_MS);
	jb_adaptive_init(&d->jb_adaptive);
	skew_init(&d->skew, d->skew_points,
		  d->skew_points + SKEW_WINDOWS_CAPTURE, SKEW_WINDOWS_CAPTURE);
	rtp_strict_init(&d->no_probation, 0);
}

static double period_ms(const struct rtp_stream *stream)
{
	const struct rtp_timing *t = &stream->timing;

	return t->clock_hz ? t->period_ticks * 1000.0 / t->clock_hz : 20.0;
}

double stream_detail_period_ms(const struct stream_detail *d,
			       bool *ret_measured)
{
	if (ret_measured)
		*ret_measured = d->stream->timing.has_period;
	return period_ms(d->stream);
}

static void add_samples(struct stream_detail *d, const struct rtp_sample *s)
{
	if (s->has_ipdv) {
		series_add(&d->series[DETAIL_IPDV], s->ipdv_ms);
		series_add(&d->series[DETAIL_JITTER], s->jitter_ms);
	}
	if (s->has_delta)
		series_add(&d->series[DETAIL_DELTA], s->delta_ms);
	if (!s->has_pdv)
		return;
	series_add(&d->series[DETAIL_PDV], s->pdv_ms);
	skew_add(&d->skew, s->reference, s->media_ms, s->transit_ms);
}

static void add_ticks(struct stream_detail *d, const struct packet_record *r,
		      const struct rtp_sample *s)
{
	const uint32_t clock_hz = d->stream->timing.clock_hz;

	if (s->reference)
		jitter_ticks_reference(&d->jitter_ticks, r->mono_ns, r->rtp_ts,
				       clock_hz);
	else if (s->has_ipdv)
		jitter_ticks_update(&d->jitter_ticks, r->mono_ns, r->rtp_ts,
				    clock_hz);
}

static void add_run_ticks(struct stream_detail *d, const struct rtp_run *run)
{
	uint32_t rtp_ts = run->rtp_ts;

	for (size_t i = 1; i <= run->samples->count; i++) {
		rtp_ts += run->period_ticks;
		jitter_ticks_update(&d->jitter_ticks,
				    run->mono_ns + run->at_ns[i], rtp_ts,
				    d->stream->timing.clock_hz);
	}
}

/* Give the packet to both buffers; a packet that they cannot judge is good. */
static void add_buffers(struct stream_detail *d,
			const struct rtp_observation *o, bool *ret_fixed,
			bool *ret_adaptive)
{
	const struct rtp_sample *s = &o->sample;

	*ret_fixed = true;
	*ret_adaptive = true;
	if (o->verdict == RTP_VERY_LATE) {
		jb_fixed_very_late(&d->jb_fixed);
		jb_adaptive_very_late(&d->jb_adaptive);
		*ret_fixed = false;
		*ret_adaptive = false;
		return;
	}
	if (!s->has_pdv)
		return;
	if (s->reference) {
		jb_fixed_epoch(&d->jb_fixed);
		jb_adaptive_epoch(&d->jb_adaptive);
	}
	*ret_fixed = jb_fixed_update(&d->jb_fixed, s->transit_ms) == JB_PLAYED;
	*ret_adaptive = jb_adaptive_update(&d->jb_adaptive, s->transit_ms,
					   stream_detail_period_ms(d, NULL)) ==
			JB_PLAYED;
}

void stream_detail_observe(const struct rtp_observation *o, void *arg)
{
	struct stream_detail *d = arg;
	bool fixed;
	bool adaptive;

	if (o->verdict == RTP_PENDING || o->verdict == RTP_DUPLICATE)
		return;
	d->pt_packets[packet_pt(o->record)] += o->sample.audio;
	add_samples(d, &o->sample);
	add_ticks(d, o->record, &o->sample);
	add_buffers(d, o, &fixed, &adaptive);
	pattern_add(&d->network, o->ext, o->new_segment, true);
	pattern_add(&d->fixed, o->ext, o->new_segment, fixed);
	pattern_add(&d->adaptive, o->ext, o->new_segment, adaptive);
}

/* stream_detail_observe() for each packet. */
void stream_detail_observe_run(const struct rtp_run *run, void *arg)
{
	struct stream_detail *d = arg;
	const struct rtp_run_samples *x = run->samples;
	const uint32_t count = (uint32_t)x->count;
	const struct jb_run transit = jb_run_of(x);
	double pdv_ms[RTP_RUN_MAX];

	if (count == 0)
		return;
	rtp_run_pdv_ms(x, pdv_ms);
	d->pt_packets[run->pt] += count;
	series_add_block(&d->series[DETAIL_IPDV], x->ipdv_ms, count);
	series_add_block(&d->series[DETAIL_JITTER], x->jitter_ms, count);
	series_add_block(&d->series[DETAIL_DELTA], x->delta_ms, count);
	series_add_block(&d->series[DETAIL_PDV], pdv_ms, count);
	add_run_ticks(d, run);
	skew_add_run(&d->skew, x);
	pattern_add_run(&d->network, run->ext, count,
			UINT32_MAX >> (32 - count));
	pattern_add_run(&d->fixed, run->ext, count,
			jb_fixed_run(&d->jb_fixed, &transit));
	pattern_add_run(&d->adaptive, run->ext, count,
			jb_adaptive_run(&d->jb_adaptive, &transit,
					stream_detail_period_ms(d, NULL)));
}

void stream_detail_finish(struct stream_detail *d)
{
	pattern_finish(&d->network);
	pattern_finish(&d->fixed);
	pattern_finish(&d->adaptive);
}

void detail_score_values(const struct emodel_values *values, double packet_ms,
			 const struct loss_pattern *p, double buffer_ms,
			 struct detail_score *ret)
{
	const struct emodel_codec *codec;
	double burst_r = loss_runs_burst_r(&p->runs, p->packets);
	double ppl = 0.0;
	const char *reason;

	if (p->packets > 0)
		ppl = 100.0 * (double)p->runs.lost / (double)p->packets;
	codec = emodel_values_pick(values, ppl, &reason);
	if (!codec)
		codec = values->standard;
	ret->ta_ms =
		buffer_ms + packet_ms + (codec ? codec->look_ahead_ms : 0.0);
	score_rate_values(&ret->score, values, ppl, burst_r, ret->ta_ms);
	score_rate(&ret->standard, values->standard, ppl, burst_r, ret->ta_ms);
}

void detail_score_pattern(const struct rtp_stream *stream,
			  const struct loss_pattern *p, double buffer_ms,
			  struct detail_score *ret)
{
	detail_score_values(rtp_stream_values(stream), period_ms(stream), p,
			    buffer_ms, ret);
}

void stream_detail_score_fixed(const struct stream_detail *d,
			       struct detail_score *ret)
{
	detail_score_pattern(d->stream, &d->fixed, d->jb_fixed.delay_ms, ret);
}

void stream_detail_score_adaptive(const struct stream_detail *d,
				  struct detail_score *ret)
{
	detail_score_pattern(d->stream, &d->adaptive,
			     jb_adaptive_delay_ms(&d->jb_adaptive), ret);
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0.0;
}

void burst_gap_figures(const struct burst_gap *b, double period_ms,
		       struct burst_gap_figures *ret)
{
	ret->burst_density = ratio(b->burst_bad, b->burst_packets);
	ret->gap_density = ratio(b->gap_bad, b->gap_packets);
	ret->burst_duration_ms = ratio(b->burst_packets, b->bursts) * period_ms;
	ret->gap_duration_ms = ratio(b->gap_packets, b->gaps) * period_ms;
}

/* Fractions in XR are in 1/256, rounded down, at most 255 (RFC 3611 section
 * 4.7.1). */
static uint8_t of_256(double part)
{
	return (uint8_t)fmin(floor(256.0 * part), 255.0);
}

static uint16_t whole_ms(double ms)
{
	return (uint16_t)fmin(floor(ms + 0.5), 65535.0);
}

void detail_voip_metrics(const struct voip_input *in,
			 struct rtcp_voip_metrics *ret)
{
	const struct loss_pattern *p = in->pattern;
	struct burst_gap_figures f;
	struct detail_score quality; /* with the delay */
	struct score listening;      /* without any delay */

	burst_gap_figures(&p->burst_gap, period_ms(in->stream), &f);
	detail_score_pattern(in->stream, p, in->buffer_ms + in->network_ms,
			     &quality);
	*ret = (struct rtcp_voip_metrics){
		.ssrc = in->stream->ssrc,
		.loss_rate = of_256(ratio(in->lost, p->packets)),
		.discard_rate = of_256(ratio(in->discarded, p->packets)),
		.burst_density = of_256(f.burst_density),
		.gap_density = of_256(f.gap_density),
		.burst_duration_ms = whole_ms(f.burst_duration_ms),
		.gap_duration_ms = whole_ms(f.gap_duration_ms),
		.signal_dbm0 = RTCP_VOIP_UNAVAILABLE,
		.noise_dbm0 = RTCP_VOIP_UNAVAILABLE,
		.rerl_db = RTCP_VOIP_UNAVAILABLE,
		.gmin = PATTERN_GMIN,
		.r_factor = RTCP_VOIP_UNAVAILABLE,
		.ext_r_factor = RTCP_VOIP_UNAVAILABLE,
		.mos_lq = RTCP_VOIP_UNAVAILABLE,
		.mos_cq = RTCP_VOIP_UNAVAILABLE,
		.jb_nominal_ms = whole_ms(in->buffer_ms),
		.jb_max_ms = whole_ms(in->buffer_ms),
		.jb_absmax_ms = whole_ms(in->buffer_ms + JB_FIXED_EARLY_MS),
	};
	/* R and MOS of XR are of the narrowband scale: 0..100, tenths */
	/* and the block cannot tell that values are declared */
	if (!quality.standard.valid ||
	    quality.standard.codec->scale != EMODEL_NB)
		return;
	ret->r_factor = (uint8_t)fmin(floor(quality.standard.r + 0.5), 100.0);
	ret->mos_cq = (uint8_t)floor(10 * quality.standard.mos + 0.5);
	score_rate(&listening, quality.standard.codec, quality.standard.ppl,
		   quality.standard.burst_r, 0.0);
	ret->mos_lq = (uint8_t)floor(10 * listening.mos + 0.5);
}

void stream_detail_xr(const struct stream_detail *d,
		      struct rtcp_voip_metrics *ret)
{
	const struct voip_input in = {
		.stream = d->stream,
		.pattern = &d->fixed,
		.lost = d->network.runs.lost,
		.discarded = d->jb_fixed.late + d->jb_fixed.early,
		.buffer_ms = d->jb_fixed.delay_ms,
	};

	detail_voip_metrics(&in, ret);
}
