#include "capture/measure.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/prefetch.h"

#define SAMPLES_BUDGET (8u << 20) /* doubles: 64 MiB */

void measure_memory_init(struct measure_memory *m,
			 const struct capture_options *options)
{
	pool_init(&m->streams, sizeof(struct capture_stream));
	pool_init(&m->details, sizeof(struct capture_detail));
	pool_init(&m->trials,
		  options->trial_count * sizeof(struct buffer_trial));
	m->samples.left = SAMPLES_BUDGET;
}

void measure_memory_release(struct measure_memory *m)
{
	pool_release(&m->streams);
	pool_release(&m->details);
	pool_release(&m->trials);
}

struct capture_stream *measure_new(const struct capture_options *options,
				   struct measure_memory *m)
{
	struct capture_stream *s = pool_take(&m->streams);

	if (!s)
		return NULL;
	if (!options->detailed && options->trials) {
		s->trials.trial = pool_take(&m->trials);
		return s->trials.trial ? s : measure_free(s, m);
	}
	if (!options->detailed) {
		jb_fixed_init(&s->brief.fixed, options->fixed_delay_ms);
		jb_adaptive_init(&s->brief.adaptive);
		pattern_init(&s->brief.pattern);
		return s;
	}
	s->detail = pool_take(&m->details);
	if (!s->detail)
		return measure_free(s, m);
	stream_detail_init(&s->detail->figures, &s->stream);
	jb_fixed_init(&s->detail->figures.jb_fixed, options->fixed_delay_ms);
	s->detail->budget = &m->samples;
	return s;
}

static void detail_release(struct capture_detail *d)
{
	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++)
		samples_release(&d->samples[k]);
	for (size_t i = 0; i < DETAIL_PATTERN_COUNT; i++)
		free(d->figures.histograms[i].longer);
}

/* Reserve memory for the runs that the next packet can end: the analysis itself
 * does not allocate. */
static void make_room(struct stream_detail *d)
{
	for (size_t i = 0; i < DETAIL_PATTERN_COUNT; i++) {
		struct run_histogram *h = &d->histograms[i];
		size_t room = 2 * h->room + RUN_HISTOGRAM_ROOM;
		struct run_length *longer;

		if (h->room - h->count >= RUN_HISTOGRAM_ROOM)
			continue;
		longer = realloc(h->longer, room * sizeof(*longer));
		if (!longer)
			continue; /* the histogram counts what it leaves out */
		h->longer = longer;
		h->room = room;
	}
}

struct capture_stream *measure_free(struct capture_stream *s,
				    struct measure_memory *m)
{
	if (!s)
		return NULL;
	if (s->detail)
		detail_release(s->detail);
	pool_give(&m->details, s->detail);
	pool_give(&m->trials, s->trials.trial);
	pool_give(&m->streams, s);
	return NULL;
}

/* A part of stream_detail_observe(): one buffer and its pattern. */
static void brief_fixed(const struct rtp_observation *o, void *arg)
{
	struct capture_brief *b = arg;
	bool good = true;

	if (o->verdict == RTP_PENDING || o->verdict == RTP_DUPLICATE)
		return;
	if (o->verdict == RTP_VERY_LATE) {
		jb_fixed_very_late(&b->fixed);
		good = false;
	} else if (o->sample.has_pdv) {
		if (o->sample.reference)
			jb_fixed_epoch(&b->fixed);
		good = jb_fixed_update(&b->fixed, o->sample.transit_ms) ==
		       JB_PLAYED;
	}
	pattern_add(&b->pattern, o->ext, o->new_segment, good);
}

static void brief_fixed_run(const struct rtp_run *run, void *arg)
{
	struct capture_brief *b = arg;
	const struct jb_run transit = jb_run_of(run->samples);

	pattern_add_run(&b->pattern, run->ext, (uint32_t)transit.count,
			jb_fixed_run(&b->fixed, &transit));
}

static double period_ms(const struct capture_brief *b)
{
	const struct rtp_timing *t = &b->stream->timing;

	return t->period_ticks * 1000.0 / t->clock_hz;
}

static void brief_adaptive(const struct rtp_observation *o, void *arg)
{
	struct capture_brief *b = arg;
	bool good = true;

	if (o->verdict == RTP_PENDING || o->verdict == RTP_DUPLICATE)
		return;
	if (o->verdict == RTP_VERY_LATE) {
		jb_adaptive_very_late(&b->adaptive);
		good = false;
	} else if (o->sample.has_pdv) {
		if (o->sample.reference)
			jb_adaptive_epoch(&b->adaptive);
		good = jb_adaptive_update(&b->adaptive, o->sample.transit_ms,
					  period_ms(b)) == JB_PLAYED;
	}
	pattern_add(&b->pattern, o->ext, o->new_segment, good);
}

static void brief_adaptive_run(const struct rtp_run *run, void *arg)
{
	struct capture_brief *b = arg;
	const struct jb_run transit = jb_run_of(run->samples);

	pattern_add_run(&b->pattern, run->ext, (uint32_t)transit.count,
			jb_adaptive_run(&b->adaptive, &transit, period_ms(b)));
}

static void all(const struct rtp_observation *o, void *arg)
{
	struct capture_detail *d = arg;
	const struct rtp_sample *x = &o->sample;

	stream_detail_observe(o, &d->figures);
	if (x->has_ipdv) {
		samples_add(&d->samples[DETAIL_IPDV], d->budget, x->ipdv_ms);
		samples_add(&d->samples[DETAIL_JITTER], d->budget,
			    x->jitter_ms);
	}
	if (x->has_delta)
		samples_add(&d->samples[DETAIL_DELTA], d->budget, x->delta_ms);
	if (x->has_pdv)
		samples_add(&d->samples[DETAIL_PDV], d->budget, x->pdv_ms);
}

static void all_run(const struct rtp_run *run, void *arg)
{
	struct capture_detail *d = arg;
	double pdv_ms[RTP_RUN_MAX];
	const double *const samples[DETAIL_SERIES_COUNT] = {
		[DETAIL_IPDV] = run->samples->ipdv_ms,
		[DETAIL_JITTER] = run->samples->jitter_ms,
		[DETAIL_DELTA] = run->samples->delta_ms,
		[DETAIL_PDV] = pdv_ms,
	};

	stream_detail_observe_run(run, &d->figures);
	rtp_run_pdv_ms(run->samples, pdv_ms);
	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++) {
		for (size_t i = 0; i < run->samples->count; i++)
			samples_add(&d->samples[k], d->budget, samples[k][i]);
	}
}

static void brief_prefetch(const void *arg)
{
	const struct capture_brief *b = arg;

	prefetch(b, offsetof(struct capture_brief, pattern));
	pattern_prefetch(&b->pattern, RTP_WINDOW_BITS);
}

static const struct rtp_observer brief_observers[] = {
	[CAPTURE_BUFFER_FIXED] = {.packet = brief_fixed,
				  .run = brief_fixed_run,
				  .prefetch = brief_prefetch},
	[CAPTURE_BUFFER_ADAPTIVE] = {.packet = brief_adaptive,
				     .run = brief_adaptive_run,
				     .prefetch = brief_prefetch},
};

static const struct rtp_observer all_observer = {.packet = all, .run = all_run};

void measure_start(struct capture_stream *s,
		   const struct capture_options *options, int64_t ns)
{
	rtp_stream_init(&s->stream, s->key.ssrc, ns, &s->map, &s->rest);
	s->brief.stream = &s->stream;
	if (s->detail) {
		rtp_stream_observe(&s->stream, &all_observer, s->detail);
	} else if (s->trials.trial) {
		buffer_trials_init(&s->trials, &s->stream, options->trials,
				   s->trials.trial, options->trial_count);
		rtp_stream_observe(&s->stream, &buffer_trials_observer,
				   &s->trials);
	} else {
		rtp_stream_observe(&s->stream,
				   &brief_observers[options->buffer],
				   &s->brief);
	}
	s->first_ns = ns;
	s->last_ns = ns;
}

static void rate_interval(struct capture_interval *i,
			  const struct rtp_stream *r)
{
	const struct stream_second *n = &i->second;
	const struct codec_count_entry *codec = rtp_stream_second_codec(r);
	struct score score;

	double ppl = n->expected ? 100.0 * (double)n->lost / (double)n->expected
				 : 0.0;

	if (codec)
		memcpy(i->codec, codec->name, sizeof(i->codec));
	score_rate(&score, r->score.values.standard, ppl, 1.0, 0.0);
	i->has_score = score.valid && n->packets > 0;
	i->r = score.r;
	i->mos = score.mos;
	score_rate_values(&score, &r->score.values, ppl, 1.0, 0.0);
	i->has_declared = score.valid && n->packets > 0 &&
			  score.codec->provenance == EMODEL_DECLARED;
	i->declared_r = score.r;
	i->declared_mos = score.mos;
}

static void close_interval(struct capture_stream *s, int64_t interval_ns,
			   struct chain_file *intervals)
{
	struct capture_detail *d = s->detail;
	struct rtp_stream *r = &s->stream;
	struct capture_interval i;
	struct rtp_counters now;

	memset(&i, 0, sizeof(i));
	rtp_stream_counters(r, &now);
	rtp_stream_close_second(r, rtp_stream_second_start_ns(r) + interval_ns,
				&i.second);
	i.index = d->next_index++;
	i.received = now.received - d->received_before;
	i.te = r->te_packets - d->te_before;
	i.cn = r->cn_packets - d->cn_before;
	i.payload_bytes = r->payload_bytes - d->payload_before;
	i.has_fraction = r->strict.valid;
	if (r->strict.valid)
		i.fraction = rtp_strict_fraction(&r->strict);
	for (size_t k = 0; k < DETAIL_SERIES_COUNT; k++)
		series_close(&d->figures.series[k], &i.series[k]);
	rate_interval(&i, r);
	d->received_before = now.received;
	d->te_before = r->te_packets;
	d->cn_before = r->cn_packets;
	d->payload_before = r->payload_bytes;
	chain_file_add(intervals, &d->intervals, &i);
}

void measure_tick(struct capture_stream *s, int64_t end_ns,
		  struct capture_interval *ret)
{
	memset(ret, 0, sizeof(*ret));
	rtp_stream_close_second(&s->stream, end_ns, &ret->second);
	rate_interval(ret, &s->stream);
}

/* Close the intervals that ended before a packet at ns. A long silence is
 * skipped in one step. */
static void close_intervals(struct capture_stream *s, int64_t ns,
			    int64_t interval_ns, struct chain_file *intervals)
{
	struct stream_second unused;
	int64_t start = rtp_stream_second_start_ns(&s->stream);
	int64_t silent;

	if (ns - start < interval_ns)
		return;
	close_interval(s, interval_ns, intervals);
	start = rtp_stream_second_start_ns(&s->stream);
	silent = (ns - start) / interval_ns;
	if (silent > CAPTURE_SILENCE_MAX) {
		rtp_stream_close_second(&s->stream,
					start + silent * interval_ns, &unused);
		s->detail->next_index += (uint64_t)silent;
		s->detail->silence_left_out += (uint64_t)silent;
		return;
	}
	for (; silent > 0; silent--)
		close_interval(s, interval_ns, intervals);
}

void measure_take(struct capture_stream *s, const struct packet_record *r,
		  const struct capture_options *options,
		  struct chain_file *intervals)
{
	s->last_ns = r->mono_ns;
	if (s->detail) {
		close_intervals(s, r->mono_ns, options->interval_ns, intervals);
		rtp_strict_update(&s->detail->figures.no_probation, r->seq);
		make_room(&s->detail->figures);
	}
	rtp_stream_update(&s->stream, r);
}

void measure_finish(struct capture_stream *s,
		    const struct capture_options *options,
		    struct chain_file *intervals)
{
	if (s->detail)
		make_room(&s->detail->figures);
	rtp_stream_end_run(&s->stream);
	if (s->trials.trial) {
		buffer_trials_finish(&s->trials);
		return;
	}
	if (!s->detail) {
		pattern_finish(&s->brief.pattern);
		return;
	}
	close_interval(s, options->interval_ns, intervals);
	stream_detail_finish(&s->detail->figures);
}

const struct loss_pattern *capture_stream_pattern(
	const struct capture_stream *s, const struct capture_options *options)
{
	if (!s->detail)
		return &s->brief.pattern;
	return options->buffer == CAPTURE_BUFFER_FIXED
		       ? &s->detail->figures.fixed
		       : &s->detail->figures.adaptive;
}

void capture_stream_score(const struct capture_stream *s,
			  const struct capture_options *options,
			  struct detail_score *ret)
{
	const struct jb_adaptive *adaptive =
		s->detail ? &s->detail->figures.jb_adaptive
			  : &s->brief.adaptive;

	detail_score_pattern(&s->stream, capture_stream_pattern(s, options),
			     options->buffer == CAPTURE_BUFFER_FIXED
				     ? options->fixed_delay_ms
				     : jb_adaptive_delay_ms(adaptive),
			     ret);
}
