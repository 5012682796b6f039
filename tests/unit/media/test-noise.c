#include "media/audio/codec_noise.h"
#include "prompt_rig.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

/*
 * Sound for some ms, then a quiet tone (amplitude 23: -66.1 dBov), at 8000 Hz.
 */
static size_t talk_make(int16_t *dst, unsigned sound_ms, unsigned quiet_ms)
{
	size_t sound = sound_ms * 8;
	size_t count = sound + quiet_ms * 8;

	for (size_t i = 0; i < count; i++)
		dst[i] = (int16_t)lrint((i < sound ? 8000 : 23) *
					sin(2 * PI * 500 * (double)i / 8000));
	return count;
}

static void clip_make(struct clip *ret, const struct codec *codec,
		      const int16_t *pcm, size_t count, uint16_t ptime_ms)
{
	const struct prompt_want want = {
		.codec = codec,
		.ptime_ms = ptime_ms,
		.settings.noise = true,
	};
	const struct pcm_source source = prompt_rig_source(pcm, count);

	prompt_rig_encode(ret, &want, &source);
}

static void check(const struct codec *codec, uint16_t ptime_ms, size_t full)
{
	static int16_t pcm[16000];
	size_t count = talk_make(pcm, 400, 1200);
	size_t sound =
		(size_t)(400 / ptime_ms + CODEC_NOISE_HANGOVER_MS / ptime_ms);
	size_t noises = 0;
	struct clip c;

	clip_make(&c, codec, pcm, count, ptime_ms);
	assert_int_equal(c.count, 1600 / ptime_ms);
	for (size_t i = 0; i < c.count; i++) {
		if (i < sound) {
			assert_int_equal(c.frames[i].bytes, full);
			assert_false(c.frames[i].noise);
		} else if (c.frames[i].noise) {
			assert_int_equal(c.frames[i].bytes, 1);
			assert_in_range(c.frames[i].data[0], 65, 67);
			noises++;
		} else {
			assert_int_equal(c.frames[i].bytes, 0);
		}
	}
	assert_true(c.frames[sound].noise); /* the silence begins with a
					     * noise packet */
	/* 1140 ms of silence: a noise packet at its start and every 400 ms */
	assert_int_equal(noises, 3);
	clip_release(&c);
}

static void test_noise_cut(void **state)
{
	(void)state;
	check(&codec_pcmu, 20, 160);
	check(&codec_pcma, 10, 80);
	check(&codec_gsm, 20, 33);
}

static void test_noise_silence_all_along(void **state)
{
	static const int16_t zeros[8000];
	struct clip c;

	(void)state;
	clip_make(&c, &codec_pcmu, zeros, 8000, 20);
	assert_int_equal(c.count, 50);
	assert_true(c.frames[0].noise && !c.frames[1].noise);
	assert_int_equal(c.frames[0].data[0], CODEC_NOISE_LEVEL_MAX);
	clip_release(&c);
}

static void test_noise_level(void **state)
{
	const uint8_t packet[] = {0x80 | 40, 1, 2};
	double dbov = 0;

	(void)state;
	assert_false(codec_noise_level(packet, 0, &dbov));
	assert_true(codec_noise_level(packet, sizeof(packet), &dbov));
	assert_float_equal(dbov, -40, 0);
}

static void test_once_is_filled_up(void **state)
{
	static int16_t pcm[500];
	struct prompt_want want = {
		.codec = &codec_pcma, .ptime_ms = 20, .once = true};
	struct prompt_want loop = want;
	const struct pcm_source source = prompt_rig_source(pcm, 500);
	struct clip c;

	(void)state;
	prompt_rig_encode(&c, &want, &source);
	assert_int_equal(c.count, 640);
	clip_release(&c);
	loop.once = false;
	assert_false(prompt_want_same(&want, &loop));
	prompt_rig_encode(&c, &loop, &source);
	assert_int_equal(c.count, 500);
	clip_release(&c);
	/*
	 * a clip of a byte stream serves every packet time; with noise packets
	 * it does not
	 */
	want = loop;
	want.ptime_ms = 30;
	assert_true(prompt_want_same(&want, &loop));
	want.settings.noise = loop.settings.noise = true;
	assert_false(prompt_want_same(&want, &loop));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise_cut),
		cmocka_unit_test(test_noise_silence_all_along),
		cmocka_unit_test(test_noise_level),
		cmocka_unit_test(test_once_is_filled_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
