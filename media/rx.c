/* The RX thread: every RTP and RTCP socket of the engine. */
#include "base/stamp.h"
#include "media/analysis/rtp_header.h"
#include "media/audio.h"
#include "media/engine.h"
#include "media/rx_secure.h"
#include "media/rx_tap.h"
#include "media/turn_frame.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define EVENTS_MAX 256
#define BATCH      32
/* Larger datagrams are cut: their header is read, their true size is known. */
#define DATAGRAM_BYTES 2048

/* Batches read from a socket when its session stops. */
#define STOP_BATCHES_MAX 64
/* A stopped session goes on receiving for this long: what the peer sent before
 * it learned of the end is still on its way. */
#define LINGER_NS (200 * NS_PER_MS)

struct slot {
	uint8_t data[DATAGRAM_BYTES];
	struct sockaddr_storage source;
	alignas(struct cmsghdr)
		uint8_t control[STAMP_SPACE + CMSG_SPACE(sizeof(uint32_t))];
	struct iovec iov;
};

struct rx {
	struct media_engine *e;
	struct stamp_clock clock; /* behind the reading of the batch */
	struct mmsghdr messages[BATCH];
	struct slot slots[BATCH];
	/* sessions that linger, the first to end first: all linger alike */
	struct media_session **lingering; /* ring of e->slots places */
	size_t linger_first;
	size_t linger_count;
	struct rx_stash stash;
	struct handover handover; /* on its way to the loop */
};

struct datagram {
	struct rx_socket *socket;
	uint8_t *data; /* decrypted in place */
	size_t captured;
	size_t bytes;
	int64_t mono_ns;
	struct media_addr source;
	bool relayed; /* by our TURN server */
};

static void push_packet(struct rx *rx, const struct packet_record *r)
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
	push_packet(rx, &r);
}

/* To the audio thread; a payload that was cut is no use to a decoder. */
static void audio_arrived(const struct datagram *d, const struct rtp_header *h)
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
	};

	if (h->header_bytes + h->payload_bytes <= d->captured)
		audio_push(s, &head, d->data + h->header_bytes, false);
	else
		s->rx.audio_dropped++;
}

static void rtp_arrived(struct rx *rx, const struct datagram *d)
{
	struct media_session *s = d->socket->session;
	struct packet_record *r;
	struct rtp_header h;

	if (rtp_header_parse(&h, d->data, d->captured, d->bytes)) {
		COUNTER_ADD(&rx->e->rx.invalid, 1);
		return;
	}
	if (s->rx.has_peer && !media_addr_equal(&s->rx.peer, &d->source))
		COUNTER_ADD(&rx->e->rx.foreign, 1);
	if (h.ssrc == s->ssrc)
		COUNTER_ADD(&rx->e->rx.collisions, 1);
	if (s->audio)
		audio_arrived(d, &h);
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

static void rtcp_arrived(struct rx *rx, const struct datagram *d)
{
	struct media_session *s = d->socket->session;
	struct rtcp_event event = {.mono_ns = d->mono_ns, .slot = s->slot};
	struct rtcp_reader reader;
	struct rtcp_item item;
	unsigned blocks = 0; /* of XR: one of each kind a packet */

	/* a cut compound does not add up to its size and is refused */
	if (d->captured != d->bytes ||
	    rtcp_reader_init(&reader, d->data, d->captured)) {
		COUNTER_ADD(&rx->e->rx.invalid, 1);
		return;
	}
	event.kind = RTCP_EVENT_SEEN;
	push_rtcp(rx, &event);
	/* what follows cannot be read without the keys */
	while (!s->rx.tap_secure && rtcp_reader_next(&reader, &item)) {
		event.ssrc = item.ssrc;
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
}

/* ---- SRTP ---- */

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
	push_packet(rx, &r);
}

/* Keep it until there is a key. */
static void stash(struct rx *rx, const struct datagram *d)
{
	bool lost;
	struct stashed *item = stash_place(&rx->stash, &lost);

	if (lost)
		COUNTER_ADD(&rx->e->rx.srtp_unkeyed, 1);
	item->from = d->socket;
	item->waits = true;
	item->bytes = d->bytes;
	item->mono_ns = d->mono_ns;
	item->source = d->source;
	memcpy(item->data, d->data, d->bytes);
}

/* @return false: nothing is left to measure */
static bool secure_open(struct rx *rx, struct datagram *d, bool rtcp)
{
	struct rx_session *s = &d->socket->session->rx;
	size_t bytes = d->bytes;
	int err = -EBADMSG;

	if (d->captured == d->bytes)
		err = rx_secure_open(s, d->data, &bytes, rtcp,
				     rx->clock.mono_ns);
	if (err == -ENOKEY || (err == -EACCES && s->rekeying)) {
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
		rtcp_arrived(rx, d);
	else
		rtp_arrived(rx, d);
}

/* Keys are settled: what waited for them is read, as if it came now, with the
 * times at which it came. */
static void stash_read(struct rx *rx, const struct media_session *s)
{
	struct stashed *item;

	if (s->rx.encrypted && !s->rx.key)
		return; /* it is still to come */
	stamp_clock_read(&rx->clock);
	while ((item = stash_take(&rx->stash, s))) {
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

/* The session ends: what still waits is of no use. */
static void stash_discard(struct rx *rx, const struct media_session *s)
{
	while (stash_take(&rx->stash, s))
		COUNTER_ADD(&rx->e->rx.srtp_unkeyed, 1);
}

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

/* A handshake is the loop's, at a bounded rate. */
static void dtls_arrived(struct rx *rx, const struct datagram *d)
{
	struct media_session *s = d->socket->session;

	if (!s->rx.dtls.open || d->socket->rtcp) {
		COUNTER_ADD(&rx->e->rx.invalid, 1);
		return;
	}
	/* a stranger must not use up the peer's rate */
	if (d->bytes > HANDOVER_BYTES ||
	    (s->rx.has_peer && !media_addr_equal(&s->rx.peer, &d->source)) ||
	    !handover_take(&s->rx.dtls, rx->clock.mono_ns)) {
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

	known |= s->rx.has_peer && media_addr_equal(&s->rx.peer, &d->source);
	if (!s->rx.stun.open)
		COUNTER_ADD(&rx->e->rx.invalid, 1);
	else if (d->bytes > HANDOVER_BYTES ||
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

	if (turn_frame_parse(&frame, d->data, d->captured, d->bytes)) {
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

static void datagram_arrived(struct rx *rx, struct datagram *d)
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

static void drops_seen(struct rx *rx, struct rx_socket *socket, uint32_t drops)
{
	/* the socket's counter wraps at 2^32 */
	uint32_t more = drops - socket->drops;

	if (more > 0)
		COUNTER_ADD(&rx->e->rx.queue_drops, more);
	socket->drops = drops;
}

/* Read the control messages: receive time and the socket's drops. */
static int64_t control_read(struct rx *rx, struct rx_socket *socket,
			    struct msghdr *header)
{
	int64_t mono_ns = rx->clock.mono_ns;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c;
	     c = CMSG_NXTHDR(header, c)) {
		if (!stamp_take(&mono_ns, c, &rx->clock) &&
		    c->cmsg_level == SOL_SOCKET &&
		    c->cmsg_type == SO_RXQ_OVFL) {
			uint32_t drops;

			memcpy(&drops, CMSG_DATA(c), sizeof(drops));
			drops_seen(rx, socket, drops);
		}
	}
	return mono_ns;
}

static void slots_reset(struct rx *rx, int used)
{
	for (int i = 0; i < used; i++) {
		struct msghdr *header = &rx->messages[i].msg_hdr;
		struct slot *slot = &rx->slots[i];

		slot->iov.iov_base = slot->data;
		slot->iov.iov_len = sizeof(slot->data);
		header->msg_name = &slot->source;
		header->msg_namelen = sizeof(slot->source);
		header->msg_iov = &slot->iov;
		header->msg_iovlen = 1;
		header->msg_control = slot->control;
		header->msg_controllen = sizeof(slot->control);
	}
}

/* @return datagrams read; less than BATCH: the queue is empty */
static int batch_read(struct rx *rx, struct rx_socket *socket)
{
	/* MSG_TRUNC: msg_len is the true size of a cut datagram */
	int count = recvmmsg(socket->fd, rx->messages, BATCH,
			     MSG_DONTWAIT | MSG_TRUNC, NULL);

	if (count <= 0)
		return 0;
	stamp_clock_read(&rx->clock);
	for (int i = 0; i < count; i++) {
		struct msghdr *header = &rx->messages[i].msg_hdr;
		struct datagram d = {
			.socket = socket,
			.data = rx->slots[i].data,
			.bytes = rx->messages[i].msg_len,
			.mono_ns = control_read(rx, socket, header),
		};

		d.captured =
			d.bytes < DATAGRAM_BYTES ? d.bytes : DATAGRAM_BYTES;
		d.source.len = header->msg_namelen;
		memcpy(&d.source.ss, &rx->slots[i].source, sizeof(d.source.ss));
		datagram_arrived(rx, &d);
	}
	slots_reset(rx, count);
	return count;
}

/* ---- tapped sessions ---- */

/* Frames come while the ring is read: they are behind the clock then. */
static int64_t tapped_ns(struct rx *rx, const struct rx_tapped *t)
{
	if (t->ns - rx->clock.wall_offset_ns > rx->clock.mono_ns)
		stamp_clock_read(&rx->clock);
	return stamp_mono_ns(t->ns, &rx->clock);
}

static void tapped_sent(struct rx *rx, const struct rx_tapped *t)
{
	struct media_session *s = t->session;
	struct packet_record r;
	struct rtp_header h;

	if (datagram_classify(t->data, t->captured) != DATAGRAM_RTP ||
	    rtp_header_parse(&h, t->data, t->captured, t->bytes))
		return;
	rtp_header_record(&r, &h, PACKET_RTP_SENT, tapped_ns(rx, t));
	r.kind = PACKET_TAPPED_SENT;
	r.session = s->slot;
	r.lateness_us = INT32_MIN; /* only the program knows when it was due */
	s->rx.own_ssrc = h.ssrc;
	push_packet(rx, &r);
}

static void tapped_arrived(const struct rx_tapped *t, void *arg)
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

	if (t->sent) {
		tapped_sent(rx, t);
		return;
	}
	memcpy(d.data, t->data, d.captured);
	class = datagram_classify(d.data, d.captured);
	if (class == DATAGRAM_RTCP)
		rtcp_arrived(rx, &d);
	else if (class == DATAGRAM_RTP && !t->rtcp)
		rtp_arrived(rx, &d);
	/* STUN and DTLS are between the program and its peer */
}

static void tap_read_all(struct rx *rx)
{
	stamp_clock_read(&rx->clock);
	rx_tap_read(rx->e->tap, tapped_arrived, rx);
}

static void tap_assign(struct rx *rx, struct media_session *s, uint16_t rtp,
		       uint16_t rtcp)
{
	rx_tap_assign(rx->e->tap, s->rx.tap_rtp, s->rx.tap_rtcp, NULL);
	s->rx.tap_rtp = rtp;
	s->rx.tap_rtcp = rtcp;
	rx_tap_assign(rx->e->tap, rtp, rtcp, s);
	if (rtp) {
		stamp_clock_read(&rx->clock);
		rx_tap_claim(rx->e->tap, s, tapped_arrived, rx);
	}
}

static void tap_stop(struct rx *rx, struct media_session *s)
{
	tap_read_all(rx);
	tap_assign(rx, s, 0, 0);
	COUNTER_ADD(&rx->e->rx.queue_drops, rx_tap_drops(rx->e->tap));
}

/* ---- commands ---- */

/* Sockets, then connections to TURN servers. */
#define READ_COUNT (2 * SOCKET_COUNT)

static struct rx_socket *read_at(struct media_session *s, size_t i)
{
	return i < SOCKET_COUNT ? &s->rx.sockets[i]
				: &s->rx.streams[i - SOCKET_COUNT];
}

static void session_add(struct rx *rx, struct media_session *s)
{
	if (s->tapped)
		return;
	for (size_t i = 0; i < READ_COUNT; i++) {
		struct rx_socket *socket = read_at(s, i);
		struct epoll_event event = {
			.events = EPOLLIN,
			.data.ptr = socket,
		};

		/* fails for want of kernel memory only; then nothing is
		 * received and the measurement says so */
		if (socket->fd >= 0)
			epoll_ctl(rx->e->epoll_fd, EPOLL_CTL_ADD, socket->fd,
				  &event);
	}
}

static void session_stop(struct rx *rx, struct media_session *s)
{
	if (s->tapped)
		tap_stop(rx, s);
	for (size_t i = 0; i < READ_COUNT && !s->tapped; i++) {
		struct rx_socket *socket = read_at(s, i);
		uint32_t drops;
		/* what had arrived belongs to the call; a flood must not hold
		 * the thread here */
		int batches = STOP_BATCHES_MAX;

		if (socket->fd < 0)
			continue;
		while (batch_read(rx, socket) == BATCH && --batches > 0)
			continue;
		epoll_ctl(rx->e->epoll_fd, EPOLL_CTL_DEL, socket->fd, NULL);
		if (socket_drops(socket->fd, &drops) == 0)
			drops_seen(rx, socket, drops);
	}
	stash_discard(rx, s);
	s->rx_last_packet = rx->e->received_pushed;
	s->rx_last_rtcp = rx->e->rtcp_pushed;
	/* release: pairs with the acquire in stopping_check(), publishes the
	 * two counts; the session is not touched after */
	atomic_store_explicit(&s->rx_done, true, memory_order_release);
}

static void linger_start(struct rx *rx, struct media_session *s)
{
	size_t at = (rx->linger_first + rx->linger_count) % rx->e->slots;

	s->rx.linger_until_ns = clock_mono_ns() + LINGER_NS;
	rx->lingering[at] = s;
	rx->linger_count++;
}

/* @return how long epoll may wait for the next one, ms; -1: there is none */
static int linger_check(struct rx *rx)
{
	int64_t now_ns = rx->linger_count ? clock_mono_ns() : 0;

	while (rx->linger_count > 0) {
		struct media_session *s = rx->lingering[rx->linger_first];
		int64_t left_ns = s->rx.linger_until_ns - now_ns;

		if (left_ns > 0)
			return (int)(left_ns / NS_PER_MS) + 1;
		rx->linger_first = (rx->linger_first + 1) % rx->e->slots;
		rx->linger_count--;
		session_stop(rx, s);
	}
	return -1;
}

static void events_know(struct media_session *s,
			const struct rtp_payload_map *map)
{
	memset(s->rx.event_clock_hz, 0, sizeof(s->rx.event_clock_hz));
	for (size_t i = 0; i < map->count; i++) {
		const struct rtp_payload *p = &map->entries[i];

		if (p->kind == RTP_PAYLOAD_TE)
			s->rx.event_clock_hz[p->pt & PACKET_PT_MASK] =
				p->clock_hz;
	}
}

static void command_take(struct rx *rx, struct command *c)
{
	struct media_session *s = c->session;
	enum command_kind kind = c->kind;

	if (kind == COMMAND_ADD) {
		session_add(rx, s);
	} else if (kind == COMMAND_APPLY) {
		s->rx.has_peer = c->rtp.len > 0;
		s->rx.peer = c->rtp;
		events_know(s, &c->map);
		if (s->tapped) {
			s->rx.tap_secure = c->encrypted;
		} else {
			rx_secure_apply(&s->rx, c, clock_mono_ns());
			stash_read(rx, s);
		}
	} else if (kind == COMMAND_TAP) {
		tap_assign(rx, s, c->tap_rtp, c->tap_rtcp);
	} else if (kind == COMMAND_RELAY) {
		s->rx.sockets[c->socket].relay = c->relay;
		s->rx.streams[c->socket].relay = c->relay;
	} else if (kind == COMMAND_REKEY) {
		s->rx.rekeying = true;
	}
	command_done(c);
	if (kind == COMMAND_STOP)
		linger_start(rx, s);
}

static void commands_take(struct rx *rx)
{
	struct thread *thread = &rx->e->threads[THREAD_RX];
	struct command *c;

	engine_wake_clear(thread->wake_fd);
	while (ring_pop(thread->commands, &c))
		command_take(rx, c);
}

int rx_new(struct rx **ret, struct media_engine *e)
{
	struct rx *rx = calloc(1, sizeof(*rx));

	if (!rx)
		return -ENOMEM;
	rx->e = e;
	rx->lingering = calloc(e->slots, sizeof(struct media_session *));
	if (!rx->lingering) {
		free(rx);
		return -ENOMEM;
	}
	slots_reset(rx, BATCH);
	*ret = rx;
	return 0;
}

struct rx *rx_free(struct rx *rx)
{
	if (rx)
		free(rx->lingering);
	free(rx);
	return NULL;
}

void *rx_thread(void *arg)
{
	struct rx *rx = arg;
	struct epoll_event events[EVENTS_MAX];
	int wait_ms = -1;

	/* acquire: pairs with the release in threads_stop(); nothing else is
	 * published by it */
	while (!atomic_load_explicit(&rx->e->quit, memory_order_acquire)) {
		int count = epoll_wait(rx->e->epoll_fd, events, EVENTS_MAX,
				       wait_ms);
		bool commands = false;

		/* one batch a socket and turn: a flood on one does not starve
		 * the others, epoll brings the rest again */
		for (int i = 0; i < count; i++) {
			if (!events[i].data.ptr)
				commands = true;
			else if (events[i].data.ptr == rx->e->tap)
				tap_read_all(rx);
			else
				batch_read(rx, events[i].data.ptr);
		}
		/* last: a stopped session may still be in `events` */
		if (commands)
			commands_take(rx);
		wait_ms = linger_check(rx);
	}
	return NULL;
}
