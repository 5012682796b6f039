#include "media/measure/measure_session.h"

#include "base/str.h"

#include <string.h>

static void stray_add(struct measure_session *a, uint64_t packets,
		      uint64_t bytes)
{
	a->stray_packets += packets;
	a->stray_bytes += bytes;
}

static void outside_add(struct measure_session *a, bool outgoing,
			const struct packet_record *r)
{
	a->outside[outgoing].packets++;
	a->outside[outgoing].bytes +=
		(uint64_t)r->header_bytes + r->payload_bytes;
}

/* The second that is closed has them. */
static void outside_take(struct measure_session *a, bool outgoing,
			 struct stream_second *ret)
{
	ret->outside_packets = a->outside[outgoing].packets;
	ret->outside_bytes = a->outside[outgoing].bytes;
	a->outside[outgoing] = (struct measure_outside){0};
}

/* @param i  < stream_count */
static struct measure_stream *stream_at(struct measure_session *a, size_t i)
{
	return i == 0 ? &a->first_stream : &a->seldom->further[i - 1].stream;
}

static struct rtp_rest *rest_at(struct measure_session *a, size_t i)
{
	return i == 0 ? &a->seldom->first_rest
		      : &a->seldom->further[i - 1].rest;
}

static void early_drop(struct measure_session *a)
{
	struct packet_record *early = a->seldom->early;

	/* sent packets do not count as strays of received streams */
	if (early[0].kind == PACKET_RTP_RECEIVED) {
		stray_add(a, 1,
			  (uint64_t)early[0].header_bytes +
				  early[0].payload_bytes);
		outside_add(a, false, &early[0]);
	}
	a->early_count--;
	memmove(early, early + 1, a->early_count * sizeof(early[0]));
}

/* Keep a packet until the start; the oldest is dropped if there is no room. */
void measure_session_early(struct measure_session *a,
			   const struct packet_record *r)
{
	if (a->early_count == EARLY_PACKETS_MAX)
		early_drop(a);
	a->seldom->early[a->early_count++] = *r;
}

void measure_session_never(struct measure_session *a)
{
	while (a->early_count)
		early_drop(a);
	if (a->tapped)
		memset(&a->seldom->tapped, 0, sizeof(a->seldom->tapped));
	/* packets that still arrive until the end of the session are counted
	 * there */
	rtp_sender_init(&a->sender, 0, 0, "", 0, &a->seldom->sender_rest);
}

void measure_session_srtp(struct measure_session *a,
			  const struct packet_record *r)
{
	if (r->kind == PACKET_SRTP_REPLAYED)
		a->srtp_replayed++;
	else
		a->srtp_refused++;
}

void measure_session_tapped(struct measure_session *a,
			    const struct packet_record *r)
{
	struct measure_tapped *t = &a->seldom->tapped;

	if (a->sender.packets == 0)
		rtp_sender_restart(&a->sender, r);
	if (r->ssrc == a->sender.ssrc) {
		t->other_count = 0;
		rtp_sender_update(&a->sender, r);
		return;
	}
	if (t->other_count == 0 || t->other.ssrc != r->ssrc) {
		t->other = *r;
		t->other_count = 0;
	}
	if (++t->other_count < TAPPED_SOURCE_PACKETS) {
		rtp_sender_count(&a->sender, r);
		return;
	}
	t->other_count = 0;
	rtp_sender_restart(&a->sender, &t->other);
	rtp_sender_update(&a->sender, r);
}

/* Sent audio is scored with the same E-model values as received audio. */
static void sender_payload(struct measure_session *a,
			   const struct measure_command *c)
{
	const struct rtp_payload *p = rtp_payload_map_find(c->map, c->pt);
	struct rtp_payload sent = {
		.clock_hz = c->codec->clock_hz,
		.pt = c->pt,
		.kind = RTP_PAYLOAD_AUDIO,
	};

	str_join(sent.codec, sizeof(sent.codec), c->codec->rtpmap, NULL);
	if (p)
		sent.values = p->values;
	else
		emodel_values_of(&sent.values, sent.codec, sent.clock_hz, NULL);
	rtp_sender_set_payload(&a->sender, &sent);
}

size_t measure_session_start(struct measure_session *a,
			     const struct measure_command *c,
			     struct packet_record early[EARLY_PACKETS_MAX])
{
	const struct packet_record *kept = a->seldom->early;
	size_t count;

	a->state = ANALYSIS_RUNNING;
	while (a->early_count && kept[0].mono_ns < c->head.mono_ns - EARLY_NS)
		early_drop(a);
	count = a->early_count;
	memcpy(early, kept, count * sizeof(early[0]));
	if (a->tapped)
		memset(&a->seldom->tapped, 0, sizeof(a->seldom->tapped));
	a->early_count = 0; /* from here on a->seldom->first_rest is valid */
	a->second_ns = count && early[0].mono_ns < c->head.mono_ns
			       ? early[0].mono_ns
			       : c->head.mono_ns;
	a->codec = c->codec;
	a->map = c->map;
	a->ptime_ms = c->ptime_ms;
	a->suite_in = c->suite_rx;
	a->suite_out = c->suite_tx;
	rtp_sender_init(&a->sender, a->ssrc, a->second_ns, c->codec->rtpmap,
			c->codec->clock_hz, &a->seldom->sender_rest);
	sender_payload(a, c);
	return count;
}

void measure_session_apply(struct measure_session *a,
			   const struct measure_command *c)
{
	a->map = c->map;
	for (size_t i = 0; i < a->stream_count; i++)
		rtp_stream_set_map(&stream_at(a, i)->rtp, a->map);
	sender_payload(a, c);
	a->codec = c->codec;
	a->ptime_ms = c->ptime_ms;
	a->suite_in = c->suite_rx;
	a->suite_out = c->suite_tx;
}

/* ---- combine several streams ---- */

static void second_add(struct stream_second *into,
		       const struct stream_second *from, uint64_t *most)
{
	into->packets += from->packets;
	into->bytes += from->bytes;
	into->expected += from->expected;
	into->lost += from->lost;
	into->duplicates += from->duplicates;
	into->reordered += from->reordered;
	into->has_loss |= from->has_loss;
	into->has_quality |= from->has_quality;
	into->discarded += from->discarded;
	into->burst_lost += from->burst_lost;
	into->out_of_order += from->out_of_order;
	if (from->has_rtt) {
		into->has_rtt = true;
		into->rtt_ms = from->rtt_ms;
	}
	if (from->packets <= *most)
		return;
	*most = from->packets;
	into->has_jitter = from->has_jitter;
	into->jitter_ms = from->jitter_ms;
	into->has_mos = from->has_mos;
	into->mos = from->mos;
	into->r_factor = from->r_factor;
	into->has_mos_wb = from->has_mos_wb;
	into->mos_wb = from->mos_wb;
	into->has_gap = from->has_gap;
	into->gap_ms = from->gap_ms;
}

static void total_add(struct stream_total *into,
		      const struct stream_total *from, uint64_t *most)
{
	struct stream_total sum = *into;

	sum.packets += from->packets;
	sum.bytes += from->bytes;
	sum.received += from->received;
	sum.expected += from->expected;
	sum.lost += from->lost;
	sum.duplicates += from->duplicates;
	sum.reordered += from->reordered;
	sum.stray += from->stray;
	sum.has_loss |= from->has_loss;
	sum.out_of_order += from->out_of_order;
	sum.fixed.discarded += from->fixed.discarded;
	sum.fixed.burst_lost += from->fixed.burst_lost;
	sum.adaptive.discarded += from->adaptive.discarded;
	sum.adaptive.burst_lost += from->adaptive.burst_lost;
	if (from->packets > *most) {
		*most = from->packets;
		*into = *from;
	}
	into->packets = sum.packets;
	into->bytes = sum.bytes;
	into->received = sum.received;
	into->expected = sum.expected;
	into->lost = sum.lost;
	into->duplicates = sum.duplicates;
	into->reordered = sum.reordered;
	into->stray = sum.stray;
	into->has_loss = sum.has_loss;
	into->out_of_order = sum.out_of_order;
	into->fixed.discarded = sum.fixed.discarded;
	into->fixed.burst_lost = sum.fixed.burst_lost;
	into->adaptive.discarded = sum.adaptive.discarded;
	into->adaptive.burst_lost = sum.adaptive.burst_lost;
}

/* ---- streams begin and end ---- */

/* Give up a stream: its packets remain counted, in the seconds in which they
 * arrived. */
static void stream_to_stray(struct measure_session *a,
			    struct measure_stream *stream)
{
	struct stream_second second;
	struct stream_total total;

	rtp_stream_total(&stream->rtp, &total);
	rtp_stream_close_second(&stream->rtp, a->second_ns + 1, &second);
	stray_add(a, total.packets, total.bytes);
	a->stray_packets_before += total.packets - second.packets;
	a->stray_bytes_before += total.bytes - second.bytes;
}

static void source_of(const struct measure_stream *stream,
		      const struct stream_total *total,
		      struct stream_source *ret)
{
	*ret = (struct stream_source){
		.ssrc = total->ssrc,
		.first_ns = stream->first_ns,
		.last_ns = stream->rtp.seq.max_ns,
		.packets = total->packets,
		.has_loss = total->has_loss,
		.received = total->received,
		.expected = total->expected,
		.lost = total->lost,
		.duplicates = total->duplicates,
		.loss_pct = total->loss_pct,
		.has_jitter = total->jitter_ms.n > 0,
		.jitter_avg_ms = total->jitter_ms.avg,
		.jitter_max_ms = total->jitter_ms.max,
		.has_score = total->has_score,
		.r_factor = total->r_factor,
		.mos = total->mos_total,
		.no_score_reason = total->no_score_reason,
		.score_scale = total->score_scale,
	};
	memcpy(ret->codec, total->codec, sizeof(ret->codec));
}

static void source_ended(struct measure_session *a,
			 const struct measure_stream *stream,
			 const struct stream_total *total)
{
	if (a->sources_ended_count == SESSION_SOURCES_ENDED_MAX) {
		a->sources_left_out++;
		return;
	}
	source_of(stream, total,
		  &a->seldom->sources_ended[a->sources_ended_count++]);
}

/* A stream has ended: its counts remain in the total. */
static void stream_to_ended(struct measure_session *a,
			    struct measure_stream *stream)
{
	uint64_t most = UINT64_MAX; /* sum up counters only */
	struct stream_second second;
	struct stream_total total;

	if (!a->has_ended)
		memset(&a->seldom->ended, 0, sizeof(a->seldom->ended));
	a->has_ended = true;
	rtp_quality_finish(&stream->quality);
	rtp_stream_close_second(&stream->rtp, a->second_ns + 1, &second);
	rtp_quality_close_second(&stream->quality, &second);
	second_add(&a->seldom->ended.second, &second, &most);
	rtp_stream_total(&stream->rtp, &total);
	rtp_quality_total(&stream->quality, &total);
	total_add(&a->seldom->ended.total, &total, &a->seldom->ended.most);
	source_ended(a, stream, &total);
}

/* Find the stream that was silent for the longest time.
 * @return its index; stream_count: none was silent long enough */
static uint32_t silent_find(struct measure_session *a, int64_t now_ns)
{
	int64_t last_ns = now_ns - STREAM_ENDED_NS;
	uint32_t found = a->stream_count;

	for (uint32_t i = 0; i < a->stream_count; i++) {
		/* no run is open: rtp_stream_validated() ended it */
		int64_t heard_ns = stream_at(a, i)->rtp.seq.max_ns;

		if (heard_ns > last_ns)
			continue;
		last_ns = heard_ns;
		found = i;
	}
	return found;
}

/* Find a place for another stream.
 * @return NULL: there is none */
static struct measure_stream *place_find(struct measure_session *a,
					 int64_t now_ns)
{
	uint32_t at;

	if (a->stream_count < SESSION_STREAMS_MAX) {
		a->stream_recent = a->stream_count;
		return stream_at(a, a->stream_count++);
	}
	for (at = 0; at < a->stream_count; at++) {
		if (rtp_stream_validated(&stream_at(a, at)->rtp))
			continue;
		a->stream_recent = at;
		stream_to_stray(a, stream_at(a, at));
		return stream_at(a, at);
	}
	at = silent_find(a, now_ns);
	if (at == a->stream_count)
		return NULL;
	a->stream_recent = at;
	stream_to_ended(a, stream_at(a, at));
	return stream_at(a, at);
}

/*
 * Find the stream of an SSRC, whatever its source address. A new stream takes a
 * free place, or that of a source that never sent two packets in sequence, or
 * that of a silent one. Otherwise the packet is stray: a flood of SSRCs costs
 * no memory.
 */
static struct measure_stream *streams_find(struct measure_session *a,
					   const struct packet_record *r)
{
	struct measure_stream *stream;

	for (uint32_t i = 0; i < a->stream_count; i++) {
		if (stream_at(a, i)->rtp.ssrc == r->ssrc) {
			a->stream_recent = i;
			return stream_at(a, i);
		}
	}
	stream = place_find(a, r->mono_ns);
	if (stream) {
		stream->has_sr = false;
		stream->block_ns = 0;
		stream->first_ns = r->mono_ns;
		rtp_stream_init(&stream->rtp, r->ssrc, a->second_ns, a->map,
				rest_at(a, a->stream_recent));
		rtp_quality_init(&stream->quality, &stream->rtp);
	}
	return stream;
}

void measure_session_received(struct measure_session *a,
			      const struct packet_record *r)
{
	struct measure_stream *stream = NULL;

	if (a->second_ns != 0)
		stream = streams_find(a, r);
	if (stream)
		rtp_stream_update(&stream->rtp, r);
	else
		stray_add(a, 1, (uint64_t)r->header_bytes + r->payload_bytes);
}

void measure_session_late(struct measure_session *a,
			  const struct packet_record *r, bool outgoing)
{
	if (r->mono_ns >= a->stop_ns)
		outside_add(a, outgoing, r);
}

/* Add a round-trip time of the path to every stream, whichever the seconds and
 * the total will be about. */
static void add_rtt(struct measure_session *a, double rtt_ms)
{
	for (size_t i = 0; i < a->stream_count; i++)
		rtp_stream_add_rtt(&stream_at(a, i)->rtp, rtt_ms);
}

static void source_reported(struct measure_session *a,
			    const struct rtcp_event *event)
{
	for (size_t i = 0; i < a->stream_count; i++) {
		struct measure_stream *stream = stream_at(a, i);

		if (stream->rtp.ssrc != event->ssrc)
			continue;
		stream->has_sr = true;
		stream->lsr = event->lsr;
		stream->sr_ns = event->mono_ns;
	}
}

static void rrtr_came(struct measure_session *a, const struct rtcp_event *event)
{
	a->has_rrtr = true;
	a->rrtr.ssrc = event->ssrc;
	a->rrtr.lrr = event->lsr;
	a->rrtr_ns = event->mono_ns;
}

/* Only the program knows the clock of its SRs, so the answer is compared with
 * the time at which the SR passed the tap (RFC 3550 section 6.4.1). */
static bool tapped_rtt(struct measure_session *a, uint32_t ssrc, uint32_t last,
		       uint32_t delay, int64_t mono_ns, double *ret_rtt_ms)
{
	if (!rtcp_tap_answered(&a->seldom->tapped.rtcp, ssrc, last, delay,
			       mono_ns, ret_rtt_ms))
		return false;
	if (*ret_rtt_ms < 0) {
		a->sender.negative_rtt++;
		return false;
	}
	rtp_sender_add_rtt(&a->sender, *ret_rtt_ms);
	return true;
}

/* @return true: it gave a round-trip time */
static bool report_came(struct measure_session *a,
			const struct rtcp_event *event, uint32_t received_ntp,
			double *ret_rtt_ms)
{
	struct rtcp_report report = event->u.report;

	if (a->tapped)
		report.lsr = 0;
	if (rtp_sender_report(&a->sender, event->ssrc, &report, event->mono_ns,
			      received_ntp, ret_rtt_ms))
		return true;
	return a->tapped && tapped_rtt(a, report.ssrc, event->u.report.lsr,
				       report.dlsr, event->mono_ns, ret_rtt_ms);
}

static bool dlrr_came(struct measure_session *a, const struct rtcp_event *event,
		      uint32_t received_ntp, double *ret_rtt_ms)
{
	const struct rtcp_dlrr *dlrr = &event->u.dlrr;

	if (a->tapped)
		return tapped_rtt(a, dlrr->ssrc, dlrr->lrr, dlrr->dlrr,
				  event->mono_ns, ret_rtt_ms);
	return rtp_sender_dlrr(&a->sender, dlrr, received_ntp, ret_rtt_ms);
}

void measure_session_rtcp(struct measure_session *a,
			  const struct rtcp_event *event, uint32_t received_ntp)
{
	double rtt_ms;

	switch (event->kind) {
	case RTCP_EVENT_SEEN:
		break;
	case RTCP_EVENT_SENDER:
		source_reported(a, event);
		break;
	case RTCP_EVENT_REPORT:
		if (report_came(a, event, received_ntp, &rtt_ms))
			add_rtt(a, rtt_ms);
		break;
	case RTCP_EVENT_RRTR:
		rrtr_came(a, event);
		break;
	case RTCP_EVENT_DLRR:
		if (dlrr_came(a, event, received_ntp, &rtt_ms))
			add_rtt(a, rtt_ms);
		break;
	case RTCP_EVENT_VOIP:
		remote_voip_take(&a->sender.remote, &event->u.voip);
		break;
	case RTCP_EVENT_SUMMARY:
		rtp_sender_summary(&a->sender, event->ssrc, &event->u.summary);
		break;
	case RTCP_EVENT_TAPPED_SENT:
		rtcp_tap_sent(&a->seldom->tapped.rtcp, event->ssrc, event->lsr,
			      event->mono_ns);
		break;
	}
}

/* XR blocks about the stream that received last, if it has a report block. TX
 * removes those that the peer did not ask for. */
static void xr_report(struct measure_session *a, bool recent_block,
		      struct report_answer *ret)
{
	struct measure_stream *recent = stream_at(a, a->stream_recent);
	struct rtcp_xr *xr = &ret->xr;

	if (a->has_rrtr) {
		xr->has_dlrr = true;
		xr->dlrr = a->rrtr;
		ret->rrtr_ns = a->rrtr_ns;
		a->has_rrtr = false;
	}
	if (!recent_block)
		return;
	xr->has_summary = rtp_quality_summary(&recent->quality, &xr->summary);
	xr->has_voip = true;
	rtp_quality_voip(&recent->quality, &xr->voip);
}

_Static_assert(SESSION_STREAMS_MAX <= RTCP_REPORTS_MAX,
	       "there is a block for every source");

/* @return false: the source is in probation (RFC 3550 appendix A.1) */
static bool block_add(struct measure_stream *stream, struct report_answer *ret)
{
	struct report_block *block = &ret->blocks[ret->block_count];

	if (!rtp_stream_report(&stream->rtp, &block->report))
		return false;
	block->report.lsr = stream->has_sr ? stream->lsr : 0;
	block->report.dlsr = 0;
	block->sr_ns = stream->has_sr ? stream->sr_ns : 0;
	stream->block_ns = stream->rtp.seq.max_ns;
	ret->block_count++;
	return true;
}

/* RFC 3550 section 6.4: one block for each source heard since the last report.
 * The block about the source heard last comes first, and is sent even if it was
 * silent since: during hold the peer measures the round-trip time with it. */
void measure_session_report(struct measure_session *a,
			    struct report_answer *ret)
{
	bool recent_block = false;

	for (size_t i = 0; i < a->stream_count; i++) {
		if (rtp_stream_validated(&stream_at(a, i)->rtp))
			ret->senders++;
	}
	/* a peer that sends nothing is a member, too */
	ret->members = 1 + (ret->senders > 0 ? ret->senders : 1);
	if (a->stream_count > 0)
		recent_block = block_add(stream_at(a, a->stream_recent), ret);
	for (uint32_t i = 0; i < a->stream_count; i++) {
		struct measure_stream *stream = stream_at(a, i);

		/* no run is open: rtp_stream_validated() ended it */
		if (i != a->stream_recent &&
		    stream->rtp.seq.max_ns != stream->block_ns)
			(void)block_add(stream, ret);
	}
	xr_report(a, recent_block, ret);
}

void measure_session_close_in(struct measure_session *a, int64_t end_ns,
			      struct stream_second *ret)
{
	uint64_t most = 0;

	if (a->has_ended) {
		*ret = a->seldom->ended.second;
		memset(&a->seldom->ended.second, 0, sizeof(*ret));
	} else {
		memset(ret, 0, sizeof(*ret));
	}
	ret->start_ns = a->second_ns;
	ret->duration_ns = end_ns - a->second_ns;
	for (size_t i = 0; i < a->stream_count; i++) {
		struct stream_second second;

		rtp_stream_close_second(&stream_at(a, i)->rtp, end_ns, &second);
		rtp_quality_close_second(&stream_at(a, i)->quality, &second);
		second_add(ret, &second, &most);
	}
	ret->packets += a->stray_packets - a->stray_packets_before;
	ret->bytes += a->stray_bytes - a->stray_bytes_before;
	outside_take(a, false, ret);
	ret->has_srtp = a->suite_in != NULL;
	ret->srtp_refused = a->srtp_refused - a->srtp_refused_before;
	ret->srtp_replayed = a->srtp_replayed - a->srtp_replayed_before;
	a->srtp_refused_before = a->srtp_refused;
	a->srtp_replayed_before = a->srtp_replayed;
	a->stray_packets_before = a->stray_packets;
	a->stray_bytes_before = a->stray_bytes;
	a->published_in += ret->packets;
	a->published_out = a->sender.packets;
}

void measure_session_close_out(struct measure_session *a, int64_t end_ns,
			       struct stream_second *ret)
{
	rtp_sender_close_second(&a->sender, end_ns, ret);
	outside_take(a, true, ret);
}

void measure_session_finish(struct measure_session *a)
{
	for (size_t i = 0; i < a->stream_count; i++)
		rtp_quality_finish(&stream_at(a, i)->quality);
}

bool measure_session_second_open(struct measure_session *a)
{
	uint64_t packets = a->stray_packets;
	bool open = false;

	if (a->has_ended) {
		packets += a->seldom->ended.total.packets;
		open = a->seldom->ended.second.has_quality;
	}
	for (size_t i = 0; i < a->stream_count; i++) {
		struct rtp_counters counters;

		rtp_stream_counters(&stream_at(a, i)->rtp, &counters);
		packets += counters.packets;
		open |= rtp_quality_is_open(&stream_at(a, i)->quality);
	}
	return open || packets != a->published_in ||
	       a->srtp_refused != a->srtp_refused_before ||
	       a->srtp_replayed != a->srtp_replayed_before ||
	       a->sender.packets != a->published_out ||
	       /* the report that came with the peer's BYE */
	       a->sender.has_report_second;
}

/* Ended sources first, then the present ones. */
static int64_t source_first_ns(struct measure_session *a, uint32_t i)
{
	return i < a->sources_ended_count
		       ? a->seldom->sources_ended[i].first_ns
		       : stream_at(a, i - a->sources_ended_count)->first_ns;
}

bool measure_session_source(struct measure_session *a, uint32_t n,
			    struct stream_source *ret)
{
	uint32_t count = a->sources_ended_count + a->stream_count;
	struct stream_total total;
	struct measure_stream *stream;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t before = 0;

		for (uint32_t k = 0; k < count; k++) {
			int64_t later_ns =
				source_first_ns(a, k) - source_first_ns(a, i);

			before += later_ns < 0 || (later_ns == 0 && k < i);
		}
		if (before != n)
			continue;
		if (i < a->sources_ended_count) {
			*ret = a->seldom->sources_ended[i];
			return true;
		}
		stream = stream_at(a, i - a->sources_ended_count);
		rtp_stream_total(&stream->rtp, &total);
		source_of(stream, &total, ret);
		return true;
	}
	return false;
}

void measure_session_total_in(struct measure_session *a,
			      struct stream_total *ret)
{
	uint64_t most = 0;

	memset(ret, 0, sizeof(*ret));
	if (a->has_ended) {
		*ret = a->seldom->ended.total;
		most = a->seldom->ended.most;
	}
	if (most == 0) {
		ret->burst_ratio = 1;
		ret->no_score_reason = "no packets received";
	}
	for (size_t i = 0; i < a->stream_count; i++) {
		struct stream_total total;

		rtp_stream_total(&stream_at(a, i)->rtp, &total);
		rtp_quality_total(&stream_at(a, i)->quality, &total);
		total_add(ret, &total, &most);
	}
	ret->packets += a->stray_packets;
	ret->bytes += a->stray_bytes;
	ret->stray += a->stray_packets;
	ret->sources_left_out = a->sources_left_out;
	ret->srtp_suite = a->suite_in;
	ret->srtp_refused = a->srtp_refused;
	ret->srtp_replayed = a->srtp_replayed;
	if (ret->expected > 0)
		ret->loss_pct =
			100.0 * (double)ret->lost / (double)ret->expected;
}
