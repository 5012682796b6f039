/* What RTP and RTCP of the peer tell the analysis. */
#include "media/audio/audio_thread.h"
#include "media/rx/rx_internal.h"

void rx_push_packet(struct rx *rx, const struct packet_record *r)
{
	if (ring_push(rx->e->received, r))
		rx->e->received_pushed++;
}

static void push_rtcp(struct rx *rx, const struct rtcp_event *event)
{
	if (ring_push(rx->e->rtcp, event))
		rx->e->rtcp_pushed++;
}

/* What a telephone-event says goes to the analysis beside the packet. */
static void event_arrived(struct rx *rx, const struct datagram *d,
			  const struct rtp_header *h,
			  const struct packet_record *packet)
{
	struct packet_record r = *packet;
	struct dtmf_payload p;

	if (h->header_bytes + DTMF_PAYLOAD_BYTES > d->captured ||
	    dtmf_payload_parse(&p, d->data + h->header_bytes, h->payload_bytes))
		return; /* counted as a packet all the same */
	r.kind = PACKET_EVENT_RECEIVED;
	r.seq = p.event;
	r.payload_bytes = p.duration;
	r.marker_pt = p.end;
	r.lateness_us = (int32_t)d->socket->session->rx.event_clock_hz[h->pt];
	rx_push_packet(rx, &r);
}

void rx_audio(const struct datagram *d, const struct rtp_header *h, bool sent)
{
	struct media_session *s = d->socket->session;
	const struct payload head = {
		.mono_ns = d->mono_ns,
		.slot = s->slot,
		.ssrc = h->ssrc,
		.ts = h->ts,
		.seq = h->seq,
		.bytes = (uint16_t)h->payload_bytes,
		.pt = h->pt,
		.marker = h->marker,
		.sent = sent,
	};

	if (h->header_bytes + h->payload_bytes <= d->captured)
		audio_push(s, &head, d->data + h->header_bytes);
	else if (sent)
		s->tx.audio_dropped++;
	else
		s->rx.audio_dropped++;
}

void rx_rtp_arrived(struct rx *rx, const struct datagram *d)
{
	struct media_session *s = d->socket->session;
	struct packet_record *r;
	struct rtp_header h;

	if (rtp_header_parse(&h, d->data, d->captured, d->bytes)) {
		COUNTER_ADD(&rx->e->rx.invalid, 1);
		return;
	}
	if (rx_stranger(d))
		COUNTER_ADD(&rx->e->rx.foreign, 1);
	if (h.ssrc == s->ssrc)
		COUNTER_ADD(&rx->e->rx.collisions, 1);
	if (s->audio)
		rx_audio(d, &h, false);
	r = ring_reserve(rx->e->received);
	if (!r)
		return;
	rtp_header_record(r, &h, PACKET_RTP_RECEIVED, d->mono_ns);
	r->session = s->slot;
	ring_commit(rx->e->received);
	rx->e->received_pushed++;
	/* still readable: only this thread writes to the ring */
	if (s->rx.event_clock_hz[h.pt] && !s->rx.tap_secure)
		event_arrived(rx, d, &h, r);
}

/* What an XR says about us, or asks of us. */
static bool xr_event(struct rtcp_event *event, const struct rtcp_item *item,
		     uint32_t ours)
{
	switch (item->kind) {
	case RTCP_ITEM_XR_RRTR:
		event->kind = RTCP_EVENT_RRTR;
		event->lsr = rtcp_ntp_middle(item->u.ntp);
		return true;
	case RTCP_ITEM_XR_DLRR:
		event->kind = RTCP_EVENT_DLRR;
		event->u.dlrr = item->u.dlrr;
		return item->u.dlrr.ssrc == ours;
	case RTCP_ITEM_XR_VOIP:
		event->kind = RTCP_EVENT_VOIP;
		event->u.voip = item->u.voip;
		return item->u.voip.ssrc == ours;
	case RTCP_ITEM_XR_SUMMARY:
		event->kind = RTCP_EVENT_SUMMARY;
		event->u.summary = item->u.summary;
		return item->u.summary.ssrc == ours;
	case RTCP_ITEM_SENDER:
	case RTCP_ITEM_REPORT:
	case RTCP_ITEM_BYE:
	case RTCP_ITEM_APP:
		break;
	}
	return false;
}

void rx_rtcp_arrived(struct rx *rx, const struct datagram *d)
{
	struct media_session *s = d->socket->session;
	struct rtcp_event event = {.mono_ns = d->mono_ns, .slot = s->slot};
	struct rtcp_reader reader;
	struct rtcp_item item;
	unsigned blocks = 0; /* of XR: one of each kind a packet */
	bool bye = false;

	/* of another program's SRTCP only the kind can be read; a cut compound
	 * does not add up to its size and is refused */
	if (!s->rx.tap_secure &&
	    (d->captured != d->bytes ||
	     rtcp_reader_init(&reader, d->data, d->captured))) {
		COUNTER_ADD(&rx->e->rx.invalid, 1);
		COUNTER_ADD(&rx->e->rx.rtcp_invalid, 1);
		return;
	}
	event.kind = RTCP_EVENT_SEEN;
	push_rtcp(rx, &event);
	while (!s->rx.tap_secure && rtcp_reader_next(&reader, &item)) {
		event.ssrc = item.ssrc;
		bye |= item.kind == RTCP_ITEM_BYE;
		if (item.kind == RTCP_ITEM_SENDER) {
			event.kind = RTCP_EVENT_SENDER;
			event.lsr = rtcp_ntp_middle(item.u.sender.ntp);
			push_rtcp(rx, &event);
		} else if (item.kind == RTCP_ITEM_REPORT &&
			   item.u.report.ssrc == s->rx.own_ssrc) {
			event.kind = RTCP_EVENT_REPORT;
			event.u.report = item.u.report;
			push_rtcp(rx, &event);
		} else if (xr_event(&event, &item, s->rx.own_ssrc) &&
			   !(blocks & 1u << event.kind)) {
			blocks |= 1u << event.kind;
			push_rtcp(rx, &event);
		}
	}
	rx_linger_rtcp(&rx->linger, s, bye, rx->clock.mono_ns);
}
