/*
 * The audio thread's decoding: one direction of a session driven by hand, and
 * whole sessions.
 */
#include "media/audio/audio_leg.h"
#include "media/audio/audio_session.h"

#include "base/clock.h"
#include "media_rig.h"
#include "tone.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PTIME_MS 20

/* ---- packets ---- */

struct stream {
	struct audio_leg *leg;
	struct audio_samples *samples;
	const struct codec *codec;
	struct clip clip;
	uint16_t ptime_ms;
	uint32_t ssrc;
	uint16_t seq;
	uint32_t ts;
	size_t at; /* index of the packet in the clip */
	int64_t mono_ns;
	bool marker; /* of the next packet */
};

/* @param amplitude  of the tone, as tone() takes it */
static void stream_open_loud(struct stream *s, const struct codec *codec,
			     double hz, double amplitude,
			     const struct codec_settings *settings)
{
	size_t count = codec->sample_hz * 2;
	int16_t *pcm = calloc(count, sizeof(*pcm));

	memset(s, 0, sizeof(*s));
	s->leg = calloc(1, sizeof(*s->leg));
	s->samples = calloc(1, sizeof(*s->samples));
	assert_non_null(pcm);
	assert_non_null(s->leg);
	assert_non_null(s->samples);
	s->codec = codec;
	s->ptime_ms = codec_ptime(codec, PTIME_MS);
	s->ssrc = 0x1234;
	s->seq = 65530;
	s->ts = 0xffffff00;
	s->mono_ns = NS_PER_S;
	tone(pcm, count, hz, amplitude, codec->sample_hz);
	rig_encode(&s->clip, codec, pcm, count, s->ptime_ms, settings);
	free(pcm);
	audio_leg_expect(s->leg, true, s->mono_ns);
}

static void stream_open_as(struct stream *s, const struct codec *codec,
			   double hz, const struct codec_settings *settings)
{
	stream_open_loud(s, codec, hz, 8000, settings);
}

static void stream_open(struct stream *s, const struct codec *codec, double hz)
{
	const struct codec_settings none = {0};

	stream_open_as(s, codec, hz, &none);
}

static void stream_close(struct stream *s)
{
	audio_leg_release(s->leg);
	clip_release(&s->clip);
	free(s->leg);
	free(s->samples);
}

static void stream_step(struct stream *s)
{
	s->seq++;
	s->at++;
	s->ts += codec_ticks(s->codec, s->ptime_ms);
	s->mono_ns += s->ptime_ms * NS_PER_MS;
}

/*
 * Deliver the next packet.
 * @return it was decoded
 */
static bool stream_arrive(struct stream *s)
{
	const uint8_t *payload;
	size_t bytes =
		rig_payload(&payload, s->codec, &s->clip, s->ptime_ms, s->at);
	struct payload head = {
		.mono_ns = s->mono_ns,
		.ssrc = s->ssrc,
		.seq = s->seq,
		.ts = s->ts,
		.marker = s->marker,
		.bytes = (uint16_t)bytes,
	};
	struct audio_slice slice;
	bool decoded =
		audio_leg_decode(s->leg, s->codec, &head, payload, s->samples);

	if (decoded)
		audio_leg_measure(s->leg, s->samples->pcm, s->samples->count,
				  s->samples->reduced,
				  s->samples->reduced_count, s->mono_ns,
				  &slice);
	stream_step(s);
	s->marker = false;
	return decoded;
}

static void test_every_codec_is_heard(void **state)
{
	const struct codec *codec;

	(void)state;
	for (size_t i = 0; (codec = codec_at(i)); i++) {
		struct audio_total t = {0};
		struct stream s;

		stream_open(&s, codec, 1000);
		for (int k = 0; k < 90; k++)
			assert_true(stream_arrive(&s));
		audio_leg_total(s.leg, s.mono_ns, &t);
		print_message(
			"%s: %.2f dBov, %.2f Hz at %.2f dBov for %.0f ms\n",
			codec->name, t.level_dbov, t.tones[0].hz,
			t.tones[0].dbov, t.tones[0].ms);
		assert_int_equal(t.packets, 90);
		assert_float_equal(t.level_dbov, -15.26, 0.6);
		assert_int_equal(t.tone_count, 1);
		assert_float_equal(t.tones[0].hz, 1000, 0.5);
		assert_float_equal(t.tones[0].dbov, -15.26, 0.8);
		assert_true(t.tones[0].ms >= 1500);
		assert_true(t.silence_max_ms <= 100);
		assert_true(t.clipped_pct <= 0);
		assert_float_equal(t.expected_ms, 90.0 * s.ptime_ms, 0.01);
		stream_close(&s);
	}
}

/* Samples of a packet that belong to a row of three or more at 32000 or above.
 * @param row  in/out: length of the row that has not ended */
static size_t clipped(const struct audio_samples *samples, size_t *row)
{
	size_t count = 0;

	for (size_t i = 0; i < samples->count; i++) {
		*row = abs(samples->pcm[i]) < 32000 ? 0 : *row + 1;
		count += *row < 3 ? 0 : *row == 3 ? 3 : 1;
	}
	return count;
}

/* A tone four times as loud as fits: docs/reference/audio.md "Figures". */
static void test_clipping_of_every_codec(void **state)
{
	const struct codec_settings none = {0};
	const struct codec *codec;

	(void)state;
	for (size_t i = 0; (codec = codec_at(i)); i++) {
		struct audio_total t = {0};
		size_t samples = 0, count = 0, row = 0;
		struct stream s;
		double pct;

		stream_open_loud(&s, codec, 300, 4 * 32767, &none);
		for (int k = 0; k < 90; k++) {
			assert_true(stream_arrive(&s));
			samples += s.samples->count;
			count += clipped(s.samples, &row);
		}
		audio_leg_total(s.leg, s.mono_ns, &t);
		print_message("%s: %.2f %% clipped\n", codec->name,
			      t.clipped_pct);
		pct = 100.0 * (double)count / (double)samples;
		assert_true(count > 0);
		/* the largest values of the others are 32124 and more, and
		 * reproduced */
		assert_float_equal(t.clipped_pct, pct, 0.01);
		stream_close(&s);
	}
}

static void test_late_and_lost_packets(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, &codec_pcma, 1000);
	assert_true(stream_arrive(&s));
	s.seq--; /* a duplicate */
	assert_false(stream_arrive(&s));
	assert_int_equal(s.leg->late, 1);
	stream_step(&s); /* lost */
	stream_step(&s);
	assert_true(stream_arrive(&s));
	/* the duplicate advanced the generated stream by a packet, too */
	assert_float_equal(s.samples->gap_ms, 60, 0.01);
	assert_int_equal(s.leg->packets, 2);
	stream_close(&s);
}

/*
 * A source whose sequence numbers jump, back or forth, is decoded again from
 * the second packet on. A late packet is not taken for such a jump.
 */
static void test_source_that_begins_anew(void **state)
{
	static const uint16_t steps[] = {200,   1000,  5000,
					 30000, 32768, (uint16_t)-5000};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct stream s;

		stream_open(&s, &codec_pcma, 1000);
		for (int k = 0; k < 10; k++)
			assert_true(stream_arrive(&s));
		s.seq = (uint16_t)(s.seq - steps[i]);
		s.ts += 80000000;
		(void)stream_arrive(&s);
		assert_true(stream_arrive(&s));
		assert_true(stream_arrive(&s));
		stream_close(&s);
	}
}

static void test_late_burst_is_late(void **state)
{
	struct stream s;
	uint16_t seq;
	uint32_t ts;

	(void)state;
	stream_open(&s, &codec_pcma, 1000);
	for (int k = 0; k < 10; k++)
		assert_true(stream_arrive(&s));
	s.seq = (uint16_t)(s.seq + 600); /* these were overtaken */
	s.ts += 600 * 160;
	assert_true(stream_arrive(&s));
	seq = s.seq;
	ts = s.ts;
	s.seq = (uint16_t)(s.seq - 500);
	s.ts -= 500 * 160;
	for (int k = 0; k < 20; k++)
		assert_false(stream_arrive(&s));
	s.seq = seq;
	s.ts = ts;
	assert_true(stream_arrive(&s));
	assert_int_equal(s.leg->late, 20);
	stream_close(&s);
}

/*
 * Where the timestamps are unrelated to those before, the gap is measured by
 * arrival time.
 */
static void test_gap_where_time_begins_anew(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, &codec_pcma, 1000);
	assert_true(stream_arrive(&s));
	/* another source after 5 s; it is decoded from its second packet on */
	s.ssrc++;
	s.ts += 123456789;
	s.mono_ns += 5 * NS_PER_S;
	assert_false(stream_arrive(&s));
	assert_true(stream_arrive(&s));
	assert_float_equal(s.samples->gap_ms, 5020, 0.01);
	/*
	 * the other G.711 law, with the same clock rate: the timestamps
	 * continue
	 */
	s.codec = &codec_pcmu;
	s.mono_ns += 3 * NS_PER_MS;
	assert_true(stream_arrive(&s));
	assert_float_equal(s.samples->gap_ms, 0, 0.01);
	/* the timestamps jump forth, back, or by half of their range */
	for (uint32_t jump = 0x10000000; jump; jump <<= 1) {
		s.ts += jump;
		s.mono_ns += 500 * NS_PER_MS;
		assert_true(stream_arrive(&s));
		assert_float_equal(s.samples->gap_ms, 503, 3.01);
	}
	/* on hold for an hour: the timestamps stood still, or advanced */
	s.mono_ns += 3600 * NS_PER_S;
	s.marker = true;
	assert_true(stream_arrive(&s));
	assert_float_equal(s.samples->gap_ms, 3600000, 0.01);
	s.mono_ns += 3600 * NS_PER_S;
	s.ts += 3600u * 8000;
	assert_true(stream_arrive(&s));
	assert_float_equal(s.samples->gap_ms, 3600000, 0.01);
	/* the network delayed it: nothing is missing */
	s.mono_ns += 1500 * NS_PER_MS;
	assert_true(stream_arrive(&s));
	assert_float_equal(s.samples->gap_ms, 0, 0.01);
	s.mono_ns -= 1500 * NS_PER_MS;
	assert_true(stream_arrive(&s));
	assert_float_equal(s.samples->gap_ms, 0, 0.01);
	stream_close(&s);
}

/* Comfort noise for ten minutes, one packet each 400 ms. */
static void test_gap_of_long_comfort_noise(void **state)
{
	const uint8_t level = 60;
	struct stream s;
	double gap = 0;

	(void)state;
	stream_open(&s, &codec_pcma, 1000);
	assert_true(stream_arrive(&s));
	for (int i = 0; i < 1500; i++) {
		const struct payload head = {
			.mono_ns = s.mono_ns,
			.ssrc = s.ssrc,
			.seq = s.seq++,
			.ts = s.ts,
			.bytes = 1,
		};

		gap = audio_leg_noise(s.leg, &head, &level);
		assert_float_equal(gap, (float)(400 * i), 0.01);
		s.ts += 400 * 8;
		s.mono_ns += 400 * NS_PER_MS;
	}
	assert_true(stream_arrive(&s));
	assert_float_equal(s.samples->gap_ms, 600000, 0.01);
	stream_close(&s);
}

/*
 * Opus with in-band FEC: one packet of three is lost, then two in a row. The
 * encoder adds FEC only where it finds it worth the bits.
 */
static void check_recovery(const char *fmtp, bool copies)
{
	struct codec_settings settings;
	struct audio_total t = {0};
	struct stream s;
	uint64_t before;

	codec_settings_parse(&settings, fmtp);
	stream_open_as(&s, &codec_opus, 1000, &settings);
	for (int k = 0; k < 90; k++) {
		bool recovered;

		before = s.leg->recovered;

		if (k > 10 && k % 3 == 0) {
			stream_step(&s);
			continue;
		}
		assert_true(stream_arrive(&s));
		recovered = s.leg->recovered > before;
		assert_true(!recovered || (k > 10 && k % 3 == 1));
		assert_int_equal(s.samples->count, recovered ? 1920 : 960);
		assert_float_equal(s.samples->gap_ms,
				   k > 10 && k % 3 == 1 && !recovered ? 20 : 0,
				   0.01);
		assert_true(s.samples->mono_ns ==
			    s.mono_ns - (recovered ? 40 : 20) * NS_PER_MS);
	}
	/* the FEC copy is of the packet before */
	before = s.leg->recovered;
	stream_step(&s);
	stream_step(&s);
	assert_true(stream_arrive(&s));
	assert_float_equal(s.samples->gap_ms,
			   (s.leg->recovered > before ? 20 : 40), 0.01);
	audio_leg_total(s.leg, s.mono_ns, &t);
	print_message("%s: %u recovered, heard %.0f ms at %.2f dBov\n", fmtp,
		      (unsigned)t.recovered, t.heard_ms, t.level_dbov);
	if (copies)
		assert_in_range(t.recovered, 13, 27);
	else
		assert_int_equal(t.recovered, 0);
	/* the recovered frames sound like what was sent */
	assert_true(fabs(t.heard_ms - 65 * 20 - 20 * (double)t.recovered) <
		    100);
	/*
	 * libopus 1.5 decodes FEC copies louder: 1.1 dB over the whole stream
	 */
	assert_float_equal(t.level_dbov, -15.26, 1.5);
	stream_close(&s);
}

static void test_lost_packet_is_recovered(void **state)
{
	(void)state;
	check_recovery("useinbandfec=1;maxaveragebitrate=20000", true);
	check_recovery("maxaveragebitrate=20000", false);
}

/*
 * A packet of another SSRC is not decoded. That source is decoded after two
 * packets in sequence.
 */
static void test_source_changes(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, &codec_pcma, 1000);
	assert_true(stream_arrive(&s));
	s.ssrc = 1;
	assert_false(stream_arrive(&s));
	s.ssrc = 0x1234;
	assert_true(stream_arrive(&s));
	s.ssrc = 2;
	assert_false(stream_arrive(&s));
	assert_true(stream_arrive(&s));
	s.ssrc = 0x1234;
	assert_false(stream_arrive(&s));
	stream_close(&s);
}

static void test_silence_is_counted_while_expected(void **state)
{
	struct audio_total t = {0};
	struct stream s;

	(void)state;
	stream_open(&s, &codec_pcma, 1000);
	for (int i = 0; i < 50; i++)
		assert_true(stream_arrive(&s));
	/* on hold for 5 s: the silence is not counted */
	audio_leg_expect(s.leg, false, s.mono_ns);
	s.mono_ns += 5 * NS_PER_S;
	audio_leg_expect(s.leg, true, s.mono_ns);
	s.mono_ns += 700 * NS_PER_MS;
	audio_leg_total(s.leg, s.mono_ns, &t);
	assert_float_equal(t.silence_max_ms, 700, 0.01);
	assert_float_equal(t.expected_ms, 1700, 0.01);
	stream_close(&s);
}

static void test_garbage_is_no_sound(void **state)
{
	const uint8_t garbage[3] = {0xff, 0xff, 0xff};
	const struct payload head = {.mono_ns = 1, .bytes = 3};
	struct stream s;

	(void)state;
	stream_open(&s, &codec_gsm, 1000);
	assert_false(
		audio_leg_decode(s.leg, &codec_gsm, &head, garbage, s.samples));
	assert_int_equal(s.leg->undecodable, 1);
	stream_close(&s);
}

/* ---- the ring ---- */

static void test_payload_ring_refuses_when_full(void **state)
{
	struct payload_ring *r;
	uint8_t data[1000] = {0};
	uint8_t out[PAYLOAD_BYTES_MAX];
	struct payload head = {.bytes = sizeof(data)};
	size_t pushed = 0;

	(void)state;
	assert_int_equal(payload_ring_new(&r, 1000), -EINVAL);
	assert_int_equal(payload_ring_new(&r, 65536 + 1), -EINVAL);
	assert_int_equal(payload_ring_new(&r, 65536), 0);
	assert_false(payload_ring_peek(r, &head));
	/* several laps, so that records wrap at the end */
	for (unsigned n = 0; n < 1000; n++) {
		head.slot = n;
		head.bytes = (uint16_t)(n % sizeof(data));
		data[0] = (uint8_t)n;
		assert_true(payload_ring_push(r, &head, data));
		assert_true(payload_ring_push(r, &head, data));
		for (int i = 0; i < 2; i++) {
			assert_true(payload_ring_pop(r, &head, out));
			assert_int_equal(head.slot, n);
			assert_int_equal(head.bytes, n % sizeof(data));
			if (head.bytes)
				assert_int_equal(out[0], (uint8_t)n);
		}
	}
	head.bytes = sizeof(data);
	while (payload_ring_push(r, &head, data))
		pushed++;
	assert_int_equal(pushed, 65536 / (1000 + sizeof(head)));
	assert_int_equal(payload_ring_dropped(r), 1);
	assert_true(payload_ring_pop(r, &head, out));
	assert_true(payload_ring_push(r, &head, data));
	payload_ring_free(r);
}

/* ---- a session ---- */

static void settle(struct rig_log *log, const struct rig_log *peer,
		   enum media_direction direction)
{
	const struct media_local *at = media_session_local(peer->session);
	struct media_negotiated n = rig_settle(&at->rtp, &at->rtcp, direction);

	assert_int_equal(media_session_apply(log->session, &n), 0);
}

static void apply(struct audio_session *a, const struct codec *codec,
		  const struct rtp_payload_map *map, int64_t mono_ns,
		  struct audio_samples *samples)
{
	const struct audio_command c = {
		.head.mono_ns = mono_ns,
		.map = map,
		.codec = codec,
		.sends = true,
	};

	audio_session_apply(a, &c, samples);
}

/* Five packets of 20 ms that we sent. */
static void sent(struct audio_session *a, const struct codec *codec,
		 uint16_t seq, int64_t mono_ns, struct audio_samples *samples)
{
	uint8_t data[160];
	int16_t pcm[160];

	for (uint16_t i = 0; i < 5; i++) {
		const struct payload head = {
			.mono_ns = mono_ns + i * 20 * NS_PER_MS,
			.ts = (seq + i) * 160u,
			.seq = (uint16_t)(seq + i),
			.bytes = sizeof(data),
			.pt = codec->pt,
			.sent = true,
		};

		tone(pcm, 160, 1000, 8000, 8000);
		assert_int_equal(codec->encode(codec, NULL, data, pcm, 160),
				 sizeof(data));
		audio_session_take(a, &head, data, samples);
	}
}

/*
 * The audio thread processes a change of codec before the packets that were sent
 * before the change. These are decoded with the old codec; their payload type may
 * be unknown after the change.
 */
static void test_codec_of_what_was_sent_before(void **state)
{
	static const struct audio_session_params params = {
		.wanted = MEDIA_AUDIO_MEASURE};
	struct rtp_payload_map before = {.count = 0}, after = {.count = 0};
	struct audio_samples *samples = calloc(1, sizeof(*samples));
	(void)state;

	assert_non_null(samples);
	assert_int_equal(rtp_payload_map_add(&before, 8, "PCMA", 8000), 0);
	assert_int_equal(rtp_payload_map_add(&after, 0, "PCMU", 8000), 0);
	for (int both = 0; both < 2; both++) {
		struct audio_total t = {0};
		struct audio_session *a;

		if (both) /* the peer still accepts PCMA */
			assert_int_equal(
				rtp_payload_map_add(&after, 8, "PCMA", 8000),
				0);
		assert_int_equal(audio_session_new(&a, &params), 0);
		apply(a, &codec_pcma, &before, NS_PER_S, samples);
		apply(a, &codec_pcmu, &after, NS_PER_S + 100 * NS_PER_MS,
		      samples);
		sent(a, &codec_pcma, 100, NS_PER_S, samples);
		sent(a, &codec_pcmu, 105, NS_PER_S + 100 * NS_PER_MS, samples);
		assert_ptr_equal(a->legs[1].codec, &codec_pcmu);
		audio_leg_total(&a->legs[1], 2 * NS_PER_S, &t);
		assert_int_equal(t.packets, 10);
		assert_float_equal(t.level_dbov, -15.26, 0.3);
		audio_session_free(a);
	}
	free(samples);
}

static void test_session_hears_its_peer(void **state)
{
	struct rig_log *a, *b;
	struct rig r;

	(void)state;
	rig_open(&r, RIG_SESSIONS, 0);
	a = rig_session_audio(&r, 0, MEDIA_AUDIO_MEASURE);
	b = rig_session(&r, 1);
	settle(a, b, MEDIA_SENDRECV);
	settle(b, a, MEDIA_SENDRECV);
	rig_run_ms(&r, 2500);
	rig_stop(&r, 2);
	for (int out = 0; out < 2; out++) {
		const struct audio_total *t = &a->audio[out];

		assert_int_equal(a->audio_totals[out], 1);
		assert_int_equal(b->audio_totals[out], 0);
		assert_true(a->audio_seconds[out] >= 3);
		/* all packets were decoded */
		assert_int_equal(t->packets, a->total[out].packets);
		assert_int_equal(t->late + t->undecodable + t->dropped, 0);
		/* the level of the built-in tones: amplitude 7200 of 32768 */
		assert_float_equal(t->level_dbov, -16.3, 0.5);
		assert_true(t->silence_max_ms < 900);
		assert_int_equal(t->tone_count, 4);
		assert_float_equal(t->tones[0].hz, 425, 1);
		assert_float_equal(t->tones[1].hz, 850, 1);
		assert_true(t->one_way_ms <= 0);
	}
	assert_false(a->disordered);
	rig_close(&r);
}

static void test_session_finds_one_way_audio(void **state)
{
	struct rig_log *a, *b;
	struct rig r;

	(void)state;
	rig_open(&r, RIG_SESSIONS, 0);
	a = rig_session_audio(&r, 0, MEDIA_AUDIO_MEASURE);
	b = rig_session_audio(&r, 1, MEDIA_AUDIO_MEASURE);
	settle(a, b, MEDIA_SENDRECV);
	settle(b, a, MEDIA_RECVONLY); /* it never sends */
	rig_run_ms(&r, 2300);
	rig_stop(&r, 2);
	assert_int_equal(a->audio[0].packets, 0);
	assert_false(a->audio[0].has_level);
	/* whole seconds; more of them if the machine is late */
	assert_true(a->audio[0].one_way_ms >= 2000);
	assert_float_equal(fmod(a->audio[0].one_way_ms, 1000), 0, 1e-6);
	assert_true(a->audio[0].silence_max_ms >= 2300);
	/* it did not want to send, so nothing is one-way for it */
	assert_true(b->audio[0].one_way_ms <= 0);
	assert_true(b->audio[0].heard_ms > 1000);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_codec_is_heard),
		cmocka_unit_test(test_clipping_of_every_codec),
		cmocka_unit_test(test_late_and_lost_packets),
		cmocka_unit_test(test_source_that_begins_anew),
		cmocka_unit_test(test_late_burst_is_late),
		cmocka_unit_test(test_gap_where_time_begins_anew),
		cmocka_unit_test(test_gap_of_long_comfort_noise),
		cmocka_unit_test(test_lost_packet_is_recovered),
		cmocka_unit_test(test_source_changes),
		cmocka_unit_test(test_silence_is_counted_while_expected),
		cmocka_unit_test(test_garbage_is_no_sound),
		cmocka_unit_test(test_payload_ring_refuses_when_full),
		cmocka_unit_test(test_codec_of_what_was_sent_before),
		cmocka_unit_test(test_session_hears_its_peer),
		cmocka_unit_test(test_session_finds_one_way_audio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
