/* Sessions of another program on this host: what the tap sees of them. */
#include "media/rx/rx_internal.h"

#include <string.h>

/* Frames come while the ring is read: they are behind the clock then. */
static int64_t tapped_ns(struct rx *rx, const struct tap_session *t)
{
	if (t->ns - rx->clock.wall_offset_ns > rx->clock.mono_ns)
		stamp_clock_read(&rx->clock);
	return stamp_mono_ns(t->ns, &rx->clock);
}

static void tapped_sent(struct rx *rx, const struct datagram *d)
{
	struct media_session *s = d->socket->session;
	struct packet_record r;
	struct rtp_header h;

	if (datagram_classify(d->data, d->captured) != DATAGRAM_RTP ||
	    rtp_header_parse(&h, d->data, d->captured, d->bytes))
		return;
	rtp_header_record(&r, &h, PACKET_RTP_SENT, d->mono_ns);
	r.kind = PACKET_TAPPED_SENT;
	r.session = s->slot;
	r.lateness_us = INT32_MIN; /* only the program knows when it was due */
	s->rx.own_ssrc = h.ssrc;
	if (s->audio_sent)
		rx_audio(d, &h, true);
	rx_push_packet(rx, &r);
}

static void tapped_arrived(const struct tap_session *t, void *arg)
{
	struct rx *rx = arg;
	struct media_session *s = t->session;
	struct datagram d = {
		.socket = &s->rx.sockets[t->rtcp ? SOCKET_RTCP : SOCKET_RTP],
		.data = rx->slots[0].data,
		.captured = t->captured < DATAGRAM_BYTES ? t->captured
							 : DATAGRAM_BYTES,
		.bytes = t->bytes,
		.mono_ns = tapped_ns(rx, t),
		.source = t->peer,
	};
	enum datagram_class class;

	memcpy(d.data, t->data, d.captured);
	if (t->sent) {
		tapped_sent(rx, &d);
		return;
	}
	class = datagram_classify(d.data, d.captured);
	if (class == DATAGRAM_RTCP)
		rx_rtcp_arrived(rx, &d);
	else if (class == DATAGRAM_RTP && !t->rtcp)
		rx_rtp_arrived(rx, &d);
	/* STUN and DTLS are between the program and its peer */
}

void rx_tapped_read(struct rx *rx)
{
	stamp_clock_read(&rx->clock);
	tap_sessions_read(rx->e->tap, tapped_arrived, rx);
}

void rx_tapped_assign(struct rx *rx, struct media_session *s,
		      const struct media_addr *rtp,
		      const struct media_addr *rtcp)
{
	struct tap_sessions *tap = rx->e->tap;

	stamp_clock_read(&rx->clock);
	/* RTP's port last: it may be RTCP's, too */
	if (rtcp->len)
		tap_sessions_assign(tap, rtcp, true, s, tapped_arrived, rx);
	tap_sessions_assign(tap, rtp, false, s, tapped_arrived, rx);
}

void rx_tapped_stop(struct rx *rx, struct media_session *s)
{
	rx_tapped_read(rx);
	tap_sessions_release(rx->e->tap, s);
	COUNTER_ADD(&rx->e->rx.queue_drops, tap_sessions_drops(rx->e->tap));
}
