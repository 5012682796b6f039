/* The sent side of stream.h. */
#include "media/analysis/stream.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"

/* Packets in transit, or sent since the report was written. */
#define REPORT_SLACK 100
/* No round trip takes this long: the peer refers to a time at which we sent
 * nothing. */
#define RTT_MAX_NS (60 * NS_PER_S)
#define PT_ANY     255

void rtp_sender_init(struct rtp_sender *s, uint32_t ssrc, int64_t start_ns,
		     const char *codec, uint32_t clock_hz,
		     struct rtp_rest *rest)
{
	struct emodel_values values;

	memset(s, 0, offsetof(struct rtp_sender, counts));
	count_parts_init(&s->counts, rest->parts);
	codec_count_init(&s->codecs, rest->codecs);
	s->rest = rest;
	s->ssrc = ssrc;
	s->second_start_ns = start_ns;
	s->lateness_us = INT32_MIN;
	s->lateness_max_us = INT32_MIN;
	s->audio_pt = PT_ANY;
	s->before_pt = PT_ANY;
	s->clock_hz = clock_hz;
	emodel_values_of(&values, codec, clock_hz, NULL);
	codec_count_enter(&s->codecs, codec, clock_hz, 0, &values);
	rtp_score_set(&s->score, &values);
}

/* Count the audio packets of the codec so far. */
static void count_audio(struct rtp_sender *s)
{
	codec_count_add(&s->codecs, s->audio_packets - s->audio_counted);
	s->audio_counted = s->audio_packets;
}

/* Sequence numbers used so far by the present source. A packet that the kernel
 * refused keeps its number, but is not in `packets`. */
static uint64_t numbers_used(const struct rtp_sender *s)
{
	return s->has_first ? (uint64_t)(s->last_ext - s->first_seq + 1) : 0;
}

/* Add the rate of a source's loss to that of the second. The time of reports
 * that follow each other within less than STREAM_RATE_NS_MIN is added to that
 * of the next one. */
static void rate_take(struct rtp_sender *s, struct rtp_reporter *r)
{
	int64_t span_ns = r->reported_ns - r->rate_from_ns;

	if (span_ns < STREAM_RATE_NS_MIN)
		return;
	s->has_second_rate = true;
	s->second_rate += (double)r->rate_lost * NS_PER_S / (double)span_ns;
	r->rate_lost = 0;
	r->rate_from_ns = r->reported_ns;
}

static void rates_take(struct rtp_sender *s)
{
	for (size_t i = 0; i < s->reporter_count; i++)
		rate_take(s, &s->reporters[i]);
}

/* Its sequence numbers begin with this packet. */
static void numbers_begin(struct rtp_sender *s, const struct packet_record *r)
{
	s->has_first = true;
	s->first_seq = r->seq;
	s->last_ext = r->seq;
	s->first_ns = r->mono_ns;
}

void rtp_sender_restart(struct rtp_sender *s, const struct packet_record *first)
{
	rates_take(s);
	s->numbers_before += numbers_used(s);
	s->ssrc = first->ssrc;
	numbers_begin(s, first);
	s->has_report = false;
	s->reporter_count = 0;
	s->reporter_last = 0;
}

void rtp_sender_set_payload(struct rtp_sender *s, const struct rtp_payload *p)
{
	if (s->packets == 0)
		codec_count_init(&s->codecs, s->rest->codecs);
	count_audio(s);
	if (s->audio_pt != p->pt) {
		s->before_pt = s->audio_pt;
		s->before_codec = s->codecs.current;
	}
	codec_count_enter(&s->codecs, p->codec, p->clock_hz, p->pt, &p->values);
	s->audio_pt = p->pt;
	s->clock_hz = p->clock_hz;
	if (s->codecs.count == 1)
		rtp_score_set(&s->score, &p->values);
}

/* A packet with another payload type than the negotiated one. */
static void other_payload(struct rtp_sender *s, uint8_t pt)
{
	if (s->audio_pt == PT_ANY)
		s->audio_packets++;
	else if (s->before_pt == pt && s->before_codec < s->codecs.count)
		codec_count_at(&s->codecs, s->before_codec)->packets++;
}

void rtp_sender_count(struct rtp_sender *s, const struct packet_record *r)
{
	s->packets++;
	s->bytes += (uint64_t)r->header_bytes + r->payload_bytes;
	s->payload_bytes += r->payload_bytes;
	if (packet_pt(r) == s->audio_pt)
		s->audio_packets++;
	else
		other_payload(s, packet_pt(r));
	if (r->lateness_us > s->lateness_us)
		s->lateness_us = r->lateness_us;
}

void rtp_sender_update(struct rtp_sender *s, const struct packet_record *r)
{
	int16_t ahead;

	if (!s->has_first)
		numbers_begin(s, r);
	ahead = (int16_t)(r->seq - (uint16_t)s->last_ext);
	if (ahead > 0)
		s->last_ext += ahead;
	rtp_sender_count(s, r);
}

/* @return NULL: this source has not reported yet */
static struct rtp_reporter *reporter_find(struct rtp_sender *s, uint32_t ssrc)
{
	for (size_t i = 0; i < s->reporter_count; i++) {
		if (s->reporters[i].ssrc == ssrc)
			return &s->reporters[i];
	}
	return NULL;
}

/* A new source continues where the last one stopped: it knows nothing of
 * earlier packets, and later ones that it missed are in its own count. */
static struct rtp_reporter reporter_begin(const struct rtp_sender *s,
					  uint32_t ssrc)
{
	const struct rtp_reporter *last = &s->reporters[s->reporter_last];
	int64_t from_ns = s->has_report ? last->reported_ns : s->first_ns;

	return (struct rtp_reporter){
		.ssrc = ssrc,
		.reported_ns = from_ns,
		.rate_from_ns = from_ns,
		.ext_max = s->has_report ? last->ext_max
					 : (uint32_t)s->first_seq - 1,
		.reached = s->has_report ? last->reached : 0,
	};
}

/* Find a free place, or that of the source that reported longest ago. */
static struct rtp_reporter *reporter_place(struct rtp_sender *s)
{
	struct rtp_reporter *place = &s->reporters[0];

	if (s->reporter_count < RTP_REPORTERS_MAX)
		return &s->reporters[s->reporter_count++];
	for (size_t i = 1; i < s->reporter_count; i++) {
		if (s->reporters[i].reports < place->reports)
			place = &s->reporters[i];
	}
	rate_take(s, place);
	return place;
}

/* Packets between this report and the previous one, as the peer counts them.
 * Its cycle count may be wrong: then only 16 bits are used.
 * @return false: impossible values */
static bool report_expected(const struct rtp_sender *s,
			    const struct rtp_reporter *r,
			    const struct rtcp_report *report, uint32_t *ret)
{
	/* `reached` is at most this, by every report accepted before */
	uint64_t most = numbers_used(s) + REPORT_SLACK - r->reached;
	uint32_t step = report->ext_max - r->ext_max;

	/* the cycles of the first report count from the first packet */
	if (step > most)
		step = (uint16_t)step;
	*ret = step;
	return s->has_first && step <= most;
}

/* Packets lost since the previous report. With duplicates it is negative, at
 * most by the number of packets: below that the source has restarted its
 * count. */
static int64_t report_lost(const struct rtp_reporter *r, int32_t lost,
			   uint32_t expected)
{
	int64_t step = (int64_t)lost - r->lost;

	return step < -(int64_t)expected - REPORT_SLACK ? lost : step;
}

/* @param later  the first block of a source after blocks of others: it may
 *               cover the same packets */
static void take_loss(struct rtp_sender *s, struct rtp_reporter *r, bool later,
		      uint32_t expected, int64_t lost, int64_t mono_ns)
{
	r->step_expected = 0;
	r->step_lost = 0;
	if (lost > (int64_t)expected) {
		s->invalid_reports += !later;
		/* the time whose loss is unknown is in no rate */
		r->rate_from_ns += mono_ns - r->reported_ns;
		return;
	}
	r->rate_lost += lost;
	r->step_expected = expected;
	r->step_lost = lost;
	r->since_expected += expected;
	r->since_lost += lost;
	s->expected += expected;
	s->lost += lost;
	s->second_expected += expected;
	s->second_lost += lost;
	s->has_loss_second = true;
}

void rtp_sender_add_rtt(struct rtp_sender *s, double rtt_ms)
{
	s->has_rtt = true;
	s->rtt_ms = rtt_ms;
	sparse_histogram_add(&s->rtt, &s->counts, rtt_ms);
}

static bool take_rtt(struct rtp_sender *s, uint32_t received_ntp, uint32_t last,
		     uint32_t delay, double *ret_rtt_ms)
{
	int64_t rtt_ns;

	if (rtcp_rtt_ns(&rtt_ns, received_ntp, last, delay)) {
		s->negative_rtt += last != 0;
		return false;
	}
	if (rtt_ns > RTT_MAX_NS) {
		s->invalid_reports++;
		return false;
	}
	*ret_rtt_ms = (double)rtt_ns / 1e6;
	rtp_sender_add_rtt(s, *ret_rtt_ms);
	return true;
}

bool rtp_sender_report(struct rtp_sender *s, uint32_t reporter,
		       const struct rtcp_report *report, int64_t mono_ns,
		       uint32_t received_ntp, double *ret_rtt_ms)
{
	struct rtp_reporter *place = reporter_find(s, reporter);
	struct rtp_reporter next = place ? *place : reporter_begin(s, reporter);
	bool later = !place && s->has_report; /* later than other sources */
	uint32_t expected;

	if (report->ssrc != s->ssrc ||
	    !report_expected(s, &next, report, &expected)) {
		s->invalid_reports++;
		return false;
	}
	take_loss(s, &next, later, expected,
		  report_lost(&next, report->lost, expected), mono_ns);
	next.reported_ns = mono_ns;
	next.lost = report->lost;
	next.reached += expected;
	next.ext_max = report->ext_max;
	next.reports = ++s->reports;
	if (!place)
		place = reporter_place(s);
	*place = next;
	s->reporter_last = (size_t)(place - s->reporters);
	s->has_report = true;
	s->has_report_second = true;
	if (s->clock_hz > 0) {
		s->report_jitter_ms =
			report->jitter_ticks * 1000.0 / s->clock_hz;
		sparse_histogram_add(&s->jitter, &s->counts,
				     s->report_jitter_ms);
	}
	return take_rtt(s, received_ntp, report->lsr, report->dlsr, ret_rtt_ms);
}

/* Does the summary cover the same numbers as the report blocks since the last
 * summary, since the beginning, or as the last block? */
static bool summary_fits(const struct rtp_reporter *r,
			 const struct rtcp_stat_summary *n,
			 uint64_t *ret_expected, int64_t *ret_lost)
{
	uint16_t numbers = (uint16_t)(n->end_seq - n->begin_seq);
	bool goes_on = r->summarised && n->begin_seq == r->summary_end;
	/* the first block counts from the first packet received, which may not
	 * be the first one sent */
	bool begins = !r->summarised &&
		      r->since_expected <= (uint64_t)numbers + REPORT_SLACK;

	if (numbers == 0 || n->end_seq != (uint16_t)(r->ext_max + 1))
		return false;
	if ((goes_on || begins) && r->since_expected >= numbers) {
		*ret_expected = r->since_expected;
		*ret_lost = r->since_lost;
		return true;
	}
	*ret_expected = r->step_expected;
	*ret_lost = r->step_lost;
	return r->step_expected == numbers;
}

static void summary_take_loss(struct rtp_sender *s, struct rtp_reporter *r,
			      const struct rtcp_stat_summary *n)
{
	uint64_t expected = 0;
	int64_t reported = 0;
	int64_t lost;

	if (summary_fits(r, n, &expected, &reported)) {
		/* without loss flag: add the loss that duplicates hid in the
		 * block */
		lost = n->has_loss ? n->lost : reported + n->duplicates;
		if (lost <= (int64_t)expected) {
			s->lost += lost - reported;
			s->second_lost += lost - reported;
			r->rate_lost += lost - reported;
			s->expected_xr += expected;
		}
	}
	r->since_expected = 0;
	r->since_lost = 0;
	r->step_expected = 0;
	r->step_lost = 0;
	r->summarised = true;
	r->summary_end = n->end_seq;
}

void rtp_sender_summary(struct rtp_sender *s, uint32_t reporter,
			const struct rtcp_stat_summary *summary)
{
	struct rtp_reporter *r = reporter_find(s, reporter);

	if (!remote_summary_take(&s->remote, summary, s->clock_hz,
				 s->numbers_before + numbers_used(s)))
		return;
	if (summary->has_duplicates) {
		s->has_duplicates = true;
		s->duplicates += summary->duplicates;
	}
	if (r && (summary->has_loss || summary->has_duplicates))
		summary_take_loss(s, r, summary);
}

bool rtp_sender_dlrr(struct rtp_sender *s, const struct rtcp_dlrr *dlrr,
		     uint32_t received_ntp, double *ret_rtt_ms)
{
	if (dlrr->ssrc != s->ssrc) {
		s->invalid_reports++;
		return false;
	}
	return take_rtt(s, received_ntp, dlrr->lrr, dlrr->dlrr, ret_rtt_ms);
}

/* Packets covered by the reports of this second are scored with the codec of
 * most of them. */
static void score_codec(struct rtp_sender *s)
{
	const struct codec_count_entry *codec;

	count_audio(s);
	codec = codec_count_interval(&s->codecs);
	if (codec && !emodel_values_equal(&codec->values, &s->score.values))
		rtp_score_set(&s->score, &codec->values);
}

void rtp_sender_close_second(struct rtp_sender *s, int64_t end_ns,
			     struct stream_second *ret)
{
	rates_take(s);
	*ret = (struct stream_second){
		.start_ns = s->second_start_ns,
		.duration_ns = end_ns - s->second_start_ns,
		.packets = s->packets - s->packets_before,
		.bytes = s->bytes - s->bytes_before,
		.expected = s->second_expected,
		.lost = s->second_lost,
		.has_loss = s->has_loss_second,
		.has_lost_rate = s->has_second_rate,
		.lost_per_s = s->second_rate,
		.has_jitter = s->has_report_second && s->clock_hz > 0,
		.jitter_ms = s->report_jitter_ms,
		.has_rtt = s->has_rtt,
		.rtt_ms = s->rtt_ms,
		.has_lateness = s->lateness_us != INT32_MIN,
		.lateness_ms = s->lateness_us / 1000.0,
	};
	if (s->has_loss_second)
		score_codec(s);
	ret->has_mos =
		rtp_score_second(&s->score, &s->counts, s->has_loss_second,
				 (int64_t)s->second_expected, s->second_lost,
				 &ret->r_factor, &ret->mos);
	ret->has_mos_wb =
		ret->has_mos &&
		score_mos_wb(s->score.last, ret->r_factor, &ret->mos_wb);
	remote_close_second(&s->remote, ret);
	s->packets_before = s->packets;
	s->bytes_before = s->bytes;
	s->second_expected = 0;
	s->second_lost = 0;
	s->has_report_second = false;
	s->has_loss_second = false;
	s->has_second_rate = false;
	s->second_rate = 0;
	s->has_rtt = false;
	if (s->lateness_us > s->lateness_max_us)
		s->lateness_max_us = s->lateness_us;
	s->lateness_us = INT32_MIN;
	s->second_start_ns = end_ns;
}

/* How far the last report reaches, and the source of the loss. */
static void total_reports(const struct rtp_sender *s, struct stream_total *ret)
{
	const struct rtp_reporter *last = &s->reporters[s->reporter_last];
	int64_t rest = (int64_t)numbers_used(s) - (int64_t)last->reached;

	if (s->reports == 0)
		return;
	ret->lost_by = s->expected_xr == 0            ? STREAM_LOST_RR
		       : s->expected_xr < s->expected ? STREAM_LOST_RR_XR
						      : STREAM_LOST_XR;
	ret->has_duplicates = s->has_duplicates;
	ret->duplicates = s->duplicates;
	if (!s->has_report)
		return;
	ret->has_reach = true;
	ret->reporter_ssrc = last->ssrc;
	ret->reported_ext_seq = last->ext_max;
	/* a report may cover packets whose records have not arrived yet */
	ret->unreported = rest > 0 ? (uint64_t)rest : 0;
}

void rtp_sender_total(struct rtp_sender *s, struct stream_total *ret)
{
	static const struct emodel_values none;
	const struct codec_count_entry *codec = codec_count_most(
		&s->codecs, s->audio_packets - s->audio_counted);
	struct score score;

	*ret = (struct stream_total){
		.ssrc = s->ssrc,
		.packets = s->packets,
		.bytes = s->bytes,
		.has_loss = s->expected > 0,
		.expected = s->expected,
		.lost = s->lost,
		.burst_ratio = 1.0, /* not in the reports */
		.has_lateness = s->lateness_max_us != INT32_MIN,
		.lateness_max_ms = s->lateness_max_us / 1000.0,
	};
	if (codec) {
		memcpy(ret->codec, codec->name, sizeof(ret->codec));
		ret->clock_hz = codec->clock_hz;
	}
	distribution_of_sparse(&ret->jitter_ms, &s->jitter, &s->counts);
	distribution_of_sparse(&ret->rtt_ms, &s->rtt, &s->counts);
	mos_histogram_distribution(&ret->mos, &s->score.mos, &s->counts);
	remote_total(&s->remote, ret);
	total_reports(s, ret);
	if (!ret->has_loss) {
		ret->no_score_reason = "no report of the peer";
		return;
	}
	ret->received = s->lost > (int64_t)s->expected
				? 0
				: (uint64_t)((int64_t)s->expected - s->lost);
	ret->loss_pct = 100.0 * (double)s->lost / (double)s->expected;
	score_rate_values(&score, codec ? &codec->values : &none, ret->loss_pct,
			  1.0, 0.0);
	score_total(&score, ret);
}
