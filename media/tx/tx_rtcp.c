/* RTCP: when a report is due, and what stands in it. */
#include "base/clock.h"
#include "media/analysis/rtp_header.h"
#include "media/tx/tx_internal.h"

#include <errno.h>

/* IPv4 and UDP; what RFC 3550 6.2 counts as lower layers */
#define UDP_IP_BYTES 28
/* What the first interval assumes: SR, one block, SDES (6.3.2: "probable") */
#define FIRST_COMPOUND_BYTES 110.0
/* The analysis answers within its delay; a report leaves without a block
 * when it did not. */
#define ANSWER_MAX_NS (300 * NS_PER_MS)
/* The same for the last report. A peer like us may receive for only 120 ms
 * more after its own end (rx_linger.h). */
#define LEAVE_MAX_NS (110 * NS_PER_MS)

static double random_unit(struct tx_session *tx)
{
	/* xorshift64*, Vigna 2016: no system call in this thread */
	tx->random ^= tx->random >> 12;
	tx->random ^= tx->random << 25;
	tx->random ^= tx->random >> 27;
	return (double)((tx->random * 0x2545f4914f6cdd1du) >> 11) /
	       9007199254740992.0; /* 2^53 */
}

static bool is_sender(const struct tx_session *tx)
{
	/* RTP was sent since the last but one report (6.4, 6.3.8) */
	return tx->packets > tx->packets_reported[1];
}

/* Bytes of a packet: of those that were sent, or will be. */
static double payload_mean(const struct tx_session *tx)
{
	if (tx->packets > 0)
		return (double)tx->payload_bytes / (double)tx->packets;
	if (tx->stream_bytes == 0 && clip_has(tx->clip, tx->clip_at, 1))
		return tx->clip->frames[tx->clip_at].bytes;
	return (double)tx->stream_bytes;
}

static int64_t rtcp_interval(const struct media_engine *e,
			     struct media_session *s)
{
	struct tx_session *tx = &s->tx;
	bool we_sent = is_sender(tx);
	double packets_per_s = 1000.0 / tx->ptime_ms;
	double bytes = RTP_HEADER_BYTES + UDP_IP_BYTES + payload_mean(tx);
	struct rtcp_interval_params p = {
		.members = tx->members,
		.senders = tx->peer_senders + (we_sent ? 1 : 0),
		.we_sent = we_sent,
		.initial = !tx->rtcp_sent,
		.average_bytes = tx->average_bytes,
		.session_kbps = 2 * packets_per_s * bytes * 8 / 1000,
		.fixed_ms = e->params.rtcp_interval_ms,
	};

	return rtcp_interval_ns(&p, random_unit(tx));
}

static struct rtcp_sender_info sender_info(const struct media_engine *e,
					   const struct media_session *s,
					   int64_t now_ns)
{
	const struct tx_session *tx = &s->tx;
	/* the next packet's place, moved back or forth to this instant */
	int64_t ahead_ns = tx->due_ns - now_ns;
	int64_t ahead_ticks = ahead_ns * tx->clock_hz / NS_PER_S;

	return (struct rtcp_sender_info){
		.ntp = engine_ntp(e, now_ns),
		.rtp_ts = tx->ts - (uint32_t)ahead_ticks,
		.packets = (uint32_t)tx->packets,
		.octets = (uint32_t)tx->payload_bytes,
	};
}

static void reports_fill(struct rtcp_compound *c,
			 const struct report_answer *answer, int64_t now_ns)
{
	for (uint32_t i = 0; i < answer->block_count; i++) {
		const struct report_block *block = &answer->blocks[i];
		struct rtcp_report *report = &c->reports[c->report_count++];

		*report = block->report;
		/* a peer that stopped sending days ago sent no SR since */
		if (report->lsr != 0 &&
		    !rtcp_delay(&report->dlsr, now_ns - block->sr_ns))
			report->lsr = 0;
	}
}

/* The blocks that the peer asked for (RFC 3611 section 5). */
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

void tx_rtcp_send(struct media_engine *e, struct media_session *s,
		  const struct report_answer *answer, bool bye)
{
	struct tx_session *tx = &s->tx;
	uint8_t data[RTCP_COMPOUND_BYTES + SRTCP_OVERHEAD_BYTES];
	struct rtcp_compound c = {
		.ssrc = s->ssrc,
		.has_sender = is_sender(tx),
		.cname = s->cname,
		.bye = bye,
	};
	int64_t now_ns = clock_mono_ns();
	size_t bytes;
	int err;

	tx->rtcp_last_ns = now_ns;
	if (tx->rtcp.len == 0 || !tx_keyed(tx, true))
		return;
	c.sender = sender_info(e, s, now_ns);
	if (answer)
		reports_fill(&c, answer, now_ns);
	xr_fill(&c, tx->xr, answer, now_ns);
	if (bye)
		c.xr.has_rrtr = false; /* nobody would answer it any more */
	bytes = rtcp_compound_write(data, &c);
	err = -tx_secure(tx, data, &bytes, sizeof(data), true);
	if (err == 0 &&
	    tx_transmit(s, tx->rtcp_mux ? SOCKET_RTP : SOCKET_RTCP, &tx->rtcp,
			tx->channel_rtcp, data, bytes) < 0)
		err = errno;
	if (err) {
		tx_refused(e, s, true, err);
	} else {
		tx_reached(e, tx, true);
		tx->rtcp_reached = true;
	}
	tx->average_bytes +=
		((double)bytes + UDP_IP_BYTES - tx->average_bytes) /
		16; /* 6.3.3 */
	tx->packets_reported[1] = tx->packets_reported[0];
	tx->packets_reported[0] = tx->packets;
	tx->rtcp_sent = true;
}

static void rtcp_next(struct media_engine *e, struct media_session *s)
{
	struct tx_session *tx = &s->tx;

	tx->report_wanted = false;
	tx_heap_set(&e->heap, s, TX_TIMER_RTCP,
		    tx->rtcp_last_ns + rtcp_interval(e, s));
}

void tx_rtcp_start(struct media_engine *e, struct media_session *s,
		   int64_t start_ns)
{
	struct tx_session *tx = &s->tx;

	tx->members = 2; /* the peer will join */
	tx->average_bytes = FIRST_COMPOUND_BYTES + UDP_IP_BYTES;
	tx->rtcp_last_ns = start_ns;
	rtcp_next(e, s);
}

static void report_ask(struct media_engine *e, const struct media_session *s,
		       int64_t now_ns, bool final)
{
	struct packet_record wanted = {
		.mono_ns = now_ns,
		.session = s->slot,
		.kind = PACKET_REPORT_WANTED,
		.marker_pt = final ? REPORT_FINAL : 0,
	};

	if (ring_push(e->sent, &wanted))
		e->sent_pushed++;
}

void tx_rtcp_leave(struct media_engine *e, struct media_session *s)
{
	struct tx_session *tx = &s->tx;
	int64_t now_ns;

	if (!tx->applied || (!tx->rtcp_sent && tx->packets == 0) ||
	    tx->rtcp.len == 0 || !tx_keyed(tx, true)) {
		tx_session_done(e, s);
		return;
	}
	now_ns = clock_mono_ns();
	tx->leaving = true;
	tx_heap_set(&e->heap, s, TX_TIMER_RTCP, now_ns + LEAVE_MAX_NS);
	report_ask(e, s, now_ns, true);
}

static void bye_send(struct media_engine *e, struct media_session *s,
		     const struct report_answer *answer)
{
	tx_heap_clear(&e->heap, s, TX_TIMER_RTCP);
	tx_rtcp_send(e, s, answer, true);
	tx_session_done(e, s);
}

void tx_rtcp_due(struct media_engine *e, struct media_session *s,
		 int64_t now_ns)
{
	struct tx_session *tx = &s->tx;
	int64_t again_ns;

	if (tx->leaving) { /* no answer came */
		bye_send(e, s, NULL);
		return;
	}
	if (tx->report_wanted) { /* no answer came */
		tx_rtcp_send(e, s, NULL, false);
		rtcp_next(e, s);
		return;
	}
	/* reconsideration: 6.3.6 */
	again_ns = tx->rtcp_last_ns + rtcp_interval(e, s);
	if (e->params.rtcp_interval_ms == 0 && again_ns > now_ns) {
		tx_heap_set(&e->heap, s, TX_TIMER_RTCP, again_ns);
		return;
	}
	tx->report_wanted = true;
	tx_heap_set(&e->heap, s, TX_TIMER_RTCP, now_ns + ANSWER_MAX_NS);
	report_ask(e, s, now_ns, false);
}

void tx_rtcp_answers(struct media_engine *e)
{
	struct report_answer answer;

	while (ring_pop(e->answers, &answer)) {
		struct media_session *s = e->tx_sessions[answer.slot];

		/* stopped meanwhile; the slot may be another's by now */
		if (!s || s->ssrc != answer.ssrc)
			continue;
		s->tx.members = answer.members;
		s->tx.peer_senders = answer.senders;
		if (answer.final) {
			bye_send(e, s, &answer);
		} else if (s->tx.report_wanted) { /* else it is too late */
			tx_rtcp_send(e, s, &answer, false);
			s->tx.report_wanted = false;
			if (!s->tx.leaving)
				rtcp_next(e, s);
		}
	}
}
