/* The sent side of stream.h. */
#include "media/analysis/stream.h"

#include <string.h>

#include "base/clock.h"

/* Packets on their way, or sent since the report was written. */
#define REPORT_SLACK 100
/* No round trip takes that long: a peer that names a time we never sent. */
#define RTT_MAX_NS (60 * NS_PER_S)

void rtp_sender_init(struct rtp_sender *s, uint32_t ssrc, int64_t start_ns,
		     const char *codec, uint32_t clock_hz)
{
	memset(s, 0, sizeof(*s));
	s->ssrc = ssrc;
	s->second_start_ns = start_ns;
	s->lateness_us = INT32_MIN;
	s->lateness_max_us = INT32_MIN;
	rtp_sender_set_codec(s, codec, clock_hz);
}

void rtp_sender_set_codec(struct rtp_sender *s, const char *codec,
			  uint32_t clock_hz)
{
	size_t n = strnlen(codec, sizeof(s->codec_name) - 1);
	struct emodel_values values;

	memcpy(s->codec_name, codec, n);
	memset(s->codec_name + n, 0, sizeof(s->codec_name) - n);
	s->clock_hz = clock_hz;
	emodel_values_of(&values, codec, clock_hz, NULL);
	rtp_sender_set_values(s, &values);
}

void rtp_sender_set_values(struct rtp_sender *s,
			   const struct emodel_values *values)
{
	rtp_score_set(&s->score, values);
}

void rtp_sender_update(struct rtp_sender *s, const struct packet_record *r)
{
	if (!s->has_first) {
		s->has_first = true;
		s->first_seq = r->seq;
	}
	s->packets++;
	s->bytes += (uint64_t)r->header_bytes + r->payload_bytes;
	s->payload_bytes += r->payload_bytes;
	if (r->lateness_us > s->lateness_us)
		s->lateness_us = r->lateness_us;
}

/* Packets between this report and the one before, as the peer counts them.
 * Its cycle count need not be right, so 16 bits are the second try.
 * Returns false if it cannot be. */
static bool report_expected(const struct rtp_sender *s,
			    const struct rtcp_report *report, uint32_t *ret)
{
	uint64_t most = s->packets - s->report_packets + REPORT_SLACK;
	uint32_t step;

	if (!s->has_first)
		return false;
	if (!s->has_report) {
		/* the peer's cycles start with its first packet */
		step = (uint32_t)(uint16_t)(report->ext_max - s->first_seq) + 1;
		*ret = step;
		return step <= most;
	}
	step = report->ext_max - s->report_ext_max;
	if (step > most)
		step = (uint16_t)step;
	*ret = step;
	return step <= most;
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
	s->has_rtt = true;
	s->rtt_ms = (double)rtt_ns / 1e6;
	histogram_add(&s->rtt, s->rtt_ms);
	*ret_rtt_ms = s->rtt_ms;
	return true;
}

bool rtp_sender_report(struct rtp_sender *s, const struct rtcp_report *report,
		       uint32_t received_ntp, double *ret_rtt_ms)
{
	uint32_t expected;
	int64_t lost;

	if (report->ssrc != s->ssrc || !report_expected(s, report, &expected)) {
		s->invalid_reports++;
		return false;
	}
	lost = (int64_t)report->lost - s->report_lost;
	if (lost <= (int64_t)expected) {
		s->expected += expected;
		s->lost += lost;
		s->second_expected += expected;
		s->second_lost += lost;
	} else {
		s->invalid_reports++;
	}
	s->has_report = true;
	s->has_report_second = true;
	s->report_lost = report->lost;
	s->report_ext_max = report->ext_max;
	s->report_packets = s->packets;
	if (s->clock_hz > 0) {
		s->report_jitter_ms =
			report->jitter_ticks * 1000.0 / s->clock_hz;
		histogram_add(&s->jitter, s->report_jitter_ms);
	}
	return take_rtt(s, received_ntp, report->lsr, report->dlsr, ret_rtt_ms);
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

void rtp_sender_close_second(struct rtp_sender *s, int64_t end_ns,
			     struct stream_second *ret)
{
	*ret = (struct stream_second){
		.start_ns = s->second_start_ns,
		.duration_ns = end_ns - s->second_start_ns,
		.packets = s->packets - s->packets_before,
		.bytes = s->bytes - s->bytes_before,
		.expected = s->second_expected,
		.lost = s->second_lost,
		.has_loss = s->has_report_second,
		.has_jitter = s->has_report_second && s->clock_hz > 0,
		.jitter_ms = s->report_jitter_ms,
		.has_rtt = s->has_rtt,
		.rtt_ms = s->rtt_ms,
		.has_lateness = s->packets > s->packets_before,
		.lateness_ms = s->lateness_us / 1000.0,
	};
	ret->has_mos = rtp_score_second(
		&s->score, s->has_report_second, (int64_t)s->second_expected,
		s->second_lost, &ret->r_factor, &ret->mos);
	ret->has_mos_wb =
		ret->has_mos &&
		score_mos_wb(s->score.last, ret->r_factor, &ret->mos_wb);
	remote_close_second(&s->remote, ret);
	s->packets_before = s->packets;
	s->bytes_before = s->bytes;
	s->second_expected = 0;
	s->second_lost = 0;
	s->has_report_second = false;
	s->has_rtt = false;
	if (s->lateness_us > s->lateness_max_us)
		s->lateness_max_us = s->lateness_us;
	s->lateness_us = INT32_MIN;
	s->second_start_ns = end_ns;
}

void rtp_sender_total(const struct rtp_sender *s, struct stream_total *ret)
{
	struct score score;

	*ret = (struct stream_total){
		.ssrc = s->ssrc,
		.clock_hz = s->clock_hz,
		.packets = s->packets,
		.bytes = s->bytes,
		.has_loss = s->has_report && s->expected > 0,
		.expected = s->expected,
		.lost = s->lost,
		.burst_ratio = 1.0, /* a report does not say */
		.has_lateness = s->lateness_max_us != INT32_MIN,
		.lateness_max_ms = s->lateness_max_us / 1000.0,
	};
	memcpy(ret->codec, s->codec_name, sizeof(ret->codec));
	distribution_of_histogram(&ret->jitter_ms, &s->jitter);
	distribution_of_histogram(&ret->rtt_ms, &s->rtt);
	mos_histogram_distribution(&ret->mos, &s->score.mos);
	remote_total(&s->remote, ret);
	if (!ret->has_loss) {
		ret->no_score_reason = "no report of the peer";
		return;
	}
	ret->received = s->lost > (int64_t)s->expected
				? 0
				: (uint64_t)((int64_t)s->expected - s->lost);
	ret->loss_pct = 100.0 * (double)s->lost / (double)s->expected;
	score_rate_values(&score, &s->score.values, ret->loss_pct, 1.0, 0.0);
	score_total(&score, ret);
}
