/* What a datagram is, and whose: media, through SRTP, or the loop's. */
#include "media/analysis/rtp_header.h"
#include "media/nat/turn_frame.h"
#include "media/rx/rx_internal.h"

#include <errno.h>
#include <string.h>

static void srtp_note(struct rx *rx, const struct datagram *d, uint8_t kind)
{
	const struct packet_record r = {
		.mono_ns = d->mono_ns,
		.session = d->socket->session->slot,
		.kind = kind,
	};

	COUNTER_ADD(kind == PACKET_SRTP_REFUSED ? &rx->e->rx.srtp_refused
						: &rx->e->rx.srtp_replayed,
		    1);
	rx_push_packet(rx, &r);
}

/* Keep it until there is a key. */
static void stash(struct rx *rx, const struct datagram *d)
{
	bool lost;
	struct stashed *item = stash_place(&rx->stash, &lost);

	if (lost)
		COUNTER_ADD(&rx->e->rx.srtp_unkeyed, 1);
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
		COUNTER_ADD(&rx->e->rx.invalid, 1);
		return false;
	}
	if (err == -EALREADY)
		srtp_note(rx, d, PACKET_SRTP_REPLAYED);
	d->bytes = bytes;
	d->captured = bytes;
	/* a replayed report would be taken for a new one; a replayed packet is
	 * the duplicate that the network made of it */
	return err == 0 || !rtcp;
}

static void media_arrived(struct rx *rx, struct datagram *d, bool rtcp)
{
	if (d->socket->session->rx.encrypted && !secure_open(rx, d, rtcp))
		return;
	if (rtcp)
		rx_rtcp_arrived(rx, d);
	else
		rx_rtp_arrived(rx, d);
}

void rx_stash_read(struct rx *rx, const struct media_session *s)
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

void rx_stash_discard(struct rx *rx, const struct media_session *s)
{
	while (stash_take(&rx->stash, s, false))
		COUNTER_ADD(&rx->e->rx.srtp_unkeyed, 1);
}

_Static_assert(HANDOVER_BYTES >= DATAGRAM_BYTES, "what is whole has room");

/* @param d  whole */
static void hand_over(struct rx *rx, const struct datagram *d,
		      enum handover_kind kind)
{
	const struct media_session *s = d->socket->session;
	struct handover *out = &rx->handover;

	out->kind = kind;
	out->slot = s->slot;
	out->ssrc = s->ssrc;
	out->rtcp = d->socket->rtcp;
	out->relayed = d->relayed;
	out->source = d->source;
	out->bytes = d->bytes;
	memcpy(out->data, d->data, d->bytes);
	if (ring_push(rx->e->datagrams, out))
		engine_wake(rx->e->records_fd);
}

/* Where RTP and RTCP share a port, nobody shakes hands on the other one. */
static bool rtcp_stranger(const struct rx_session *rx, const struct datagram *d)
{
	return rx->rtcp_mux || (rx->rtcp_peer.len > 0 &&
				!media_addr_equal(&rx->rtcp_peer, &d->source) &&
				!handover_knows(&rx->known, &d->source));
}

/* A handshake is the loop's, at a bounded rate. */
static void dtls_arrived(struct rx *rx, const struct datagram *d)
{
	struct rx_session *s = &d->socket->session->rx;
	bool rtcp = d->socket->rtcp;
	struct handover_gate *gate = &s->dtls[rtcp ? SOCKET_RTCP : SOCKET_RTP];

	if (!gate->open) {
		COUNTER_ADD(&rx->e->rx.invalid, 1);
		return;
	}
	/* a stranger must not use up the peer's rate */
	if (d->captured != d->bytes ||
	    (rtcp ? rtcp_stranger(s, d) : rx_stranger(d)) ||
	    !handover_take(gate, rx->clock.mono_ns)) {
		COUNTER_ADD(&rx->e->rx.dtls_dropped, 1);
		return;
	}
	hand_over(rx, d, HANDOVER_DTLS);
}

/* So are checks, whoever sends them: the peer's address is what they find
 * out. Who is known has a rate of its own, that no stranger uses up. */
static void stun_arrived(struct rx *rx, const struct datagram *d, bool known)
{
	struct media_session *s = d->socket->session;

	known |= (s->rx.peer.len > 0 && !rx_stranger(d)) ||
		 handover_knows(&s->rx.known, &d->source);
	if (!s->rx.stun.open)
		COUNTER_ADD(&rx->e->rx.invalid, 1);
	else if (d->captured != d->bytes ||
		 !handover_take(known ? &s->rx.stun_known : &s->rx.stun,
				rx->clock.mono_ns))
		COUNTER_ADD(&rx->e->rx.stun_dropped, 1);
	else
		hand_over(rx, d, HANDOVER_STUN);
}

/* Unpack what a TURN server sends: the datagram of the peer is left.
 * @return false: it is none, and done with */
static bool relay_open(struct rx *rx, struct datagram *d)
{
	const struct relay_map *map = &d->socket->relay;
	struct turn_frame frame;

	if (turn_frame_parse(&frame, d->data, d->captured, d->bytes) ||
	    frame.kind == TURN_FRAME_SEND) {
		COUNTER_ADD(&rx->e->rx.invalid, 1);
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
		COUNTER_ADD(&rx->e->rx.invalid, 1);
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
		COUNTER_ADD(&rx->e->rx.packets, 1);
	if (from_server(d) && !relay_open(rx, d))
		return;
	class = datagram_classify(d->data, d->captured);
	if (class == DATAGRAM_RTCP)
		media_arrived(rx, d, true); /* on the RTP port too: RFC 5761 */
	else if (class == DATAGRAM_RTP && !d->socket->rtcp)
		media_arrived(rx, d, false);
	else if (class == DATAGRAM_DTLS)
		dtls_arrived(rx, d);
	else if (class == DATAGRAM_STUN)
		stun_arrived(rx, d, false);
	else
		COUNTER_ADD(&rx->e->rx.invalid, 1);
}
