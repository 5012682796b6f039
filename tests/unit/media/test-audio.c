/* The parts of the audio thread: meter, tones, rate reduction, decoding. */
#include "media/audio_leg.h"

#include "base/clock.h"
#include "media_rig.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PI       3.14159265358979323846
#define PTIME_MS 20

static void tone(int16_t *pcm, size_t count, double hz, double amplitude,
		 unsigned rate_hz)
{
	for (size_t i = 0; i < count; i++) {
		double x = amplitude * sin(2 * PI * hz * (double)i / rate_hz);

		pcm[i] = (int16_t)(x > 32767    ? 32767
				   : x < -32768 ? -32768
						: lrint(x));
	}
}

static void test_level_of_known_signals(void **state)
{
	struct audio_meter m = {0};
	struct audio_second s = {0};
	int16_t pcm[8000];

	(void)state;
	audio_meter_rate(&m, 8000, 1);
	/* RFC 6464: a sine of full scale has -3.01 dBov */
	tone(pcm, 8000, 1000, 32767, 8000);
	assert_int_equal(audio_meter_add(&m, pcm, 8000), 50);
	audio_meter_second(&m, &s);
	assert_true(s.has_level);
	assert_float_equal(s.level_dbov, -3.01, 0.01);
	assert_float_equal(s.peak_dbov, 0, 0.01);
	assert_float_equal(s.heard_ms, 1000, 0.01);
	/* a square wave of half scale */
	for (int i = 0; i < 8000; i++)
		pcm[i] = i % 8 < 4 ? 16384 : -16384;
	audio_meter_add(&m, pcm, 8000);
	audio_meter_second(&m, &s);
	assert_float_equal(s.level_dbov, -6.02, 0.01);
	assert_float_equal(s.peak_dbov, -6.02, 0.01);
	memset(pcm, 0, sizeof(pcm));
	assert_int_equal(audio_meter_add(&m, pcm, 8000), 0);
	audio_meter_second(&m, &s);
	assert_float_equal(s.level_dbov, AUDIO_FLOOR_DBOV, 0.01);
	assert_float_equal(s.heard_ms, 0, 0);
	audio_meter_second(&m, &s);
	assert_false(s.has_level);
}

static void test_silence_ends_at_its_level(void **state)
{
	struct audio_meter m = {0};
	int16_t pcm[160];
	/* a sine of -50 dBov */
	double at = 32768 * pow(10, (AUDIO_SILENCE_DBOV + 3.01) / 20);

	(void)state;
	audio_meter_rate(&m, 8000, 1);
	tone(pcm, 160, 1000, at * 1.03, 8000);
	assert_int_equal(audio_meter_add(&m, pcm, 160), 1);
	tone(pcm, 160, 1000, at * 0.97, 8000);
	assert_int_equal(audio_meter_add(&m, pcm, 160), 0);
}

/* One frame that is heard among silent ones: the level of what was heard is
 * the frame's. */
static void test_level_of_what_was_heard(void **state)
{
	struct audio_meter m = {0};
	struct audio_total t = {0};
	int16_t pcm[8000] = {0};

	(void)state;
	audio_meter_rate(&m, 8000, 1);
	tone(pcm + 1600, 160, 1000, 3276.8, 8000);
	audio_meter_add(&m, pcm, 8000);
	audio_meter_total(&m, &t);
	assert_true(t.has_level);
	assert_float_equal(t.level_dbov, -23.01, 0.05);
	assert_float_equal(t.heard_ms, 20, 0.01);
}

static void test_clipping_needs_a_row(void **state)
{
	struct audio_meter m = {0};
	struct audio_second s = {0};
	int16_t pcm[1000] = {0};

	(void)state;
	audio_meter_rate(&m, 8000, 32767 / 32768.0);
	pcm[10] = pcm[11] = 32767;    /* two */
	pcm[20] = pcm[22] = 32767;    /* not in a row */
	for (int i = 30; i < 35; i++) /* five */
		pcm[i] = -32768;
	audio_meter_add(&m, pcm, 1000);
	audio_meter_second(&m, &s);
	assert_float_equal(s.clipped_pct, 0.5, 1e-9);
}

static void test_tone_is_found(void **state)
{
	float pcm[AUDIO_TONE_SAMPLES];
	int16_t raw[AUDIO_TONE_SAMPLES];
	struct audio_tone found;
	unsigned random = 1;

	(void)state;
	for (double hz = 100; hz < 3600; hz += 33.7) {
		tone(raw, AUDIO_TONE_SAMPLES, hz, 8000, 8000);
		for (size_t i = 0; i < AUDIO_TONE_SAMPLES; i++) {
			/* noise 24 dB below */
			random = random * 1103515245 + 12345;
			pcm[i] = (float)raw[i] / 32768 +
				 ((float)(random >> 16 & 0x7fff) / 32768 -
				  0.5f) * 0.0369f;
		}
		assert_true(
			audio_tone_find(&found, pcm, AUDIO_TONE_SAMPLES, 8000));
		assert_float_equal(found.hz, hz, 0.5);
		assert_float_equal(found.dbov, -15.26, 0.1);
		assert_float_equal(found.ms, 100, 0);
	}
}

static void test_no_tone_in_noise_or_two_tones(void **state)
{
	float pcm[AUDIO_TONE_SAMPLES];
	struct audio_tone found = {0};
	unsigned random = 7;

	(void)state;
	for (size_t i = 0; i < AUDIO_TONE_SAMPLES; i++) {
		random = random * 1103515245 + 12345;
		pcm[i] = (float)(random >> 16 & 0x7fff) / 32768 - 0.5f;
	}
	assert_false(audio_tone_find(&found, pcm, AUDIO_TONE_SAMPLES, 8000));
	for (size_t i = 0; i < AUDIO_TONE_SAMPLES; i++)
		pcm[i] = 0.2f * (float)(sin(2 * PI * 770 * (double)i / 8000) +
					sin(2 * PI * 1336 * (double)i / 8000));
	assert_false(audio_tone_find(&found, pcm, AUDIO_TONE_SAMPLES, 8000));
	memset(pcm, 0, sizeof(pcm));
	assert_false(audio_tone_find(&found, pcm, AUDIO_TONE_SAMPLES, 8000));
	assert_float_equal(found.ms, 0, 0);
}

/* Tones near each other are one entry, others have their own. */
static void test_tones_are_listed(void **state)
{
	static const double hz[] = {440, 443, 1000, 440};
	struct audio_tones *t = calloc(1, sizeof(*t));
	float pcm[AUDIO_TONE_SAMPLES];
	struct audio_tone block;

	(void)state;
	assert_non_null(t);
	for (size_t k = 0; k < 4; k++) {
		for (size_t i = 0; i < AUDIO_TONE_SAMPLES; i++)
			pcm[i] = 0.2f *
				 (float)sin(2 * PI * hz[k] * (double)i / 8000);
		audio_tones_add(t, pcm, AUDIO_TONE_SAMPLES, &block);
		assert_float_equal(block.hz, hz[k], 0.2);
	}
	assert_int_equal(t->count, 2);
	assert_float_equal(t->list[0].hz, 441, 0.2);
	assert_float_equal(t->list[0].ms, 300, 0);
	assert_float_equal(t->list[1].hz, 1000, 0.2);
	audio_tones_second(t, &block);
	assert_float_equal(block.hz, 440, 0.2);
	audio_tones_second(t, &block);
	assert_float_equal(block.ms, 0, 0);
	/* a gap breaks a block */
	audio_tones_add(t, pcm, AUDIO_TONE_SAMPLES / 2, &block);
	audio_tones_break(t);
	audio_tones_add(t, pcm, AUDIO_TONE_SAMPLES / 2, &block);
	assert_float_equal(block.ms, 0, 0);
	free(t);
}

/* Level and frequency of the voice band stay, what lies above goes. */
static void reduce_check(unsigned rate_hz, double hz, double *ret_dbov)
{
	struct audio_reduce *r;
	size_t packet = rate_hz * PTIME_MS / 1000;
	int16_t *pcm = calloc(rate_hz, sizeof(*pcm));
	float *out = calloc(8000 + AUDIO_REDUCED_MAX, sizeof(*out));
	struct audio_tone found = {.dbov = AUDIO_FLOOR_DBOV};
	double energy = 0;
	size_t done = 0;

	assert_non_null(pcm);
	assert_non_null(out);
	assert_int_equal(audio_reduce_new(&r, rate_hz), 0);
	tone(pcm, rate_hz, hz, 8000, rate_hz);
	for (size_t at = 0; at + packet <= rate_hz; at += packet) {
		size_t n = audio_reduce_add(r, out + done, pcm + at, packet);

		assert_true(n <= AUDIO_REDUCED_MAX);
		done += n;
	}
	/* a second, but for what is held back */
	assert_true(done > 8000 - 30 && done <= 8000);
	for (size_t i = 2000; i < 6000; i++)
		energy += (double)out[i] * out[i];
	*ret_dbov = audio_dbov(energy, 4000);
	if (hz < 3400) {
		assert_true(audio_tone_find(&found, out + 2000,
					    AUDIO_TONE_SAMPLES, 8000));
		assert_float_equal(found.hz, hz, 0.05);
	}
	audio_reduce_free(r);
	free(pcm);
	free(out);
}

static void test_reduce_keeps_the_voice_band(void **state)
{
	static const unsigned rates[] = {8000, 16000, 44100, 48000};
	struct audio_reduce *r;
	double dbov;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (double hz = 100; hz <= 3300; hz += 400) {
			reduce_check(rates[i], hz, &dbov);
			assert_float_equal(dbov, -15.26, 0.1);
		}
		if (rates[i] > 8000) {
			reduce_check(rates[i], 4600, &dbov);
			assert_true(dbov < -65);
		}
	}
	assert_int_equal(audio_reduce_new(&r, 7999), -EINVAL);
	assert_int_equal(audio_reduce_new(&r, 48001), -EINVAL);
}

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
	size_t at; /* packet of the clip */
	int64_t mono_ns;
};

static void stream_open_as(struct stream *s, const struct codec *codec,
			   double hz, const struct codec_settings *settings)
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
	tone(pcm, count, hz, 8000, codec->sample_hz);
	assert_int_equal(codec->encode(codec, &s->clip, pcm, count, s->ptime_ms,
				       settings),
			 0);
	free(pcm);
	audio_leg_expect(s->leg, true, s->mono_ns);
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

/* The next packet arrives. @return it was decoded */
static bool stream_arrive(struct stream *s)
{
	size_t each = (size_t)s->codec->bytes_per_s * s->ptime_ms / 1000;
	size_t begin = s->clip.ends ? s->at ? s->clip.ends[s->at - 1] : 0
				    : s->at * each;
	struct payload head = {
		.mono_ns = s->mono_ns,
		.ssrc = s->ssrc,
		.seq = s->seq,
		.ts = s->ts,
		.bytes = (uint16_t)(s->clip.ends ? s->clip.ends[s->at] - begin
						 : each),
	};
	struct audio_slice slice;
	bool decoded = audio_leg_decode(s->leg, s->codec, &head,
					s->clip.data + begin, s->samples);

	if (decoded)
		audio_leg_measure(s->leg, s->samples->pcm, s->samples->count,
				  s->samples->reduced,
				  s->samples->reduced_count, s->mono_ns,
				  &slice);
	stream_step(s);
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

static void test_late_and_lost_packets(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, &codec_pcma, 1000);
	assert_true(stream_arrive(&s));
	s.seq--; /* again */
	assert_false(stream_arrive(&s));
	assert_int_equal(s.leg->late, 1);
	stream_step(&s); /* lost */
	stream_step(&s);
	assert_true(stream_arrive(&s));
	/* the repeated one moved the stream on by a packet, too */
	assert_float_equal(s.samples->gap_ms, 60, 0.01);
	assert_int_equal(s.leg->packets, 2);
	stream_close(&s);
}

/* Of Opus with redundancy one packet of three is lost, then two in a row. The
 * encoder makes copies of what it finds worth it. */
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
	/* the copy is of the packet before */
	before = s.leg->recovered;
	stream_step(&s);
	stream_step(&s);
	assert_true(stream_arrive(&s));
	assert_float_equal(s.samples->gap_ms,
			   s.leg->recovered > before ? 20 : 40, 0.01);
	audio_leg_total(s.leg, s.mono_ns, &t);
	print_message("%s: %u recovered, heard %.0f ms at %.2f dBov\n", fmtp,
		      (unsigned)t.recovered, t.heard_ms, t.level_dbov);
	if (copies)
		assert_in_range(t.recovered, 13, 27);
	else
		assert_int_equal(t.recovered, 0);
	/* they sound as what was sent */
	assert_true(fabs(t.heard_ms - 65 * 20 - 20 * (double)t.recovered) <
		    100);
	assert_float_equal(t.level_dbov, -15.26, 1.0);
	stream_close(&s);
}

static void test_lost_packet_is_recovered(void **state)
{
	(void)state;
	check_recovery("useinbandfec=1;maxaveragebitrate=20000", true);
	check_recovery("maxaveragebitrate=20000", false);
}

/* A stranger's packet is not heard; who sends two in sequence is. */
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
	/* on hold for 5 s: none of its silence counts */
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
	/* round and round, so that records go over the end */
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
		/* the built-in tones: 7200 of 32768 */
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
	/* whole seconds: more of them on a machine that is late */
	assert_true(a->audio[0].one_way_ms >= 2000);
	assert_float_equal(fmod(a->audio[0].one_way_ms, 1000), 0, 1e-6);
	assert_true(a->audio[0].silence_max_ms >= 2300);
	/* it did not want to send: nothing is one-way for it */
	assert_true(b->audio[0].one_way_ms <= 0);
	assert_true(b->audio[0].heard_ms > 1000);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_level_of_known_signals),
		cmocka_unit_test(test_silence_ends_at_its_level),
		cmocka_unit_test(test_level_of_what_was_heard),
		cmocka_unit_test(test_clipping_needs_a_row),
		cmocka_unit_test(test_tone_is_found),
		cmocka_unit_test(test_no_tone_in_noise_or_two_tones),
		cmocka_unit_test(test_tones_are_listed),
		cmocka_unit_test(test_reduce_keeps_the_voice_band),
		cmocka_unit_test(test_every_codec_is_heard),
		cmocka_unit_test(test_late_and_lost_packets),
		cmocka_unit_test(test_lost_packet_is_recovered),
		cmocka_unit_test(test_source_changes),
		cmocka_unit_test(test_silence_is_counted_while_expected),
		cmocka_unit_test(test_garbage_is_no_sound),
		cmocka_unit_test(test_payload_ring_refuses_when_full),
		cmocka_unit_test(test_session_hears_its_peer),
		cmocka_unit_test(test_session_finds_one_way_audio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
