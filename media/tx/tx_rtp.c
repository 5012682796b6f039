/* RTP: the next packet of a prompt, of digits, and its place in time. */
#include "base/clock.h"
#include "media/analysis/rtp_header.h"
#include "media/audio/audio_marker.h"
#include "media/audio/audio_thread.h"
#include "media/tx/tx_internal.h"

#include <errno.h>
#include <string.h>

#define PACKET_BYTES_MAX \
	(RTP_HEADER_BYTES + CODEC_PAYLOAD_MAX + SRTP_OVERHEAD_BYTES)

/** A packet's worth of a clip. */
struct content {
	size_t bytes; /* 0: nothing is sent */
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

/* The next packet of a clip. @param at  in/out: next byte, or frame; where it
 * is missing it stays */
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

static void played(struct media_engine *e, struct media_session *s, bool whole)
{
	const struct packet_record r = {
		.mono_ns = clock_mono_ns(),
		.ssrc = s->ssrc,
		.session = s->slot,
		.marker_pt = whole,
		.kind = PACKET_PLAYED,
	};

	tx_play_end(&s->tx.play);
	if (ring_push(e->sent, &r))
		e->sent_pushed++;
}

void tx_rtp_play_cut(struct media_engine *e, struct media_session *s)
{
	if (s->tx.play.command)
		played(e, s, false);
}

/* Frames, or bytes, of a packet. */
static size_t clip_packet(const struct tx_session *tx)
{
	return tx->clip->frames ? 1 : tx->stream_bytes;
}

/* The next packet of what is played: the prompt goes on unheard behind a file,
 * and both behind silence. */
static struct content content_write(struct media_engine *e,
				    struct media_session *s, uint8_t *dst)
{
	struct tx_session *tx = &s->tx;
	struct content ret =
		clip_read(tx->clip, &tx->clip_at, tx->stream_bytes, dst);

	if (ret.missing && tx->aligned) /* the clock goes on */
		tx->clip_at = (tx->clip_at + clip_packet(tx)) % tx->clip->count;
	if (tx->play.command) {
		ret = clip_read(tx->play.command->clip, &tx->play.at,
				tx->stream_bytes, dst);
		if (tx_play_step(&tx->play, tx->stream_bytes))
			played(e, s, true);
	}
	if (tx->mute)
		ret = clip_read(tx->mute, &tx->mute_at, tx->stream_bytes, dst);
	return ret;
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
static void advance_due(struct tx_session *tx, int64_t packets)
{
	tx->due_ns += packets * tx->ptime_ms * NS_PER_MS;
	tx->ts += (uint32_t)packets * tx->ticks;
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
		.sent = true,
	};

	audio_push(s, &head, data + RTP_HEADER_BYTES);
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
	int err;

	if (s->audio_sent) /* before it is encrypted in place */
		audio_left(s, data, payload, ts);
	err = -tx_secure(tx, data, &bytes, PACKET_BYTES_MAX, false);
	if (err == 0 && tx_transmit(s, SOCKET_RTP, &tx->rtp, tx->channel_rtp,
				    data, bytes) < 0)
		err = errno;

	/* a refused packet keeps its number: the receiver sees it as lost,
	 * which it is */
	tx->seq++;
	if (err) {
		tx_refused(e, s, false, err);
		return;
	}
	if (tx->packets == tx->packets_before)
		tx_reached(e, tx, false);
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
		       uint8_t *data, struct content content)
{
	struct tx_session *tx = &s->tx;

	if (content.missing)
		COUNTER_ADD(&e->tx.unsent, 1);
	if (content.bytes == 0) { /* DTX: the next packet begins a talkspurt */
		tx->marker = true;
		return;
	}
	header_write(s, data, content.noise ? tx->noise_pt : tx->pt,
		     tx->marker && !content.noise, tx->ts);
	packet_send(e, s, data, content.bytes, tx->ts);
	/* sound after noise begins a talkspurt (RFC 3551 section 4.1) */
	if (content.noise)
		tx->marker = true;
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
	content_write(e, s, data + RTP_HEADER_BYTES);
	header_write(s, data, tx->event_pt, p.marker, p.ts);
	dtmf_payload_write(data + RTP_HEADER_BYTES, &p.payload);
	packet_send(e, s, data, DTMF_PAYLOAD_BYTES, p.ts);
	if (p.finished)
		digit_sent(e, s, p.digit, tx->dtmf.order.duration_ms,
			   p.last ? DIGIT_LAST : 0);
	return true;
}

/* In the place of all else. */
static struct content tones_write(struct media_engine *e,
				  struct media_session *s, uint8_t *dst)
{
	struct tx_session *tx = &s->tx;
	const struct dtmf_clip *tones = &tx->tones.command->tones;
	struct dtmf_clip_step step;
	struct content content;

	content = clip_read(&tones->clip, &tx->tones.at, tx->stream_bytes, dst);
	dtmf_clip_step(tones, tx->tones.packet++, &tx->tones.digit, &step);
	if (step.finished)
		digit_sent(e, s, step.digit, tones->order.duration_ms,
			   DIGIT_TONE | (step.over ? DIGIT_LAST : 0));
	if (step.over)
		tx_tones_end(&tx->tones);
	return content;
}

void tx_rtp_tones_cut(struct media_engine *e, struct media_session *s)
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
	struct content content = content_write(e, s, dst);

	if (s->tx.tones.command)
		content = tones_write(e, s, dst);
	audio_send(e, s, data, content);
}

/* A key that is still to come: nothing leaves in plain. */
bool tx_rtp_may(const struct tx_session *tx)
{
	return tx->sends && tx_keyed(tx, false) &&
	       (tx->until_ns == 0 || tx->due_ns < tx->until_ns);
}

/* Places from the next one on that are before now. */
static int64_t places_passed(const struct tx_session *tx, int64_t now_ns)
{
	int64_t packet_ns = tx->ptime_ms * NS_PER_MS;

	if (tx->due_ns >= now_ns)
		return 0;
	return (now_ns - tx->due_ns + packet_ns - 1) / packet_ns;
}

void tx_rtp_due(struct media_engine *e, struct media_session *s)
{
	struct tx_session *tx = &s->tx;

	if (!tx_rtp_may(tx)) {
		tx_heap_clear(&e->heap, s, TX_TIMER_RTP);
		return;
	}
	if (!event_send(e, s))
		prompt_or_tones_send(e, s);
	advance_due(tx, 1);
	tx_heap_set(&e->heap, s, TX_TIMER_RTP, tx->due_ns);
}

void tx_rtp_align(const struct media_engine *e, struct tx_session *tx)
{
	int64_t packet_ns = tx->ptime_ms * NS_PER_MS;
	int64_t over_ns = (tx->due_ns + e->ntp_offset_ns) % packet_ns;
	int64_t at_ns;

	if (!tx->aligned)
		return;
	if (over_ns > 0)
		tx->due_ns += packet_ns - over_ns;
	at_ns = (tx->due_ns + e->ntp_offset_ns) % AUDIO_MARKER_PERIOD_NS;
	tx->clip_at =
		(size_t)(at_ns / packet_ns) * clip_packet(tx) % tx->clip->count;
}

void tx_rtp_review(struct media_engine *e, struct media_session *s,
		   int64_t now_ns)
{
	struct tx_session *tx = &s->tx;

	if (!tx->applied)
		return;
	if (!tx_rtp_may(tx)) {
		tx_heap_clear(&e->heap, s, TX_TIMER_RTP);
		return;
	}
	if (tx_heap_has(&e->heap, s, TX_TIMER_RTP))
		return;
	/* resume: the places passed by in silence stay silent */
	tx->marker = true;
	advance_due(tx, places_passed(tx, now_ns));
	tx_rtp_align(e, tx);
	if (tx_rtp_may(tx))
		tx_heap_set(&e->heap, s, TX_TIMER_RTP, tx->due_ns);
}
