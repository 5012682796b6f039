#include "media/rx/rx_datagram.h"

#include "media/analysis/rtp_header.h"
#include "media/nat/turn_frame.h"

#include <errno.h>
#include <string.h>

/* ---- copies for the capture file ---- */

/* @param d  as it came, still encrypted @param sent  by a tapped program */
static void copy_arrived(const struct datagram *d, enum datagram_class class,
			 bool sent)
{
	const struct rx_session *s = d->socket->session;
	const struct packet_copy packet = {
		.mono_ns = d->mono_ns,
		.sent = sent,
		.rtcp = class == DATAGRAM_RTCP,
		.socket = d->socket->rtcp ? SOCKET_RTCP : SOCKET_RTP,
		.peer = &d->source,
		.data = d->data,
		.captured = d->captured,
		.bytes = d->bytes,
	};

	if (class == DATAGRAM_RTCP ||
	    (class == DATAGRAM_RTP && !d->socket->rtcp))
		packet_copy(&s->copies, &packet);
}

/* ---- RTP and RTCP, to the analysis and the audio thread ---- */

/* To the analysis; a full ring counts the record as dropped. */
static void push_packet(struct rx *rx, const struct packet_record *r)
{
	if (ring_push(rx->p.received, r))
		rx->received_pushed++;
}

static void push_rtcp(struct rx *rx, const struct rtcp_event *event)
{
	if (ring_push(rx->p.rtcp, event))
		rx->rtcp_pushed++;
}

/* The content of a telephone-event packet, beside the record of the packet. */
static void event_arrived(struct rx *rx, const struct datagram *d,
			  const struct rtp_header *h,
			  const struct packet_record *packet)
{
	struct packet_record r = *packet;
	struct dtmf_payload p;

	if (h->header_bytes + DTMF_PAYLOAD_BYTES > d->captured ||
	    dtmf_payload_parse(&p, d->data + h->header_bytes, h->payload_bytes))
		return; /* it is a packet of the stream all the same */
	r.kind = PACKET_EVENT_RECEIVED;
	r.seq = p.event;
	r.payload_bytes = p.duration;
	r.marker_pt = p.end;
	r.lateness_us = (int32_t)d->socket->session->event_clock_hz[h->pt];
	push_packet(rx, &r);
}

/* Give the payload to the audio thread. One that was cut cannot be decoded and is
 * counted. @param sent  by a tapped program */
static void audio_push(const struct datagram *d, const struct rtp_header *h,
		       bool sent)
{
	struct rx_session *s = d->socket->session;
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

	if (h->header_bytes + h->payload_bytes > d->captured ||
	    !payload_ring_push(s->payloads, &head, d->data + h->header_bytes))
		s->end->audio_dropped[sent]++;
}

/* RTP, decrypted. */
static void rtp_arrived(struct rx *rx, const struct datagram *d)
{
	struct rx_session *s = d->socket->session;
	struct packet_record *r;
	struct rtp_header h;

	if (rtp_header_parse(&h, d->data, d->captured, d->bytes)) {
		COUNTER_ADD(&rx->counters.invalid, 1);
		return;
	}
	if (rx_stranger(d))
		COUNTER_ADD(&rx->counters.foreign, 1);
	if (h.ssrc == s->ssrc)
		COUNTER_ADD(&rx->counters.collisions, 1);
	if (s->decodes)
		audio_push(d, &h, false);
	r = ring_reserve(rx->p.received);
	if (!r)
		return;
	rtp_header_record(r, &h, PACKET_RTP_RECEIVED, d->mono_ns);
	r->session = s->slot;
	ring_commit(rx->p.received);
	rx->received_pushed++;
	/* still readable: only this thread writes to the ring */
	if (s->event_clock_hz[h.pt] && !s->tap_secure)
		event_arrived(rx, d, &h, r);
}

/* An XR block about us, or one that we have to answer.
 * @return false: it is neither */
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

/* RTCP, decrypted. */
static void rtcp_arrived(struct rx *rx, const struct datagram *d)
{
	struct rx_session *s = d->socket->session;
	struct rtcp_event event = {.mono_ns = d->mono_ns, .slot = s->slot};
	struct rtcp_reader reader;
	struct rtcp_item item;
	unsigned blocks = 0; /* of XR: one of each kind a packet */
	bool bye = false;

	/* Of another program's SRTCP nothing but the type can be read. A compound
	 * that was cut is invalid. */
	if (!s->tap_secure &&
	    (d->captured != d->bytes ||
	     rtcp_reader_init(&reader, d->data, d->captured))) {
		COUNTER_ADD(&rx->counters.invalid, 1);
		COUNTER_ADD(&rx->counters.rtcp_invalid, 1);
		return;
	}
	event.kind = RTCP_EVENT_SEEN;
	push_rtcp(rx, &event);
	while (!s->tap_secure && rtcp_reader_next(&reader, &item)) {
		event.ssrc = item.ssrc;
		bye |= item.kind == RTCP_ITEM_BYE;
		if (item.kind == RTCP_ITEM_SENDER) {
			event.kind = RTCP_EVENT_SENDER;
			event.lsr = rtcp_ntp_middle(item.u.sender.ntp);
			push_rtcp(rx, &event);
		} else if (item.kind == RTCP_ITEM_REPORT &&
			   item.u.report.ssrc == s->own_ssrc) {
			event.kind = RTCP_EVENT_REPORT;
			event.u.report = item.u.report;
			push_rtcp(rx, &event);
		} else if (xr_event(&event, &item, s->own_ssrc) &&
			   !(blocks & 1u << event.kind)) {
			blocks |= 1u << event.kind;
			push_rtcp(rx, &event);
		}
	}
	rx_linger_rtcp(&rx->linger, s, bye, rx->clock.mono_ns);
}

/* ---- what a datagram is: media, perhaps SRTP, or STUN and DTLS for the loop ---- */

static void srtp_note(struct rx *rx, const struct datagram *d, uint8_t kind)
{
	const struct packet_record r = {
		.mono_ns = d->mono_ns,
		.session = d->socket->session->slot,
		.kind = kind,
	};

	COUNTER_ADD(kind == PACKET_SRTP_REFUSED ? &rx->counters.srtp_refused
						: &rx->counters.srtp_replayed,
		    1);
	push_packet(rx, &r);
}

/* Keep it until there is a key. */
static void stash(struct rx *rx, const struct datagram *d)
{
	bool lost;
	struct stashed *item = stash_place(&rx->stash, &lost);

	if (lost)
		COUNTER_ADD(&rx->counters.srtp_unkeyed, 1);
	item->from = d->socket;
	item->bytes = d->bytes;
	item->mono_ns = d->mono_ns;
	item->source = d->source;
	memcpy(item->data, d->data, d->bytes);
}

/* @return false: nothing is left to measure */
static bool secure_open(struct rx *rx, struct datagram *d, bool rtcp)
{
	size_t bytes = d->bytes;
	int err = -EBADMSG;

	if (d->captured == d->bytes)
		err = rx_secure_open(d->socket, d->data, &bytes, rtcp,
				     rx->clock.mono_ns);
	if (err == -ENOKEY ||
	    (err == -EACCES &&
	     rx_secure_rekeying(d->socket, rx->clock.mono_ns))) {
		stash(rx, d);
		return false;
	}
	if (err == -EACCES) {
		srtp_note(rx, d, PACKET_SRTP_REFUSED);
		return false;
	}
	if (err && err != -EALREADY) {
		COUNTER_ADD(&rx->counters.invalid, 1);
		return false;
	}
	if (err == -EALREADY)
		srtp_note(rx, d, PACKET_SRTP_REPLAYED);
	d->bytes = bytes;
	d->captured = bytes;
	/* A replayed RTCP packet would count as a new report: it is dropped. A
	 * replayed RTP packet is measured as the duplicate that it is. */
	return err == 0 || !rtcp;
}

static void media_arrived(struct rx *rx, struct datagram *d, bool rtcp)
{
	if (d->socket->session->encrypted && !secure_open(rx, d, rtcp))
		return;
	if (rtcp)
		rtcp_arrived(rx, d);
	else
		rtp_arrived(rx, d);
}

void rx_stash_read(struct rx *rx, const struct rx_session *s)
{
	struct stashed *item;

	stamp_clock_read(&rx->clock);
	while ((item = stash_take(&rx->stash, s, true))) {
		struct datagram d = {
			.socket = item->from,
			.data = item->data,
			.captured = item->bytes,
			.bytes = item->bytes,
			.mono_ns = item->mono_ns,
			.source = item->source,
		};

		media_arrived(rx, &d,
			      datagram_classify(d.data, d.captured) ==
				      DATAGRAM_RTCP);
	}
}

void rx_stash_discard(struct rx *rx, const struct rx_session *s)
{
	while (stash_take(&rx->stash, s, false))
		COUNTER_ADD(&rx->counters.srtp_unkeyed, 1);
}

_Static_assert(HANDOVER_BYTES >= DATAGRAM_BYTES, "what is whole has room");

/* @param d  whole */
static void hand_over(struct rx *rx, const struct datagram *d,
		      enum handover_kind kind)
{
	const struct rx_session *s = d->socket->session;
	struct handover *out = &rx->handover;

	out->kind = kind;
	out->slot = s->slot;
	out->ssrc = s->ssrc;
	out->rtcp = d->socket->rtcp;
	out->relayed = d->relayed;
	out->source = d->source;
	out->bytes = d->bytes;
	memcpy(out->data, d->data, d->bytes);
	if (ring_push(rx->p.datagrams, out))
		wake_fd_signal(rx->p.loop_fd);
}

/* With rtcp-mux there is no handshake on the RTCP port. */
static bool rtcp_stranger(const struct rx_session *rx, const struct datagram *d)
{
	return rx->rtcp_mux || (rx->rtcp_peer.len > 0 &&
				!media_addr_equal(&rx->rtcp_peer, &d->source) &&
				!handover_knows(&rx->known, &d->source));
}

/* Hand DTLS over to the loop, at a bounded rate. */
static void dtls_arrived(struct rx *rx, const struct datagram *d)
{
	struct rx_session *s = d->socket->session;
	bool rtcp = d->socket->rtcp;
	struct handover_gate *gate = &s->dtls[rtcp ? SOCKET_RTCP : SOCKET_RTP];

	if (!gate->open) {
		COUNTER_ADD(&rx->counters.invalid, 1);
		return;
	}
	/* a stranger must not use up the peer's rate */
	if (d->captured != d->bytes ||
	    (rtcp ? rtcp_stranger(s, d) : rx_stranger(d)) ||
	    !handover_take(gate, rx->clock.mono_ns)) {
		COUNTER_ADD(&rx->counters.dtls_dropped, 1);
		return;
	}
	hand_over(rx, d, HANDOVER_DTLS);
}

/* Hand STUN over to the loop, from any address: ICE checks find out the peer's.
 * Known addresses have a rate of their own, which no stranger can use up. */
static void stun_arrived(struct rx *rx, const struct datagram *d, bool known)
{
	struct rx_session *s = d->socket->session;

	known |= (s->peer.len > 0 && !rx_stranger(d)) ||
		 handover_knows(&s->known, &d->source);
	if (!s->stun.open)
		COUNTER_ADD(&rx->counters.invalid, 1);
	else if (d->captured != d->bytes ||
		 !handover_take(known ? &s->stun_known : &s->stun,
				rx->clock.mono_ns))
		COUNTER_ADD(&rx->counters.stun_dropped, 1);
	else
		hand_over(rx, d, HANDOVER_STUN);
}

/* Unpack a datagram of the TURN server: the peer's datagram is left.
 * @return false: it held none */
static bool relay_open(struct rx *rx, struct datagram *d)
{
	const struct relay_map *map = &d->socket->relay;
	struct turn_frame frame;

	if (turn_frame_parse(&frame, d->data, d->captured, d->bytes) ||
	    frame.kind == TURN_FRAME_SEND) {
		COUNTER_ADD(&rx->counters.invalid, 1);
		return false;
	}
	if (frame.kind == TURN_FRAME_CONTROL) {
		stun_arrived(rx, d, true);
		return false;
	}
	for (size_t i = 0;
	     frame.kind == TURN_FRAME_CHANNEL && i < RELAY_CHANNELS_MAX; i++) {
		if (map->channels[i].number == frame.channel)
			frame.peer = map->channels[i].peer;
	}
	if (frame.peer.len == 0) {
		COUNTER_ADD(&rx->counters.invalid, 1);
		return false;
	}
	d->relayed = true;
	d->source = frame.peer;
	d->data += frame.offset;
	d->captured -= frame.offset;
	d->bytes = frame.bytes;
	if (d->captured > d->bytes)
		d->captured = d->bytes;
	return true;
}

static bool from_server(const struct datagram *d)
{
	const struct media_addr *server = &d->socket->relay.server;

	return d->socket->stream ||
	       (server->len > 0 && media_addr_equal(server, &d->source));
}

void rx_datagram_arrived(struct rx *rx, struct datagram *d)
{
	enum datagram_class class;

	if (!d->socket->rtcp)
		COUNTER_ADD(&rx->counters.packets, 1);
	if (from_server(d) && !relay_open(rx, d))
		return;
	class = datagram_classify(d->data, d->captured);
	if (d->socket->session->captured)
		copy_arrived(d, class, false);
	if (class == DATAGRAM_RTCP)
		media_arrived(rx, d, true); /* on the RTP port too: RFC 5761 */
	else if (class == DATAGRAM_RTP && !d->socket->rtcp)
		media_arrived(rx, d, false);
	else if (class == DATAGRAM_DTLS)
		dtls_arrived(rx, d);
	else if (class == DATAGRAM_STUN)
		stun_arrived(rx, d, false);
	else
		COUNTER_ADD(&rx->counters.invalid, 1);
}

/* ---- tapped sessions: the media of another program ---- */

/* A frame may be newer than the last reading of the clock: read it again. */
static int64_t tapped_ns(struct rx *rx, const struct tap_session *t)
{
	if (t->ns - rx->clock.wall_offset_ns > rx->clock.mono_ns)
		stamp_clock_read(&rx->clock);
	return stamp_mono_ns(t->ns, &rx->clock);
}

/* RTCP of the program: the peer's reports answer its SRs and RRTRs. */
static void tapped_reported(struct rx *rx, const struct datagram *d)
{
	struct rx_session *s = d->socket->session;
	struct rtcp_event event = {
		.mono_ns = d->mono_ns,
		.slot = s->slot,
		.kind = RTCP_EVENT_TAPPED_SENT,
	};
	struct rtcp_reader reader;
	struct rtcp_item item;

	if (s->tap_secure || d->captured != d->bytes ||
	    rtcp_reader_init(&reader, d->data, d->captured))
		return;
	while (rtcp_reader_next(&reader, &item)) {
		if (item.kind == RTCP_ITEM_SENDER)
			event.lsr = rtcp_ntp_middle(item.u.sender.ntp);
		else if (item.kind == RTCP_ITEM_XR_RRTR)
			event.lsr = rtcp_ntp_middle(item.u.ntp);
		else
			continue;
		event.ssrc = item.ssrc;
		push_rtcp(rx, &event);
	}
}

static void tapped_sent(struct rx *rx, const struct datagram *d)
{
	struct rx_session *s = d->socket->session;
	struct packet_record r;
	struct rtp_header h;

	if (rtp_header_parse(&h, d->data, d->captured, d->bytes))
		return;
	rtp_header_record(&r, &h, PACKET_RTP_SENT, d->mono_ns);
	r.kind = PACKET_TAPPED_SENT;
	r.session = s->slot;
	r.lateness_us = INT32_MIN; /* only the program knows when it was due */
	s->own_ssrc = h.ssrc;
	if (s->decodes_sent)
		audio_push(d, &h, true);
	push_packet(rx, &r);
}

static void tapped_arrived(const struct tap_session *t, void *arg)
{
	struct rx *rx = arg;
	struct rx_session *s = rx->tapped[t->session - 1];
	struct datagram d = {
		.socket = &s->sockets[t->rtcp ? SOCKET_RTCP : SOCKET_RTP],
		.data = rx->slots[0].data,
		.captured = t->captured < DATAGRAM_BYTES ? t->captured
							 : DATAGRAM_BYTES,
		.bytes = t->bytes,
		.mono_ns = tapped_ns(rx, t),
		.source = t->peer,
	};
	enum datagram_class class;

	memcpy(d.data, t->data, d.captured);
	class = datagram_classify(d.data, d.captured);
	if (s->captured)
		copy_arrived(&d, class, t->sent);
	if (t->sent) {
		if (class == DATAGRAM_RTCP)
			tapped_reported(rx, &d);
		else if (class == DATAGRAM_RTP)
			tapped_sent(rx, &d);
		return;
	}
	if (class == DATAGRAM_RTCP)
		rtcp_arrived(rx, &d);
	else if (class == DATAGRAM_RTP && !t->rtcp)
		rtp_arrived(rx, &d);
	/* STUN and DTLS are between the program and its peer */
}

void rx_tapped_read(struct rx *rx)
{
	stamp_clock_read(&rx->clock);
	tap_sessions_read(rx->p.tap, tapped_arrived, rx);
}

void rx_tapped_assign(struct rx *rx, struct rx_session *s,
		      const struct media_addr *rtp,
		      const struct media_addr *rtcp)
{
	struct tap_sessions *tap = rx->p.tap;
	uint32_t number = s->slot + 1;

	rx->tapped[s->slot] = s;
	s->copies.local[SOCKET_RTP] = *rtp;
	s->copies.local[SOCKET_RTCP] = rtcp->len ? *rtcp : *rtp;
	stamp_clock_read(&rx->clock);
	/* RTP's port last: it may be RTCP's, too */
	if (rtcp->len)
		tap_sessions_assign(tap, rtcp, true, number, tapped_arrived,
				    rx);
	tap_sessions_assign(tap, rtp, false, number, tapped_arrived, rx);
}

void rx_tapped_stop(struct rx *rx, struct rx_session *s)
{
	rx_tapped_read(rx);
	tap_sessions_release(rx->p.tap, s->slot + 1);
	rx->tapped[s->slot] = NULL;
	COUNTER_ADD(&rx->counters.queue_drops, tap_sessions_drops(rx->p.tap));
}
