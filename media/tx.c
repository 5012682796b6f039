/* The TX thread: RTP of all sessions by absolute deadlines, and RTCP. */
#include "base/clock.h"
#include "media/analysis/rtp_header.h"
#include "media/audio.h"
#include "media/audio_marker.h"
#include "media/engine.h"
#include "media/turn_frame.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define PACKET_BYTES_MAX \
	(RTP_HEADER_BYTES + CODEC_PAYLOAD_MAX + SRTP_OVERHEAD_BYTES)

/* IPv4 and UDP; what RFC 3550 6.2 counts as lower layers */
#define UDP_IP_BYTES 28
/* What the first interval assumes: SR, one block, SDES (6.3.2: "probable") */
#define FIRST_COMPOUND_BYTES 110.0
/* The analysis answers within its delay; a report leaves without a block
 * when it did not. */
#define ANSWER_MAX_NS (300 * NS_PER_MS)

static double random_unit(struct tx_session *tx)
{
	/* xorshift64*, Vigna 2016: no system call in this thread */
	tx->random ^= tx->random >> 12;
	tx->random ^= tx->random << 25;
	tx->random ^= tx->random >> 27;
	return (double)((tx->random * 0x2545f4914f6cdd1du) >> 11) /
	       9007199254740992.0; /* 2^53 */
}

/* ---- RTP ---- */

/* The next packet of a clip. @param at  in/out: next byte, or frame */
static size_t clip_read(const struct clip *clip, size_t *at, size_t bytes,
			uint8_t *dst)
{
	size_t begin = 0;
	size_t n;

	if (clip->ends) {
		if (*at > 0)
			begin = clip->ends[*at - 1];
		n = clip->ends[*at] - begin;
		if (n > CODEC_PAYLOAD_MAX)
			n = 0;
		memcpy(dst, clip->data + begin, n);
		*at = (*at + 1) % clip->frames;
		return n;
	}
	for (size_t done = 0; done < bytes; done += n) {
		size_t left = clip->bytes - *at;

		n = bytes - done < left ? bytes - done : left;
		memcpy(dst + done, clip->data + *at, n);
		*at = (*at + n) % clip->bytes;
	}
	return bytes;
}

static size_t payload_write(struct tx_session *tx, uint8_t *dst)
{
	return clip_read(tx->clip, &tx->clip_at, tx->stream_bytes, dst);
}

static void header_write(const struct media_session *s, uint8_t *dst,
			 uint8_t pt, bool marker, uint32_t ts)
{
	const struct tx_session *tx = &s->tx;

	dst[0] = 0x80; /* version 2, no padding, extension or CSRC */
	dst[1] = (uint8_t)(pt | (marker ? PACKET_MARKER_BIT : 0));
	dst[2] = (uint8_t)(tx->seq >> 8);
	dst[3] = (uint8_t)tx->seq;
	for (int i = 0; i < 4; i++) {
		dst[4 + i] = (uint8_t)(ts >> (24 - 8 * i));
		dst[8 + i] = (uint8_t)(s->ssrc >> (24 - 8 * i));
	}
}

static int32_t saturated_us(int64_t ns)
{
	int64_t us = ns / NS_PER_US;

	return us > INT32_MAX ? INT32_MAX : (int32_t)us;
}

/* Go to the next packet's place in time; elapsed time counts in ticks. */
static void step(struct tx_session *tx, int64_t packets)
{
	tx->due_ns += packets * tx->ptime_ms * NS_PER_MS;
	tx->ts += (uint32_t)packets * tx->ticks;
}

/* What must be encrypted is, in place. @return 0; -errno: it cannot be */
static int secure(struct tx_session *tx, uint8_t *data, size_t *bytes,
		  size_t room, bool rtcp)
{
	if (!tx->encrypted)
		return 0;
	if (!tx->key)
		return -ENOKEY;
	return rtcp ? srtp_context_protect_rtcp(tx->key->context, data, bytes,
						room)
		    : srtp_context_protect(tx->key->context, data, bytes, room);
}

/* To the audio thread. */
static void audio_left(struct media_session *s, const uint8_t *data,
		       size_t payload, uint32_t ts)
{
	const struct payload head = {
		.mono_ns = s->tx.due_ns,
		.slot = s->slot,
		.ssrc = s->ssrc,
		.ts = ts,
		.seq = s->tx.seq,
		.bytes = (uint16_t)payload,
		.pt = data[1] & PACKET_PT_MASK,
	};

	audio_push(s, &head, data + RTP_HEADER_BYTES, true);
}

/* To the peer, straight or in a channel of the TURN server. */
static ssize_t transmit(const struct media_session *s, unsigned socket,
			const struct media_addr *to, uint16_t channel,
			const uint8_t *data, size_t bytes)
{
	const struct media_addr *via = channel ? &s->tx.via : to;
	union {
		const uint8_t *in;
		void *out; /* sendmsg() does not write there */
	} payload = {.in = data};
	uint8_t header[TURN_CHANNEL_BYTES];
	struct iovec parts[2] = {{header, channel ? sizeof(header) : 0},
				 {payload.out, bytes}};
	struct sockaddr_storage name = via->ss;
	int stream = s->rx.streams[socket].fd;
	const struct msghdr message = {
		.msg_name = stream < 0 ? &name : NULL,
		.msg_namelen = stream < 0 ? via->len : 0,
		.msg_iov = parts,
		.msg_iovlen = 2,
	};

	if (!channel)
		return sendto(s->rx.sockets[socket].fd, data, bytes, 0,
			      (const struct sockaddr *)(const void *)&to->ss,
			      to->len);
	turn_frame_channel(header, channel, bytes);
	return sendmsg(stream < 0 ? s->rx.sockets[socket].fd : stream, &message,
		       0);
}

/* Send what header and payload stand in `data`, PACKET_BYTES_MAX. */
static void packet_send(struct media_engine *e, struct media_session *s,
			uint8_t *data, size_t payload, uint32_t ts)
{
	struct tx_session *tx = &s->tx;
	int64_t now_ns = clock_mono_ns();
	int64_t late_ns = now_ns - tx->due_ns;
	struct packet_record r = {
		.mono_ns = now_ns,
		.rtp_ts = ts,
		.ssrc = s->ssrc,
		.session = s->slot,
		.lateness_us = saturated_us(late_ns),
		.seq = tx->seq,
		.payload_bytes = (uint16_t)payload,
		.header_bytes = RTP_HEADER_BYTES,
		.marker_pt = data[1],
		.kind = PACKET_RTP_SENT,
	};
	size_t bytes = RTP_HEADER_BYTES + payload;
	ssize_t sent = -1;

	if (s->audio_sent) /* before it is encrypted in place */
		audio_left(s, data, payload, ts);
	if (secure(tx, data, &bytes, PACKET_BYTES_MAX, false) == 0)
		sent = transmit(s, SOCKET_RTP, &tx->rtp, tx->channel_rtp, data,
				bytes);

	/* a refused packet keeps its number: the receiver sees it as lost,
	 * which it is */
	tx->seq++;
	if (sent < 0) {
		COUNTER_ADD(&e->tx.errors, 1);
		return;
	}
	tx->marker = false;
	tx->packets++;
	tx->payload_bytes += payload;
	COUNTER_ADD(&e->tx.packets, 1);
	lateness_add(&e->tx.lateness, late_ns);
	if (ring_push(e->sent, &r))
		e->sent_pushed++;
}

/* Send the audio that stands behind the header's place. */
static void audio_send(struct media_engine *e, struct media_session *s,
		       uint8_t *data, size_t payload)
{
	if (payload == 0) { /* DTX: the next packet begins a talkspurt */
		s->tx.marker = true;
		return;
	}
	header_write(s, data, s->tx.pt, s->tx.marker, s->tx.ts);
	packet_send(e, s, data, payload, s->tx.ts);
}

/* ---- digits ---- */

/* @param flags  enum digit_sent */
static void digit_sent(struct media_engine *e, struct media_session *s,
		       char digit, unsigned ms, unsigned flags)
{
	const struct packet_record r = {
		.mono_ns = clock_mono_ns(),
		.ssrc = s->ssrc,
		.session = s->slot,
		.seq = (uint16_t)digit,
		.payload_bytes = (uint16_t)ms,
		.marker_pt = (uint8_t)flags,
		.kind = PACKET_DIGIT_SENT,
	};

	if (ring_push(e->sent, &r))
		e->sent_pushed++;
}

/* @return false: the place is the audio's */
static bool event_send(struct media_engine *e, struct media_session *s)
{
	struct tx_session *tx = &s->tx;
	uint8_t data[PACKET_BYTES_MAX];
	struct dtmf_packet p;

	if (!dtmf_send_next(&tx->dtmf, tx->due_ns, tx->ts, tx->ptime_ms, &p))
		return false;
	/* the prompt goes on unheard */
	payload_write(tx, data + RTP_HEADER_BYTES);
	header_write(s, data, tx->event_pt, p.marker, p.ts);
	dtmf_payload_write(data + RTP_HEADER_BYTES, &p.payload);
	packet_send(e, s, data, DTMF_PAYLOAD_BYTES, p.ts);
	if (p.finished)
		digit_sent(e, s, p.digit, tx->dtmf.order.duration_ms,
			   p.last ? DIGIT_LAST : 0);
	return true;
}

/* @return payload bytes; a packet without the prompt's next one */
static size_t tones_write(struct media_engine *e, struct media_session *s,
			  uint8_t *dst)
{
	struct tx_session *tx = &s->tx;
	const struct dtmf_clip *tones = &tx->tones.command->tones;
	struct dtmf_clip_step step;
	size_t payload;

	/* the prompt goes on unheard */
	payload_write(tx, dst);
	payload = clip_read(&tones->clip, &tx->tones.at, tx->stream_bytes, dst);
	dtmf_clip_step(tones, tx->tones.packet++, &tx->tones.digit, &step);
	if (step.finished)
		digit_sent(e, s, step.digit, tones->order.duration_ms,
			   DIGIT_TONE | (step.over ? DIGIT_LAST : 0));
	if (step.over)
		tx_tones_end(&tx->tones);
	return payload;
}

/* An order that can no longer be sent. */
static void tones_cut(struct media_engine *e, struct media_session *s)
{
	if (!s->tx.tones.command)
		return;
	digit_sent(e, s, s->tx.tones.command->tones.order.digits[0], 0,
		   DIGIT_TONE | DIGIT_LAST);
	tx_tones_end(&s->tx.tones);
}

static void prompt_or_tones_send(struct media_engine *e,
				 struct media_session *s)
{
	uint8_t data[PACKET_BYTES_MAX];
	uint8_t *dst = data + RTP_HEADER_BYTES;

	audio_send(e, s, data,
		   s->tx.tones.command ? tones_write(e, s, dst)
				       : payload_write(&s->tx, dst));
}

static bool may_send(const struct tx_session *tx)
{
	/* a key that is still to come: nothing leaves in plain */
	return tx->sends && !(tx->encrypted && !tx->key) &&
	       (tx->until_ns == 0 || tx->due_ns < tx->until_ns);
}

static void rtp_due(struct media_engine *e, struct media_session *s)
{
	struct tx_session *tx = &s->tx;

	if (!may_send(tx)) {
		tx_heap_clear(&e->heap, s, TX_TIMER_RTP);
		return;
	}
	if (!event_send(e, s))
		prompt_or_tones_send(e, s);
	step(tx, 1);
	tx_heap_set(&e->heap, s, TX_TIMER_RTP, tx->due_ns);
}

/* The next packet's place in a clip that keeps step with the wall clock: its
 * due time becomes a multiple of the packet time there. */
static void clip_align(const struct media_engine *e, struct tx_session *tx)
{
	int64_t packet_ns = tx->ptime_ms * NS_PER_MS;
	int64_t wall_ns = tx->due_ns + e->ntp_offset_ns;
	int64_t over_ns = wall_ns % packet_ns;
	int64_t at_ns;

	if (!tx->aligned)
		return;
	if (over_ns > 0)
		tx->due_ns += packet_ns - over_ns;
	at_ns = (tx->due_ns + e->ntp_offset_ns) % AUDIO_MARKER_PERIOD_NS;
	if (tx->clip->ends)
		tx->clip_at = (size_t)(at_ns / packet_ns) % tx->clip->frames;
	else
		tx->clip_at = (size_t)(at_ns / packet_ns) * tx->stream_bytes %
			      tx->clip->bytes;
}

/* After direction or limit changed. */
static void sending_review(struct media_engine *e, struct media_session *s,
			   int64_t now_ns)
{
	struct tx_session *tx = &s->tx;
	int64_t packet_ns = tx->ptime_ms * NS_PER_MS;

	if (!tx->applied)
		return;
	if (!may_send(tx)) {
		tx_heap_clear(&e->heap, s, TX_TIMER_RTP);
		return;
	}
	if (tx->timer_at[TX_TIMER_RTP] != TX_NO_TIMER)
		return;
	/* resume: the places passed by in silence stay silent */
	tx->marker = true;
	if (tx->due_ns < now_ns)
		step(tx, (now_ns - tx->due_ns + packet_ns - 1) / packet_ns);
	clip_align(e, tx);
	if (may_send(tx))
		tx_heap_set(&e->heap, s, TX_TIMER_RTP, tx->due_ns);
}

/* ---- RTCP ---- */

static bool is_sender(const struct tx_session *tx)
{
	/* RTP was sent since the last but one report (6.4, 6.3.8) */
	return tx->packets > tx->packets_reported[1];
}

static int64_t rtcp_interval(const struct media_engine *e,
			     struct media_session *s)
{
	struct tx_session *tx = &s->tx;
	bool we_sent = is_sender(tx);
	double packets_per_s = 1000.0 / tx->ptime_ms;
	double bytes = RTP_HEADER_BYTES + UDP_IP_BYTES + tx->payload_mean;
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

static uint32_t since(int64_t then_ns, int64_t now_ns)
{
	return (uint32_t)((now_ns - then_ns) * 65536 / NS_PER_S);
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
	xr->has_dlrr = xr->has_dlrr && wanted & MEDIA_XR_RTT;
	if (xr->has_dlrr)
		xr->dlrr.dlrr = since(answer->rrtr_ns, now_ns);
	xr->has_summary = xr->has_summary && wanted & MEDIA_XR_SUMMARY;
	if (!(wanted & MEDIA_XR_LOSS))
		xr->summary.has_loss = false;
	if (!(wanted & MEDIA_XR_DUPLICATES))
		xr->summary.has_duplicates = false;
	if (!(wanted & MEDIA_XR_JITTER))
		xr->summary.has_jitter = false;
	xr->has_voip = xr->has_voip && wanted & MEDIA_XR_VOIP;
}

static void rtcp_send(struct media_engine *e, struct media_session *s,
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

	tx->rtcp_last_ns = now_ns;
	if (tx->rtcp.len == 0 || (tx->encrypted && !tx->key))
		return;
	c.sender = sender_info(e, s, now_ns);
	if (answer && answer->has_report) {
		c.has_report = true;
		c.report = answer->report;
		if (c.report.lsr != 0)
			c.report.dlsr = since(answer->sr_ns, now_ns);
	}
	if (!bye)
		xr_fill(&c, tx->xr, answer, now_ns);
	bytes = rtcp_compound_write(data, &c);
	if (secure(tx, data, &bytes, sizeof(data), true) ||
	    transmit(s, tx->rtcp_mux ? SOCKET_RTP : SOCKET_RTCP, &tx->rtcp,
		     tx->channel_rtcp, data, bytes) < 0)
		COUNTER_ADD(&e->tx.errors, 1);
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

static void rtcp_due(struct media_engine *e, struct media_session *s,
		     int64_t now_ns)
{
	struct tx_session *tx = &s->tx;
	struct packet_record wanted = {
		.mono_ns = now_ns,
		.session = s->slot,
		.kind = PACKET_REPORT_WANTED,
	};
	int64_t again_ns;

	if (tx->report_wanted) { /* no answer came */
		rtcp_send(e, s, NULL, false);
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
	if (ring_push(e->sent, &wanted))
		e->sent_pushed++;
}

static void answers_take(struct media_engine *e)
{
	struct report_answer answer;

	while (ring_pop(e->answers, &answer)) {
		struct media_session *s = e->tx_sessions[answer.slot];

		/* stopped meanwhile; the slot may be another's by now */
		if (!s || s->ssrc != answer.ssrc)
			continue;
		s->tx.members = answer.members;
		s->tx.peer_senders = answer.senders;
		if (!s->tx.report_wanted)
			continue; /* too late */
		rtcp_send(e, s, &answer, false);
		rtcp_next(e, s);
	}
}

/* ---- commands ---- */

static void session_start(struct media_engine *e, struct media_session *s,
			  int64_t start_ns)
{
	struct tx_session *tx = &s->tx;

	e->tx_sessions[s->slot] = s;
	tx->applied = true;
	tx->marker = true;
	tx->due_ns = start_ns;
	tx->members = 2; /* the peer will join */
	tx->average_bytes = FIRST_COMPOUND_BYTES + UDP_IP_BYTES;
	tx->rtcp_last_ns = start_ns;
	rtcp_next(e, s);
}

static void key_apply(struct tx_session *tx, const struct command *c)
{
	tx->encrypted = c->encrypted;
	if (tx->key == c->key_tx)
		return;
	if (tx->key && c->key_tx)
		srtp_context_continue(c->key_tx->context, tx->key->context);
	session_key_drop(tx->key);
	tx->key = c->key_tx;
}

static void session_apply(struct media_engine *e, struct media_session *s,
			  const struct command *c)
{
	struct tx_session *tx = &s->tx;

	tx->rtp = c->rtp;
	tx->rtcp = c->rtcp;
	tx->rtcp_mux = c->rtcp_mux;
	tx->via = c->via;
	tx->channel_rtp = c->channel_rtp;
	tx->channel_rtcp = c->channel_rtcp;
	key_apply(tx, c);
	tx->sends = c->sends && (!tx->encrypted || tx->key);
	tx->xr = c->xr;
	tx->aligned = c->aligned;
	tx->pt = c->pt;
	if (tx->clip != c->clip)
		tx->clip_at = 0;
	tx->clip = c->clip;
	if (tx->tones.command &&
	    !tx_tones_fit(&tx->tones, c->codec, c->ptime_ms))
		tones_cut(e, s);
	tx->ptime_ms = c->ptime_ms;
	tx->codec = c->codec;
	tx->ticks = codec_ticks(c->codec, c->ptime_ms);
	tx->clock_hz = c->codec->clock_hz;
	tx->has_event = c->has_event;
	tx->event_pt = c->event_pt;
	tx->event_clock_hz = c->event_clock_hz;
	tx->stream_bytes = (size_t)c->codec->bytes_per_s * c->ptime_ms / 1000;
	tx->payload_mean =
		c->clip->ends ? (double)c->clip->bytes / (double)c->clip->frames
			      : (double)tx->stream_bytes;
	if (!tx->applied) {
		session_start(e, s, c->mono_ns);
		clip_align(e, tx);
		if (may_send(tx))
			tx_heap_set(&e->heap, s, TX_TIMER_RTP, tx->due_ns);
		return;
	}
	sending_review(e, s, c->mono_ns);
}

static void session_stop(struct media_engine *e, struct media_session *s,
			 int64_t stop_ns)
{
	struct tx_session *tx = &s->tx;

	tx_heap_clear(&e->heap, s, TX_TIMER_RTCP);
	/* what was due before the stop is sent, however late this thread is */
	while (tx->timer_at[TX_TIMER_RTP] != TX_NO_TIMER &&
	       tx->due_ns < stop_ns)
		rtp_due(e, s);
	tx_heap_clear(&e->heap, s, TX_TIMER_RTP);
	tx_tones_end(&tx->tones);
	tx->report_wanted = false;
	/* 6.3.7: who never sent anything says no BYE */
	if (tx->applied && (tx->rtcp_sent || tx->packets > 0))
		rtcp_send(e, s, NULL, true);
	s->tx_last_packet = e->sent_pushed;
	s->tx_packets = tx->packets;
	s->tx_payload_bytes = tx->payload_bytes;
	e->tx_sessions[s->slot] = NULL;
	/* release: pairs with the acquire in stopping_check(), publishes the
	 * counts; the session is not touched after */
	atomic_store_explicit(&s->tx_done, true, memory_order_release);
}

static void command_take(struct media_engine *e, struct command *c)
{
	struct media_session *s = c->session;
	enum command_kind kind = c->kind;
	int64_t mono_ns = c->mono_ns;

	if (kind == COMMAND_APPLY) {
		session_apply(e, s, c);
	} else if (kind == COMMAND_UNTIL) {
		s->tx.until_ns = c->until_ns;
		sending_review(e, s, mono_ns);
	} else if (kind == COMMAND_DTMF) {
		/* one at a time: the loop sees to that */
		(void)dtmf_send_order(&s->tx.dtmf, &c->order,
				      s->tx.event_clock_hz);
	} else if (kind == COMMAND_TONES) {
		/* one at a time, too; given back when they were sent */
		tx_tones_begin(&s->tx.tones, c);
		if (!tx_tones_fit(&s->tx.tones, s->tx.codec, s->tx.ptime_ms))
			tones_cut(e, s);
		return;
	}
	command_done(c);
	if (kind == COMMAND_STOP)
		session_stop(e, s, mono_ns);
}

static void commands_take(struct media_engine *e)
{
	struct thread *thread = &e->threads[THREAD_TX];
	struct command *c;

	engine_wake_clear(thread->wake_fd);
	answers_take(e);
	while (ring_pop(thread->commands, &c))
		command_take(e, c);
}

/* ---- the thread ---- */

static void timers_run(struct media_engine *e)
{
	int64_t now_ns = clock_mono_ns();
	const struct tx_entry *first;

	while ((first = tx_heap_first(&e->heap)) && first->due_ns <= now_ns) {
		if (first->timer == TX_TIMER_RTP)
			rtp_due(e, first->session);
		else
			rtcp_due(e, first->session, now_ns);
	}
}

static bool wait_for_work(struct media_engine *e)
{
	struct pollfd wake = {
		.fd = e->threads[THREAD_TX].wake_fd,
		.events = POLLIN,
	};
	const struct tx_entry *first = tx_heap_first(&e->heap);
	struct timespec timeout = {0};

	if (first) {
		int64_t wait_ns = first->due_ns - clock_mono_ns();

		if (wait_ns > 0) {
			timeout.tv_sec = wait_ns / NS_PER_S;
			timeout.tv_nsec = wait_ns % NS_PER_S;
		}
	}
	return ppoll(&wake, 1, first ? &timeout : NULL, NULL) > 0;
}

void *tx_thread(void *engine)
{
	struct media_engine *e = engine;

	/* the default slack of 50 us would be lateness of our own making */
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	/* acquire: pairs with the release in threads_stop(); nothing else is
	 * published by it */
	while (!atomic_load_explicit(&e->quit, memory_order_acquire)) {
		if (wait_for_work(e))
			commands_take(e);
		timers_run(e);
	}
	return NULL;
}
