/* RTP: the next packet of a prompt, a file or digits, and its due time. */
#include "base/clock.h"
#include "media/analysis/rtp_header.h"
#include "media/audio/audio_marker.h"
#include "media/tx/tx_internal.h"

#include <string.h>

_Static_assert(TX_PACKET_BYTES_MAX == RTP_HEADER_BYTES + CODEC_PAYLOAD_MAX +
					      SRTP_OVERHEAD_BYTES,
	       "room for a packet");

/** The content of one packet, from a clip. */
struct content {
	size_t bytes; /* 0: send nothing */
	bool noise;   /* comfort noise */
	bool missing; /* not encoded yet */
};

/* @return bytes */
static size_t stream_read(const struct clip *clip, size_t *at, size_t bytes,
			  uint8_t *dst)
{
	size_t n;

	for (size_t done = 0; done < bytes; done += n) {
		size_t left = clip->count - *at;

		n = bytes - done < left ? bytes - done : left;
		memcpy(dst + done, clip->data + *at, n);
		*at = (*at + n) % clip->count;
	}
	return bytes;
}

/* Read the next packet of a clip.
 * @param at  in/out: next byte or frame; unchanged if it is missing */
static struct content clip_read(const struct clip *clip, size_t *at,
				size_t bytes, uint8_t *dst)
{
	struct content ret = {0};
	const struct clip_frame *frame;

	if (!clip_has(clip, *at, clip->frames ? 1 : bytes)) {
		ret.missing = true;
		return ret;
	}
	if (!clip->frames) {
		ret.bytes = stream_read(clip, at, bytes, dst);
		return ret;
	}
	frame = &clip->frames[*at];
	if (frame->bytes <= CODEC_PAYLOAD_MAX)
		ret.bytes = frame->bytes;
	memcpy(dst, frame->data, ret.bytes);
	ret.noise = frame->noise;
	*at = (*at + 1) % clip->count;
	return ret;
}

/* ---- a file that is played once, instead of the prompt ---- */

/* Return the command. */
static void play_end(struct tx_play *p)
{
	const struct tx_command *c = p->command;

	memset(p, 0, sizeof(*p));
	if (c)
		command_done(&c->head);
}

/* One packet was sent.
 * @param bytes  of a packet of a byte stream
 * @return it was the last one */
static bool play_step(struct tx_play *p, size_t bytes)
{
	const struct clip *clip = p->command->clip;
	size_t packets = clip->frames ? clip->count : clip->count / bytes;

	return ++p->packet >= packets;
}

static void played(struct tx *t, struct tx_session *s, bool whole)
{
	const struct packet_record r = {
		.mono_ns = clock_mono_ns(),
		.ssrc = s->ssrc,
		.session = s->slot,
		.marker_pt = whole,
		.kind = PACKET_PLAYED,
	};

	play_end(&s->play);
	if (ring_push(t->p.sent, &r))
		t->sent_pushed++;
}

static void play_cut(struct tx *t, struct tx_session *s)
{
	if (s->play.command)
		played(t, s, false);
}

/* Cut a file that was encoded for another codec or packet time. */
static void play_check(struct tx *t, struct tx_session *s)
{
	const struct tx_command *c = s->play.command;

	if (c && (c->codec != s->codec || c->ptime_ms != s->ptime_ms))
		play_cut(t, s);
}

void tx_rtp_play_begin(struct tx *t, struct tx_session *s,
		       const struct tx_command *c)
{
	play_cut(t, s);
	s->play = (struct tx_play){.command = c};
	play_check(t, s);
}

/* Frames or bytes per packet. */
static size_t clip_packet(const struct tx_session *s)
{
	return s->clip->frames ? 1 : s->stream_bytes;
}

/* Read the next packet to send. The prompt goes on unheard while a file is
 * played, and both do while muted. */
static struct content content_write(struct tx *t, struct tx_session *s,
				    uint8_t *dst)
{
	struct content ret =
		clip_read(s->clip, &s->clip_at, s->stream_bytes, dst);

	if (ret.missing && s->aligned) /* keep in step with the wall clock */
		s->clip_at = (s->clip_at + clip_packet(s)) % s->clip->count;
	if (s->play.command) {
		ret = clip_read(s->play.command->clip, &s->play.at,
				s->stream_bytes, dst);
		if (play_step(&s->play, s->stream_bytes))
			played(t, s, true);
	}
	if (s->mute)
		ret = clip_read(s->mute, &s->mute_at, s->stream_bytes, dst);
	return ret;
}

static void header_write(const struct tx_session *s, uint8_t *dst, uint8_t pt,
			 bool marker, uint32_t ts)
{
	dst[0] = 0x80; /* version 2, no padding, extension or CSRC */
	dst[1] = (uint8_t)(pt | (marker ? PACKET_MARKER_BIT : 0));
	dst[2] = (uint8_t)(s->seq >> 8);
	dst[3] = (uint8_t)s->seq;
	for (int i = 0; i < 4; i++) {
		dst[4 + i] = (uint8_t)(ts >> (24 - 8 * i));
		dst[8 + i] = (uint8_t)(s->ssrc >> (24 - 8 * i));
	}
}

/* Go on to a later packet's due time. The RTP timestamp counts the elapsed
 * time. */
static void advance_due(struct tx_session *s, int64_t packets)
{
	s->due_ns += packets * s->ptime_ms * NS_PER_MS;
	s->ts += (uint32_t)packets * s->ticks;
}

/* Give the payload to the audio thread. */
static void audio_left(struct tx_session *s, const uint8_t *data,
		       size_t payload, uint32_t ts)
{
	const struct payload head = {
		.mono_ns = s->due_ns,
		.slot = s->slot,
		.ssrc = s->ssrc,
		.ts = ts,
		.seq = s->seq,
		.bytes = (uint16_t)payload,
		.pt = data[1] & PACKET_PT_MASK,
		.sent = true,
	};

	if (!payload_ring_push(s->payloads, &head, data + RTP_HEADER_BYTES))
		s->end->audio_dropped[1]++;
}

static int32_t saturated_us(int64_t ns)
{
	int64_t us = ns / NS_PER_US;

	return us > INT32_MAX ? INT32_MAX : (int32_t)us;
}

void tx_rtp_left(struct tx *t, const struct tx_packet *packet, int64_t now_ns,
		 int err)
{
	struct tx_session *s = packet->session;
	int64_t late_ns = now_ns - packet->due_ns;
	const struct packet_record r = {
		.mono_ns = now_ns,
		.rtp_ts = packet->rtp_ts,
		.ssrc = s->ssrc,
		.session = s->slot,
		.lateness_us = saturated_us(late_ns),
		.seq = packet->seq,
		.payload_bytes = packet->payload_bytes,
		.header_bytes = RTP_HEADER_BYTES,
		.marker_pt = packet->marker_pt,
		.kind = PACKET_RTP_SENT,
	};

	if (err) {
		s->marker |= packet->talkspurt; /* the next one begins it */
		tx_refused(t, s, false, err);
		return;
	}
	if (s->captured)
		tx_copy(s, false, now_ns, packet->data, packet->bytes);
	if (s->packets == s->packets_before)
		tx_reached(t, s, false);
	s->packets++;
	s->payload_bytes += packet->payload_bytes;
	COUNTER_ADD(&t->counters.packets, 1);
	lateness_add(&t->counters.lateness, late_ns);
	if (ring_push(t->p.sent, &r))
		t->sent_pushed++;
}

/* Send a packet.
 * @param data     room for TX_PACKET_BYTES_MAX; header and payload are written
 * @param payload  bytes */
static void packet_send(struct tx *t, struct tx_session *s, uint8_t *data,
			size_t payload, uint32_t ts)
{
	struct tx_packet packet = {
		.session = s,
		.due_ns = s->due_ns,
		.rtp_ts = ts,
		.seq = s->seq,
		.payload_bytes = (uint16_t)payload,
		.marker_pt = data[1],
		.talkspurt = s->marker,
		.data = data,
		.bytes = RTP_HEADER_BYTES + payload,
	};
	int err;

	if (s->decodes) /* before it is encrypted in place */
		audio_left(s, data, payload, ts);
	/* a refused packet keeps its sequence number: the receiver rightly sees
	 * it as lost */
	s->seq++;
	s->marker = false;
	err = tx_secure(s, data, &packet.bytes, TX_PACKET_BYTES_MAX, false);
	if (err)
		tx_rtp_left(t, &packet, clock_mono_ns(), -err);
	else
		s->path->send(t, &packet);
}

/* Send audio.
 * @param data  the payload follows the place of the header */
static void audio_send(struct tx *t, struct tx_session *s, uint8_t *data,
		       struct content content)
{
	if (content.missing)
		COUNTER_ADD(&t->counters.unsent, 1);
	if (content.bytes == 0) { /* DTX: the next packet begins a talkspurt */
		s->marker = true;
		return;
	}
	header_write(s, data, content.noise ? s->noise_pt : s->pt,
		     s->marker && !content.noise, s->ts);
	packet_send(t, s, data, content.bytes, s->ts);
	/* sound after noise begins a talkspurt (RFC 3551 section 4.1) */
	if (content.noise)
		s->marker = true;
}

/* ---- digits ---- */

/* @param flags  enum digit_sent */
static void digit_sent(struct tx *t, struct tx_session *s, char digit,
		       unsigned ms, unsigned flags)
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

	if (ring_push(t->p.sent, &r))
		t->sent_pushed++;
}

/* @return false: no event is due, send audio */
static bool event_send(struct tx *t, struct tx_session *s)
{
	uint8_t data[TX_PACKET_BYTES_MAX];
	struct dtmf_packet p;

	if (!dtmf_send_next(&s->dtmf, s->due_ns, s->ts, s->ptime_ms, &p))
		return false;
	/* the prompt goes on unheard */
	content_write(t, s, data + RTP_HEADER_BYTES);
	header_write(s, data, s->event_pt, p.marker, p.ts);
	dtmf_payload_write(data + RTP_HEADER_BYTES, &p.payload);
	packet_send(t, s, data, DTMF_PAYLOAD_BYTES, p.ts);
	if (p.finished)
		digit_sent(t, s, p.digit, s->dtmf.order.duration_ms,
			   p.last ? DIGIT_LAST : 0);
	return true;
}

static void tones_end(struct tx_tones *p)
{
	const struct tx_command *c = p->command;

	memset(p, 0, sizeof(*p));
	if (c)
		command_done(&c->head);
}

/* Tones replace all other audio. */
static struct content tones_write(struct tx *t, struct tx_session *s,
				  uint8_t *dst)
{
	const struct dtmf_clip *tones = &s->tones.command->tones;
	struct dtmf_clip_step step;
	struct content content;

	content = clip_read(&tones->clip, &s->tones.at, s->stream_bytes, dst);
	dtmf_clip_step(tones, s->tones.packet++, &s->tones.digit, &step);
	if (step.finished)
		digit_sent(t, s, step.digit, tones->order.duration_ms,
			   DIGIT_TONE | (step.over ? DIGIT_LAST : 0));
	if (step.over)
		tones_end(&s->tones);
	return content;
}

static void tones_cut(struct tx *t, struct tx_session *s)
{
	if (!s->tones.command)
		return;
	digit_sent(t, s, s->tones.command->tones.order.digits[0], 0,
		   DIGIT_TONE | DIGIT_LAST);
	tones_end(&s->tones);
}

static void tones_check(struct tx *t, struct tx_session *s)
{
	const struct tx_command *c = s->tones.command;

	if (c && (c->codec != s->codec || c->tones.ptime_ms != s->ptime_ms))
		tones_cut(t, s);
}

void tx_rtp_tones_begin(struct tx *t, struct tx_session *s,
			const struct tx_command *c)
{
	s->tones = (struct tx_tones){.command = c};
	tones_check(t, s);
}

/* Cut digits whose telephone-event is not agreed on any more, or has another
 * clock rate. */
static void events_check(struct tx *t, struct tx_session *s)
{
	char digit;

	if (s->has_event && s->dtmf.clock_hz == s->event_clock_hz)
		return;
	digit = dtmf_send_cut(&s->dtmf);
	if (digit)
		digit_sent(t, s, digit, 0, DIGIT_LAST);
}

void tx_rtp_codec_changed(struct tx *t, struct tx_session *s)
{
	play_check(t, s);
	tones_check(t, s);
	events_check(t, s);
}

void tx_rtp_end(struct tx_session *s)
{
	tones_end(&s->tones);
	play_end(&s->play);
}

static void prompt_or_tones_send(struct tx *t, struct tx_session *s)
{
	uint8_t data[TX_PACKET_BYTES_MAX];
	uint8_t *dst = data + RTP_HEADER_BYTES;
	struct content content = content_write(t, s, dst);

	if (s->tones.command)
		content = tones_write(t, s, dst);
	audio_send(t, s, data, content);
}

/* While a key is missing nothing is sent unencrypted. */
bool tx_rtp_may(const struct tx_session *s)
{
	return s->sends && tx_keyed(s, false) &&
	       (s->until_ns == 0 || s->due_ns < s->until_ns);
}

/* Number of packets that were due before now. */
static int64_t places_passed(const struct tx_session *s, int64_t now_ns)
{
	int64_t packet_ns = s->ptime_ms * NS_PER_MS;

	if (s->due_ns >= now_ns)
		return 0;
	return (now_ns - s->due_ns + packet_ns - 1) / packet_ns;
}

void tx_rtp_due(struct tx *t, struct tx_session *s)
{
	if (!tx_rtp_may(s)) {
		tx_heap_clear(&t->heap, s, TX_TIMER_RTP);
		return;
	}
	if (!event_send(t, s))
		prompt_or_tones_send(t, s);
	advance_due(s, 1);
	tx_heap_set(&t->heap, s, TX_TIMER_RTP, s->due_ns);
}

void tx_rtp_align(const struct tx *t, struct tx_session *s)
{
	int64_t packet_ns = s->ptime_ms * NS_PER_MS;
	int64_t over_ns = (s->due_ns + t->p.ntp_offset_ns) % packet_ns;
	int64_t at_ns;

	if (!s->aligned)
		return;
	if (over_ns > 0)
		s->due_ns += packet_ns - over_ns;
	at_ns = (s->due_ns + t->p.ntp_offset_ns) % AUDIO_MARKER_PERIOD_NS;
	s->clip_at =
		(size_t)(at_ns / packet_ns) * clip_packet(s) % s->clip->count;
}

void tx_rtp_review(struct tx *t, struct tx_session *s, int64_t now_ns)
{
	if (!s->applied)
		return;
	if (!tx_rtp_may(s)) {
		tx_heap_clear(&t->heap, s, TX_TIMER_RTP);
		return;
	}
	if (tx_heap_has(&t->heap, s, TX_TIMER_RTP))
		return;
	/* resume: packets of the silent time are not sent later */
	s->marker = true;
	advance_due(s, places_passed(s, now_ns));
	tx_rtp_align(t, s);
	if (tx_rtp_may(s))
		tx_heap_set(&t->heap, s, TX_TIMER_RTP, s->due_ns);
}
