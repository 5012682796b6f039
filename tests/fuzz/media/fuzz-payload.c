/*
 * Received RTP payloads: decoders, comfort noise, telephone events, and the order
 * of packets of a direction. The input is records:
 *   octet 0     bits 0..3: what (enum kind), bit 4: the second source, bit 5: marker
 *   octet 1     step of the sequence number, signed
 *   octets 2-3  step of the timestamp, signed
 *   octet 4     time since the packet before, in 5 ms
 *   octet 5-6   size of the payload; then the payload
 */
#include "base/big_endian.h"
#include "base/clock.h"
#include "media/audio/audio_leg.h"
#include "media/audio/codec.h"
#include "media/audio/codec_noise.h"
#include "media/audio/dtmf_receive.h"
#include "media/audio/dtmf_tones.h"
#include "media/audio/noise_synth.h"
#include "tests/fuzz/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD_BYTES 7
#define CODECS_MAX 8
#define STEP_NS    (5 * NS_PER_MS)
#define SLICE_MAX  160 /* of dtmf_tones_add() */

/* 0..7: audio of codec_at() */
enum kind {
	KIND_NOISE = 8,
	KIND_EVENT,
	KIND_UNKNOWN, /* a payload type without a decoder */
	KIND_EXPECT,  /* the direction has to carry audio, or has not */
	KIND_SECOND,  /* a second ends */
	KIND_SOURCE,  /* the source restarts: its counters are in the payload */
	KIND_ALONE,   /* to a decoder without a direction, with less room */
	KIND_FMTP,    /* what a receiver asks for */
};

struct source {
	uint16_t seq;
	uint32_t ts;
};

/* The digits of a stream: each that ended had begun. */
struct digits {
	bool open;
	char digit;
	int64_t begun_ns;
	uint64_t packets; /* 0: tones */
};

struct run {
	struct audio_leg leg;
	struct audio_samples samples;
	void *decoders[CODECS_MAX]; /* of KIND_ALONE */
	struct dtmf_receive receive;
	struct dtmf_tones *tones;
	struct digits events, inband;
	struct noise_synth synth;
	struct source sources[2];
	int64_t now_ns, second_ns;
	bool expected;
	/* what the direction has to have counted */
	uint64_t decoded, refused, noise;
};

/* ---- digits ---- */

static void digits_check(struct digits *d, const struct dtmf_heard *heard)
{
	check(heard->count <= DTMF_STEPS_MAX);
	for (size_t i = 0; i < heard->count; i++) {
		const struct dtmf_step *s = &heard->steps[i];

		check(s->digit && strchr("0123456789*#ABCD", s->digit));
		check(s->ended == d->open);
		check(!s->ended || (s->digit == d->digit && s->ms >= 0));
		/* tones have the times of packets, which may arrive at once */
		check(!s->ended || d->packets == 0 ||
		      s->mono_ns >= d->begun_ns);
		d->open = !s->ended;
		d->digit = s->digit;
		d->begun_ns = s->mono_ns;
	}
}

static void event(struct run *r, const struct payload *head,
		  const uint8_t *data)
{
	static const uint32_t clocks[] = {8000, 16000, 48000, 0};
	struct dtmf_arrival a = {
		.ssrc = head->ssrc,
		.ts = head->ts,
		.clock_hz = clocks[head->seq & 3],
		.mono_ns = head->mono_ns,
	};
	uint8_t again[DTMF_PAYLOAD_BYTES];
	struct dtmf_heard heard;
	int err = dtmf_payload_parse(&a.payload, data, head->bytes);

	check(!err == (head->bytes >= DTMF_PAYLOAD_BYTES));
	if (err)
		return;
	dtmf_payload_write(again, &a.payload);
	again[1] |= data[1] & 0x40; /* reserved */
	check(memcmp(again, data, sizeof(again)) == 0);
	r->events.packets++;
	dtmf_receive_packet(&r->receive, &a, &heard);
	digits_check(&r->events, &heard);
	check(a.payload.event < DTMF_EVENTS || heard.count == 0);
	/* a digit lasts at most a full segment for each packet */
	for (size_t i = 0; i < heard.count; i++)
		check(heard.steps[i].ms <=
		      1000.0 * UINT16_MAX * (double)r->events.packets / 8000);
}

/* ---- a decoder alone ---- */

/* Into exactly so much room as is said. */
static void alone(struct run *r, const uint8_t *data, size_t bytes)
{
	static const size_t rooms[] = {
		CODEC_SAMPLES_MAX, 960, 480, 160, 33, 1, 0};
	const size_t i = bytes > 0 ? data[0] % CODECS_MAX : 0;
	const size_t max = rooms[(bytes > 0 ? data[0] / CODECS_MAX : 0) %
				 (sizeof(rooms) / sizeof(*rooms))];
	const struct codec *codec = codec_at(i);
	int16_t *dst = malloc(max * sizeof(*dst));
	uint8_t *copy = malloc(bytes);
	size_t len = bytes > 0 ? bytes - 1 : 0;
	int count;

	check(codec && (dst || max == 0));
	if (len > 0)
		memcpy(copy, data + 1, len);
	copy = realloc(copy, len ? len : 1);
	if (codec->decoder_new && !r->decoders[i])
		check(codec->decoder_new(&r->decoders[i]) == 0);
	if (codec->recover) {
		count = codec->recover(codec, r->decoders[i], dst, max, copy,
				       len);
		check(count >= 0 && (size_t)count <= max);
	}
	count = codec->decode(codec, r->decoders[i], dst, max, copy, len);
	check(count <= (int)max && (len > 0 || count <= 0));
	if (codec->bytes_per_s && count > 0) /* whole blocks of the stream */
		check(codec_stream_bytes(codec, (size_t)count) <= len);
	free(copy);
	free(dst);
}

/* ---- a direction ---- */

static void measure(struct run *r)
{
	const struct audio_samples *s = &r->samples;
	size_t slice = s->rate_hz / 50, done = 0, reduced = 0;

	while (done < s->count || reduced < s->reduced_count) {
		size_t n = s->count - done < slice ? s->count - done : slice;
		size_t m = s->reduced_count - reduced;
		struct audio_slice heard;
		struct dtmf_heard digits;

		if (m > SLICE_MAX)
			m = SLICE_MAX;
		audio_leg_measure(&r->leg, s->pcm + done, n,
				  s->reduced + reduced, m, s->mono_ns, &heard);
		check(heard.tone.ms >= 0);
		dtmf_tones_add(r->tones, s->reduced + reduced, m, s->mono_ns,
			       &digits);
		digits_check(&r->inband, &digits);
		done += n;
		reduced += m;
	}
}

static void audio(struct run *r, const struct codec *codec,
		  const struct payload *head, const uint8_t *data)
{
	const struct audio_leg before = r->leg;
	struct audio_samples *s = &r->samples;

	if (!audio_leg_decode(&r->leg, codec, head, data, s)) {
		r->refused += r->leg.undecodable - before.undecodable +
			      r->leg.late - before.late;
		check(r->leg.packets == before.packets &&
		      r->leg.undecodable + r->leg.late - before.undecodable -
				      before.late <=
			      1);
		return;
	}
	r->decoded++;
	check(codec && head->bytes > 0);
	check(s->count > 0 && s->count <= CODEC_SAMPLES_MAX);
	check(s->reduced_count <= AUDIO_REDUCED_MAX);
	check(s->rate_hz == codec->sample_hz && s->mono_ns <= head->mono_ns);
	check(isfinite(s->gap_ms) && s->gap_ms > -1e-6);
	for (size_t i = 0; i < s->reduced_count; i++)
		check(isfinite(s->reduced[i]));
	measure(r);
}

static void noise(struct run *r, const struct payload *head,
		  const uint8_t *data)
{
	const uint64_t before = r->leg.noise_packets;
	double ms = audio_leg_noise(&r->leg, head, data), dbov;
	int16_t pcm[SLICE_MAX];

	check(ms >= 0 || ms == -1);
	check(ms < 0 || r->leg.noise_packets == before + 1);
	r->noise += r->leg.noise_packets - before;
	check(codec_noise_level(data, head->bytes, &dbov) == (head->bytes > 0));
	if (!noise_synth_set(&r->synth, data, head->bytes))
		return;
	check(dbov <= 0 && dbov >= -CODEC_NOISE_LEVEL_MAX);
	noise_synth_write(&r->synth, pcm, SLICE_MAX);
	for (size_t i = 0; i < r->synth.order; i++)
		check(isfinite(r->synth.state[i]));
}

static void second(struct run *r)
{
	struct audio_second s;

	audio_leg_second(&r->leg, r->second_ns, r->now_ns, &s);
	r->second_ns = r->now_ns;
	check(s.duration_ns >= 0 && s.heard_ms >= 0);
	check(!s.has_level || (s.level_dbov <= 0 && s.peak_dbov <= 0));
}

static void restart(struct source *s, const uint8_t *data, size_t bytes)
{
	if (bytes < 6)
		return;
	s->seq = be16(data);
	s->ts = be32(data + 2);
}

/* A codec's rtpmap is found by itself, and numbers have a ceiling. */
static void fmtp(const uint8_t *data, size_t bytes)
{
	char *text = strndup((const char *)data, bytes);
	struct codec_settings s;

	check(text != NULL);
	codec_settings_parse(&s, text);
	check(s.max_playback_hz <= 1000000 && s.max_bitrate <= 1000000);
	for (size_t i = 0; codec_at(i); i++)
		check(codec_by_rtpmap(codec_at(i)->rtpmap,
				      codec_at(i)->clock_hz) == codec_at(i));
	free(text);
}

static void take(struct run *r, const uint8_t *record, const uint8_t *data,
		 size_t bytes)
{
	struct source *s = &r->sources[record[0] >> 4 & 1];
	const unsigned kind = record[0] & 15;
	struct payload head = {.marker = record[0] & 0x20,
			       .bytes = (uint16_t)bytes};
	struct dtmf_heard heard;

	r->now_ns += record[4] * STEP_NS;
	s->seq = (uint16_t)(s->seq + (int8_t)record[1]);
	s->ts = (uint32_t)((int64_t)s->ts + (int16_t)be16(record + 2));
	head.mono_ns = r->now_ns;
	head.ssrc = 1u + (record[0] >> 4 & 1);
	head.seq = s->seq;
	head.ts = s->ts;
	dtmf_receive_time(&r->receive, r->now_ns, &heard);
	digits_check(&r->events, &heard);
	if (kind < CODECS_MAX)
		audio(r, codec_at(kind), &head, data);
	else if (kind == KIND_NOISE)
		noise(r, &head, data);
	else if (kind == KIND_EVENT)
		event(r, &head, data);
	else if (kind == KIND_UNKNOWN)
		audio(r, NULL, &head, data);
	else if (kind == KIND_EXPECT)
		audio_leg_expect(&r->leg, r->expected = !r->expected,
				 r->now_ns);
	else if (kind == KIND_SECOND)
		second(r);
	else if (kind == KIND_SOURCE)
		restart(s, data, bytes);
	else if (kind == KIND_FMTP)
		fmtp(data, bytes);
	else
		alone(r, data, bytes);
}

static void end(struct run *r)
{
	struct audio_total t;
	struct dtmf_heard heard;

	dtmf_receive_time(&r->receive, INT64_MAX, &heard);
	digits_check(&r->events, &heard);
	dtmf_tones_end(r->tones, &heard);
	digits_check(&r->inband, &heard);
	check(!r->events.open && !r->inband.open);
	audio_leg_total(&r->leg, r->now_ns, &t);
	check(t.packets == r->decoded && t.late + t.undecodable == r->refused);
	check(t.recovered <= t.packets + t.undecodable);
	check(t.noise_packets == r->noise && t.tone_count <= AUDIO_TONES_MAX);
	check(t.expected_ms >= 0 && t.silence_max_ms >= 0);
	audio_leg_release(&r->leg);
	dtmf_tones_free(r->tones);
	for (size_t i = 0; i < CODECS_MAX; i++)
		if (r->decoders[i])
			codec_at(i)->decoder_free(r->decoders[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run r;

	check(!codec_at(CODECS_MAX));
	memset(&r, 0, sizeof(r));
	check(dtmf_tones_new(&r.tones) == 0);
	while (size >= HEAD_BYTES) {
		size_t bytes = be16(data + 5);
		uint8_t *copy;

		if (bytes > size - HEAD_BYTES)
			bytes = size - HEAD_BYTES;
		copy = malloc(bytes);
		check(copy || bytes == 0);
		if (bytes > 0)
			memcpy(copy, data + HEAD_BYTES, bytes);
		take(&r, data, copy, bytes);
		free(copy);
		data += HEAD_BYTES + bytes;
		size -= HEAD_BYTES + bytes;
	}
	end(&r);
	return 0;
}
