/* RTCP: when a report is due, and its content. */
#include "base/clock.h"
#include "media/analysis/rtp_header.h"
#include "media/tx/tx_internal.h"

#include <errno.h>

/* IPv4 and UDP headers, which RFC 3550 section 6.2 counts */
#define UDP_IP_BYTES 28
/* Assumed size for the first interval: SR, one block, SDES (section 6.3.2:
 * "probable" size) */
#define FIRST_COMPOUND_BYTES 110.0
/* The analysis answers within its delay. Without an answer the report is sent
 * without report blocks. */
#define ANSWER_MAX_NS (300 * NS_PER_MS)
/* The same for the last report. A peer like us may receive for only 120 ms
 * after its own end (rx_linger.h). */
#define LEAVE_MAX_NS (110 * NS_PER_MS)

/* Reports that become due within this time are sent in one wake-up. */
#define REPORT_STEP_NS (5 * NS_PER_MS)

static double random_unit(struct tx_session *s)
{
	/* xorshift64*, Vigna 2016: no system call in this thread */
	s->random ^= s->random >> 12;
	s->random ^= s->random << 25;
	s->random ^= s->random >> 27;
	return (double)((s->random * 0x2545f4914f6cdd1du) >> 11) /
	       9007199254740992.0; /* 2^53 */
}

static bool is_sender(const struct tx_session *s)
{
	/* RTP was sent since the last report but one (sections 6.4, 6.3.8) */
	return s->packets > s->packets_reported[1];
}

/* Mean payload of the packets sent, or of the next ones, in bytes. */
static double payload_mean(const struct tx_session *s)
{
	if (s->packets > 0)
		return (double)s->payload_bytes / (double)s->packets;
	if (s->stream_bytes == 0 && clip_has(s->clip, s->clip_at, 1))
		return s->clip->frames[s->clip_at].bytes;
	return (double)s->stream_bytes;
}

static int64_t rtcp_interval(const struct tx *t, struct tx_session *s)
{
	bool we_sent = is_sender(s);
	double packets_per_s = 1000.0 / s->ptime_ms;
	double bytes = RTP_HEADER_BYTES + UDP_IP_BYTES + payload_mean(s);
	struct rtcp_interval_params p = {
		.members = s->members,
		.senders = s->peer_senders + (we_sent ? 1 : 0),
		.we_sent = we_sent,
		.initial = !s->rtcp_sent,
		.average_bytes = s->average_bytes,
		.session_kbps = 2 * packets_per_s * bytes * 8 / 1000,
		.fixed_ms = t->p.rtcp_interval_ms,
	};

	return rtcp_interval_ns(&p, random_unit(s));
}

static struct rtcp_sender_info sender_info(const struct tx *t,
					   const struct tx_session *s,
					   int64_t now_ns)
{
	/* RTP timestamp of now, from that of the next packet */
	int64_t ahead_ns = s->due_ns - now_ns;
	int64_t ahead_ticks = ahead_ns * s->clock_hz / NS_PER_S;

	return (struct rtcp_sender_info){
		.ntp = rtcp_ntp(now_ns + t->p.ntp_offset_ns),
		.rtp_ts = s->ts - (uint32_t)ahead_ticks,
		.packets = (uint32_t)s->packets,
		.octets = (uint32_t)s->payload_bytes,
	};
}

static void reports_fill(struct rtcp_compound *c,
			 const struct report_answer *answer, int64_t now_ns)
{
	for (uint32_t i = 0; i < answer->block_count; i++) {
		const struct report_block *block = &answer->blocks[i];
		struct rtcp_report *report = &c->reports[c->report_count++];

		*report = block->report;
		/* LSR 0 if the last SR is too old for a DLSR, which happens if
		 * the peer stopped sending long ago */
		if (report->lsr != 0 &&
		    !rtcp_delay(&report->dlsr, now_ns - block->sr_ns))
			report->lsr = 0;
	}
}

/* Select the blocks that the peer asked for (RFC 3611 section 5). */
static void xr_fill(struct rtcp_compound *c, unsigned wanted,
		    const struct report_answer *answer, int64_t now_ns)
{
	struct rtcp_xr *xr = &c->xr;

	if (answer)
		*xr = answer->xr;
	xr->has_rrtr = wanted & MEDIA_XR_RTT;
	xr->rrtr_ntp = c->sender.ntp;
	xr->has_dlrr = xr->has_dlrr && wanted & MEDIA_XR_RTT &&
		       rtcp_delay(&xr->dlrr.dlrr, now_ns - answer->rrtr_ns);
	xr->has_summary = xr->has_summary && wanted & MEDIA_XR_SUMMARY;
	if (!(wanted & MEDIA_XR_LOSS))
		xr->summary.has_loss = false;
	if (!(wanted & MEDIA_XR_DUPLICATES))
		xr->summary.has_duplicates = false;
	if (!(wanted & MEDIA_XR_JITTER))
		xr->summary.has_jitter = false;
	xr->has_voip = xr->has_voip && wanted & MEDIA_XR_VOIP;
}

/* Send a compound packet now.
 * @param answer  NULL: without report blocks */
static void tx_rtcp_send(struct tx *t, struct tx_session *s,
			 const struct report_answer *answer, bool bye)
{
	uint8_t data[RTCP_COMPOUND_BYTES + SRTCP_OVERHEAD_BYTES];
	struct rtcp_compound c = {
		.ssrc = s->ssrc,
		.has_sender = is_sender(s),
		.cname = s->cname,
		.bye = bye,
	};
	int64_t now_ns;
	size_t bytes;
	int err;

	s->path->flush(t); /* the report counts what was sent, a BYE is last */
	now_ns = clock_mono_ns();
	s->rtcp_last_ns = now_ns;
	if (s->rtcp.len == 0 || !tx_keyed(s, true))
		return;
	c.sender = sender_info(t, s, now_ns);
	if (answer)
		reports_fill(&c, answer, now_ns);
	xr_fill(&c, s->xr, answer, now_ns);
	if (bye)
		c.xr.has_rrtr = false; /* nobody would answer it */
	bytes = rtcp_compound_write(data, &c);
	err = -tx_secure(s, data, &bytes, sizeof(data), true);
	if (err == 0 && tx_transmit(s, s->rtcp_mux ? SOCKET_RTP : SOCKET_RTCP,
				    &s->rtcp, s->channel_rtcp, data, bytes) < 0)
		err = errno;
	if (err) {
		tx_refused(t, s, true, err);
	} else {
		tx_reached(t, s, true);
		s->rtcp_reached = true;
		if (s->captured)
			tx_copy(s, true, now_ns, data, bytes);
	}
	s->average_bytes += ((double)bytes + UDP_IP_BYTES - s->average_bytes) /
			    16; /* 6.3.3 */
	s->packets_reported[1] = s->packets_reported[0];
	s->packets_reported[0] = s->packets;
	s->rtcp_sent = true;
}

static void report_at(struct tx *t, struct tx_session *s, int64_t due_ns)
{
	tx_heap_set(&t->heap, s, TX_TIMER_RTCP,
		    (due_ns + REPORT_STEP_NS - 1) / REPORT_STEP_NS *
			    REPORT_STEP_NS);
}

static void rtcp_next(struct tx *t, struct tx_session *s)
{
	s->report_wanted = false;
	report_at(t, s, s->rtcp_last_ns + rtcp_interval(t, s));
}

void tx_rtcp_start(struct tx *t, struct tx_session *s, int64_t start_ns)
{
	s->members = 2; /* us and the peer */
	s->average_bytes = FIRST_COMPOUND_BYTES + UDP_IP_BYTES;
	s->rtcp_last_ns = start_ns;
	rtcp_next(t, s);
}

static void report_ask(struct tx *t, const struct tx_session *s, int64_t now_ns,
		       bool final)
{
	struct packet_record wanted = {
		.mono_ns = now_ns,
		.session = s->slot,
		.kind = PACKET_REPORT_WANTED,
		.marker_pt = final ? REPORT_FINAL : 0,
	};

	if (ring_push(t->p.sent, &wanted))
		t->sent_pushed++;
}

void tx_rtcp_leave(struct tx *t, struct tx_session *s)
{
	int64_t now_ns;

	if (!s->applied || (!s->rtcp_sent && s->packets == 0) ||
	    s->rtcp.len == 0 || !tx_keyed(s, true)) {
		tx_session_done(t, s);
		return;
	}
	now_ns = clock_mono_ns();
	s->leaving = true;
	tx_heap_set(&t->heap, s, TX_TIMER_RTCP, now_ns + LEAVE_MAX_NS);
	report_ask(t, s, now_ns, true);
}

static void bye_send(struct tx *t, struct tx_session *s,
		     const struct report_answer *answer)
{
	tx_heap_clear(&t->heap, s, TX_TIMER_RTCP);
	tx_rtcp_send(t, s, answer, true);
	tx_session_done(t, s);
}

void tx_rtcp_due(struct tx *t, struct tx_session *s, int64_t now_ns)
{
	int64_t again_ns;

	if (s->leaving) { /* no answer came */
		bye_send(t, s, NULL);
		return;
	}
	if (s->report_wanted) { /* no answer came */
		tx_rtcp_send(t, s, NULL, false);
		rtcp_next(t, s);
		return;
	}
	/* timer reconsideration: section 6.3.6 */
	again_ns = s->rtcp_last_ns + rtcp_interval(t, s);
	if (t->p.rtcp_interval_ms == 0 && again_ns > now_ns) {
		report_at(t, s, again_ns);
		return;
	}
	s->report_wanted = true;
	tx_heap_set(&t->heap, s, TX_TIMER_RTCP, now_ns + ANSWER_MAX_NS);
	report_ask(t, s, now_ns, false);
}

void tx_rtcp_answers(struct tx *t)
{
	struct report_answer answer;

	while (ring_pop(t->p.answers, &answer)) {
		struct tx_session *s = t->sessions[answer.slot];

		/* the session was stopped; another one may have the slot */
		if (!s || s->ssrc != answer.ssrc)
			continue;
		s->members = answer.members;
		s->peer_senders = answer.senders;
		if (answer.final) {
			bye_send(t, s, &answer);
		} else if (s->report_wanted) { /* otherwise it is too late */
			tx_rtcp_send(t, s, &answer, false);
			s->report_wanted = false;
			if (!s->leaving)
				rtcp_next(t, s);
		}
	}
}
