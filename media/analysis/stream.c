#include "media/analysis/stream.h"

#include <string.h>

#define PT_UNKNOWN 255
#define NO_SEQ     65536

void rtp_stream_init(struct rtp_stream *s, uint32_t ssrc, int64_t start_ns,
		     const struct rtp_payload_map *map, struct rtp_rest *rest)
{
	memset(s, 0, offsetof(struct rtp_stream, counts));
	count_parts_init(&s->counts, rest->parts);
	codec_count_init(&s->codecs, rest->codecs);
	s->rest = rest;
	rtp_seq_init(&s->seq);
	rtp_timing_init(&s->timing);
	rtp_strict_init(&s->strict, RTP_MIN_SEQUENTIAL);
	s->ssrc = ssrc;
	s->second_start_ns = start_ns;
	s->map = map;
	s->pt_kind = PT_UNKNOWN;
	s->run_seq = NO_SEQ;
}

void rtp_stream_set_map(struct rtp_stream *s, const struct rtp_payload_map *map)
{
	rtp_stream_end_run(s);
	s->map = map;
	s->has_pt = false; /* look it up again in the new map */
	s->run_seq = NO_SEQ;
}

/* Count the audio packets of the codec so far. */
static void count_audio(struct rtp_stream *s)
{
	codec_count_add(&s->codecs, s->audio_packets - s->audio_counted);
	s->audio_counted = s->audio_packets;
}

/* The payload type has changed. */
static void enter_pt(struct rtp_stream *s, uint8_t pt)
{
	const struct rtp_payload *p = rtp_payload_map_find(s->map, pt);

	s->has_pt = true;
	s->last_pt = pt;
	s->pt_kind = p ? p->kind : PT_UNKNOWN;
	s->pt_clock_hz = p ? p->clock_hz : 0;
	if (!p || p->kind != RTP_PAYLOAD_AUDIO)
		return;
	if (s->has_audio_pt && s->audio_pt != pt)
		s->pt_changes++;
	s->has_audio_pt = true;
	s->audio_pt = pt;
	count_audio(s);
	codec_count_enter(&s->codecs, p->codec, p->clock_hz, pt, &p->values);
	if (s->codecs.count == 1) {
		rtp_score_set(&s->score, &p->values);
	} else if (!s->several_codecs) {
		s->several_codecs = true;
		/* a single codec needs no counts per second */
		codec_count_at(&s->codecs, 0)->packets_before = s->audio_before;
	}
}

/* Process the timing of an audio packet. */
static void add_timing(struct rtp_stream *s, const struct packet_record *r,
		       int64_t ext, struct rtp_sample *ret)
{
	rtp_timing_update(&s->timing, r, ext, s->pt_clock_hz, ret);
	if (ret->has_ipdv)
		sparse_histogram_add(&s->jitter, &s->counts, ret->jitter_ms);
}

/* Count a unique packet: kind, bytes, timing. */
static void credit(struct rtp_stream *s, const struct packet_record *r,
		   int64_t ext, bool timing, struct rtp_sample *ret)
{
	uint8_t pt = packet_pt(r);

	if (!s->has_pt || s->last_pt != pt)
		enter_pt(s, pt);
	s->payload_bytes += r->payload_bytes;
	if (packet_marker(r))
		s->marker_packets++;
	switch (s->pt_kind) {
	case RTP_PAYLOAD_AUDIO:
		s->audio_packets++;
		if (timing && s->pt_clock_hz > 0)
			add_timing(s, r, ext, ret);
		break;
	case RTP_PAYLOAD_CN:
		s->cn_packets++;
		rtp_timing_skip(&s->timing);
		break;
	case RTP_PAYLOAD_TE:
		s->te_packets++;
		rtp_timing_skip(&s->timing);
		break;
	default:
		s->unknown_pt_packets++;
		break;
	}
}

static void observe(const struct rtp_stream *s, const struct rtp_observation *o)
{
	if (s->observer)
		s->observer->packet(o, s->observer_arg);
}

/* Extended number of an accepted packet at or below the newest. */
static int64_t extended(const struct rtp_stream *s,
			const struct packet_record *r)
{
	return s->seq.max - (uint16_t)((uint16_t)s->seq.max - r->seq);
}

static void credit_pending(struct rtp_stream *s,
			   const struct packet_record *pending, bool restart)
{
	struct rtp_observation o = {
		.record = pending,
		.verdict = RTP_IN_ORDER,
		.new_segment = restart,
		.ext = extended(s, pending),
	};

	if (restart)
		rtp_timing_restart(&s->timing);
	credit(s, pending, o.ext, true, &o.sample);
	observe(s, &o);
}

void rtp_stream_prefetch_warm(const struct rtp_stream *s)
{
	prefetch(&s->observer, offsetof(struct rtp_stream, seq) -
				       offsetof(struct rtp_stream, observer));
	prefetch(&s->seq, PREFETCH_LINE);
	if (s->jitter_part > 0 && s->jitter_part <= COUNT_PARTS_FIRST)
		prefetch(&s->counts.first[s->jitter_part - 1], PREFETCH_LINE);
	if (s->observer && s->observer->prefetch)
		s->observer->prefetch(s->observer_arg);
}

void rtp_stream_prefetch_second(const struct rtp_stream *s)
{
	if (s->run_count > 0)
		rtp_stream_prefetch_warm(s);
	prefetch(&s->seq, offsetof(struct rtp_stream, rtt) -
				  offsetof(struct rtp_stream, seq));
}

__attribute__((noinline)) static void take_run(struct rtp_stream *s)
{
	const uint32_t count = s->run_count;
	struct rtp_run_samples samples;
	const struct rtp_run run = {
		.ext = s->seq.max + 1,
		.mono_ns = s->run_ns,
		.at_ns = s->run,
		.rtp_ts = s->timing.ref_ts,
		.period_ticks = s->run_period,
		.pt = s->last_pt,
		.samples = &samples,
	};

	s->bytes += (uint64_t)s->run_payload_bytes + s->run_header_bytes;
	s->payload_bytes += s->run_payload_bytes;
	s->audio_packets += count;
	s->run_ns += s->run[count];
	s->run_count = 0;
	s->run_payload_bytes = 0;
	s->run_header_bytes = 0;
	/* each J depends on the previous one: other work is done meanwhile */
	rtp_timing_run(&s->timing, s->run, count, s->observer, &samples);
	rtp_strict_run(&s->strict, (uint16_t)run.ext, count);
	rtp_seq_run(&s->seq, count, s->run_ts - s->run_period, s->run_ns);
	s->jitter_part = sparse_histogram_add_block(&s->jitter, &s->counts,
						    samples.jitter_ms, count);
	if (s->observer)
		s->observer->run(&run, s->observer_arg);
}

/* From now on packets like this one may wait in a run. */
static void begin_run(struct rtp_stream *s)
{
	const struct rtp_timing *t = &s->timing;

	s->run_seq = NO_SEQ;
	if ((s->observer && !s->observer->run) || !s->has_pt ||
	    s->pt_kind != RTP_PAYLOAD_AUDIO ||
	    !rtp_timing_is_plain(t, s->seq.max, s->pt_clock_hz))
		return;
	s->run_seq = (uint16_t)(s->seq.max + 1);
	s->run_ts = t->ref_ts + t->period_ticks;
	s->run_period = t->period_ticks;
	s->run_octet = s->last_pt;
	s->run_ns = t->ref_ns;
}

/* A packet outside a run. Not inlined: the path of runs then saves no registers
 * for it. */
__attribute__((noinline)) static void update_alone(
	struct rtp_stream *s, const struct packet_record *r)
{
	struct packet_record pending;
	struct rtp_observation o = {.record = r};

	rtp_stream_end_run(s);
	s->bytes += (uint64_t)r->header_bytes + r->payload_bytes;
	rtp_strict_update(&s->strict, r->seq);
	o.verdict = rtp_seq_update(&s->seq, r, s->timing.period_ticks,
				   s->timing.clock_hz, &pending);
	if (o.verdict == RTP_OUTAGE || o.verdict == RTP_RESTART)
		credit_pending(s, &pending, o.verdict == RTP_RESTART);
	if (o.verdict != RTP_PENDING)
		o.ext = extended(s, r);
	if (o.verdict != RTP_PENDING && o.verdict != RTP_DUPLICATE)
		credit(s, r, o.ext, o.verdict != RTP_VERY_LATE, &o.sample);
	observe(s, &o);
	begin_run(s);
}

void rtp_stream_update(struct rtp_stream *s, const struct packet_record *r)
{
	const uint64_t at_ns = (uint64_t)(r->mono_ns - s->run_ns);
	const uint32_t n = s->run_count + 1u;

	if (((r->seq ^ s->run_seq) | (r->rtp_ts ^ s->run_ts) |
	     (uint32_t)(r->marker_pt ^ s->run_octet)) != 0 ||
	    at_ns > RTP_RUN_NS_MAX) {
		update_alone(s, r);
		return;
	}
	s->run[n] = (uint32_t)at_ns;
	s->run_seq = (uint16_t)(r->seq + 1);
	s->run_ts = r->rtp_ts + s->run_period;
	s->run_payload_bytes += r->payload_bytes;
	s->run_header_bytes += r->header_bytes;
	s->run_count = (uint8_t)n;
	if (n == RTP_RUN_MAX)
		take_run(s);
}

void rtp_stream_end_run(struct rtp_stream *s)
{
	if (s->run_count > 0)
		take_run(s);
}

void rtp_stream_observe(struct rtp_stream *s,
			const struct rtp_observer *observer, void *arg)
{
	s->observer = observer;
	s->observer_arg = arg;
}

void rtp_stream_add_rtt(struct rtp_stream *s, double rtt_ms)
{
	s->has_rtt = true;
	s->rtt_ms = rtt_ms;
	sparse_histogram_add(&s->rtt, &s->counts, rtt_ms);
}

/* The second that ends is scored with the codec of most of its audio
 * packets. */
static void score_codec(struct rtp_stream *s)
{
	const struct codec_count_entry *codec;

	count_audio(s);
	codec = codec_count_interval(&s->codecs);
	if (!codec)
		return;
	s->second_codec = codec;
	if (!emodel_values_equal(&codec->values, &s->score.values))
		rtp_score_set(&s->score, &codec->values);
}

void rtp_stream_close_second(struct rtp_stream *s, int64_t end_ns,
			     struct stream_second *ret)
{
	struct rtp_counters now;
	const struct rtp_counters *before = &s->before;

	rtp_stream_end_run(s);
	rtp_seq_counters(&s->seq, &now);
	memset(ret, 0, sizeof(*ret));
	ret->start_ns = s->second_start_ns;
	ret->duration_ns = end_ns - s->second_start_ns;
	ret->packets = now.packets - before->packets;
	ret->bytes = s->bytes - s->bytes_before;
	ret->expected = now.expected - before->expected;
	ret->lost = (int64_t)(now.lost - before->lost);
	ret->duplicates = now.duplicates - before->duplicates;
	ret->reordered = now.reordered - before->reordered;
	ret->has_jitter = s->timing.samples > s->samples_before;
	ret->jitter_ms = s->timing.jitter_ms;
	ret->has_rtt = s->has_rtt;
	ret->rtt_ms = s->rtt_ms;
	ret->has_loss = ret->packets > 0;
	if (s->several_codecs)
		score_codec(s);
	ret->has_mos = rtp_score_second(&s->score, &s->counts, ret->packets > 0,
					(int64_t)ret->expected, ret->lost,
					&ret->r_factor, &ret->mos);
	ret->has_mos_wb =
		ret->has_mos &&
		score_mos_wb(s->score.last, ret->r_factor, &ret->mos_wb);
	s->before = now;
	s->bytes_before = s->bytes;
	s->samples_before = s->timing.samples;
	s->audio_before = s->audio_packets;
	s->has_rtt = false;
	s->second_start_ns = end_ns;
}

int64_t rtp_stream_second_start_ns(const struct rtp_stream *s)
{
	return s->second_start_ns;
}

const struct codec_count_entry *rtp_stream_codec(const struct rtp_stream *s)
{
	return codec_count_most(&s->codecs,
				s->audio_packets - s->audio_counted);
}

const struct codec_count_entry *rtp_stream_second_codec(
	const struct rtp_stream *s)
{
	if (s->second_codec || s->codecs.count == 0)
		return s->second_codec;
	return &s->codecs.first[0];
}

const struct emodel_values *rtp_stream_values(const struct rtp_stream *s)
{
	static const struct emodel_values none;
	const struct codec_count_entry *codec = rtp_stream_codec(s);

	return codec ? &codec->values : &none;
}

void rtp_stream_total(struct rtp_stream *s, struct stream_total *ret)
{
	const struct codec_count_entry *codec;
	struct rtp_counters c;
	struct loss_runs runs;
	struct score score;

	rtp_stream_end_run(s);
	rtp_seq_counters(&s->seq, &c);
	rtp_seq_loss_runs(&s->seq, &runs);
	*ret = (struct stream_total){
		.ssrc = s->ssrc,
		.clock_hz = s->timing.clock_hz,
		.has_ptime = s->timing.has_period,
		.packets = c.packets,
		.bytes = s->bytes,
		.has_loss = c.received > 0,
		.received = c.received,
		.expected = c.expected,
		.lost = (int64_t)c.lost,
		.duplicates = c.duplicates,
		.reordered = c.reordered,
		.stray = c.stray + c.pending,
		.burst_ratio = loss_runs_burst_r(&runs, c.expected),
	};
	codec = rtp_stream_codec(s);
	if (codec) {
		memcpy(ret->codec, codec->name, sizeof(ret->codec));
		ret->clock_hz = codec->clock_hz;
	}
	if (ret->has_ptime)
		ret->ptime_ms = s->timing.period_ticks * s->timing.tick_ms;
	if (c.expected > 0)
		ret->loss_pct = 100.0 * (double)c.lost / (double)c.expected;
	distribution_of_sparse(&ret->jitter_ms, &s->jitter, &s->counts);
	distribution_of_sparse(&ret->rtt_ms, &s->rtt, &s->counts);
	mos_histogram_distribution(&ret->mos, &s->score.mos, &s->counts);
	if (c.received == 0) {
		ret->no_score_reason = "no packets";
		return;
	}
	score_rate_values(&score, rtp_stream_values(s), ret->loss_pct,
			  ret->burst_ratio, 0.0);
	score_total(&score, ret);
}

void rtp_stream_counters(struct rtp_stream *s, struct rtp_counters *ret)
{
	rtp_stream_end_run(s);
	rtp_seq_counters(&s->seq, ret);
}

bool rtp_stream_validated(struct rtp_stream *s)
{
	rtp_stream_end_run(s);
	return s->strict.valid;
}

bool rtp_stream_report(struct rtp_stream *s, struct rtcp_report *ret)
{
	rtp_stream_end_run(s);
	if (!s->strict.valid)
		return false;
	*ret = (struct rtcp_report){
		.ssrc = s->ssrc,
		.fraction_lost = rtp_strict_fraction(&s->strict),
		.lost = rtp_strict_lost_24bit(&s->strict),
		.ext_max = rtp_strict_ext_max(&s->strict),
		.jitter_ticks = rtp_timing_jitter_ticks(&s->timing),
	};
	return true;
}
