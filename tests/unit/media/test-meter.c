/* The parts of the audio thread that need no codec: meter, tones, rate
 * reduction. */
#include "media/audio/audio_meter.h"
#include "media/audio/audio_reduce.h"
#include "media/audio/audio_tone.h"
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

#define PI       3.14159265358979323846
#define PTIME_MS 20

static void test_level_of_known_signals(void **state)
{
	struct audio_meter m = {0};
	struct audio_second s = {0};
	int16_t pcm[8000];

	(void)state;
	audio_meter_rate(&m, 8000, 1);
	/* RFC 6464: a full-scale sine has -3.01 dBov */
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

/*
 * One active frame among silent ones: the level of active audio is that of the
 * frame.
 */
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
	pcm[20] = pcm[22] = 32767;    /* not consecutive */
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

/*
 * Tones with nearly the same frequency share an entry, others have their own.
 */
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

/*
 * Level and frequency in the voice band are kept, higher frequencies are
 * removed.
 */
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
	/* a second, minus what the filter holds back */
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

/* A peer may send any time in one packet. */
static void test_reduce_has_room_for_any_packet(void **state)
{
	static const int16_t pcm[CODEC_SAMPLES_MAX];
	static float out[2 * CODEC_SAMPLES_MAX];

	(void)state;
	for (size_t i = 0; codec_at(i); i++) {
		struct audio_reduce *r;

		assert_int_equal(audio_reduce_new(&r, codec_at(i)->sample_hz),
				 0);
		for (size_t n = 1; n <= 3; n++)
			assert_in_range(audio_reduce_add(r, out, pcm,
							 CODEC_SAMPLES_MAX),
					1, AUDIO_REDUCED_MAX);
		audio_reduce_free(r);
	}
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
		cmocka_unit_test(test_reduce_has_room_for_any_packet),
		cmocka_unit_test(test_reduce_keeps_the_voice_band),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
