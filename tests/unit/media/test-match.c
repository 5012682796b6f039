/*
 * Is the received audio the prompt: through every codec, delayed, with losses,
 * inverted; other sounds are not.
 */
#include "media/audio/audio_leg.h"
#include "media/audio/audio_match.h"
#include "media/audio/fft.h"

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

#define PI      3.14159265358979323846
#define SECONDS 6
#define COUNT   (8000 * SECONDS)

static double noise_sample(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (double)(*random >> 11) / 4503599627370496.0 - 1;
}

/*
 * Artificial speech: a voice of changing pitch through two resonances, in
 * syllables, with a pause after every few.
 */
static void voice(int16_t *pcm, size_t count, uint64_t seed)
{
	uint64_t random = seed;
	double y[2][2] = {{0}};
	double phase = 0;
	double formant[2] = {0};
	double pitch = 0;

	for (size_t i = 0; i < count; i++) {
		double gain = sin(PI * (double)(i % 1600) / 1600);
		double x;

		if (i % 1600 == 0) { /* the start of a syllable */
			pitch = 130 + 60 * noise_sample(&random);
			formant[0] = 550 + 250 * noise_sample(&random);
			formant[1] = 1700 + 600 * noise_sample(&random);
		}
		phase += pitch / 8000;
		if (phase >= 1)
			phase -= 1;
		x = (phase - 0.5) + 0.1 * noise_sample(&random);
		for (int f = 0; f < 2; f++) {
			double r = 0.97;
			double v = x +
				   2 * r * cos(2 * PI * formant[f] / 8000) *
					   y[f][0] -
				   r * r * y[f][1];

			y[f][1] = y[f][0];
			y[f][0] = v;
		}
		if (i / 1600 % 5 == 4)
			gain = 0;
		x = 900 * gain * (y[0][0] + y[1][0]);
		pcm[i] = (int16_t)(x > 32000 ? 32000 : x < -32000 ? -32000 : x);
	}
}

struct prompt_pcm {
	int16_t pcm[COUNT];
};

static struct prompt_pcm *prompt_make(uint64_t seed)
{
	struct prompt_pcm *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	voice(p->pcm, COUNT, seed);
	return p;
}

struct hearing {
	struct audio_reference *reference;
	struct audio_match *m;
	int64_t now_ns;
};

static void hearing_open(struct hearing *h, const struct prompt_pcm *prompt)
{
	assert_int_equal(audio_reference_new(&h->reference, prompt->pcm, COUNT),
			 0);
	assert_int_equal(audio_match_new(&h->m, h->reference), 0);
	h->now_ns = NS_PER_S;
}

static void hearing_close(struct hearing *h)
{
	audio_match_free(h->m);
	audio_reference_free(h->reference);
}

/* When the prompt began, in the time of the received audio. */
static double begin_ms(const struct audio_matched *r)
{
	assert_true(r->has_begin);
	return (double)(r->begin_ns - NS_PER_S) / (double)NS_PER_MS;
}

static void assert_ms(double ms, double expected)
{
	assert_true(fabs(ms - expected) < 0.2);
}

static void hear(struct hearing *h, const float *pcm, size_t count)
{
	for (size_t at = 0; at < count; at += 160) {
		size_t n = count - at < 160 ? count - at : 160;

		audio_match_add(h->m, pcm + at, n, h->now_ns, 0);
		h->now_ns += (int64_t)n * NS_PER_S / 8000;
	}
}

static void hear_pcm(struct hearing *h, const int16_t *pcm, size_t count,
		     double gain)
{
	float block[160];

	for (size_t at = 0; at < count; at += 160) {
		for (size_t i = 0; i < 160; i++)
			block[i] = at + i < count
					   ? (float)(gain * pcm[at + i] / 32768)
					   : 0;
		hear(h, block, count - at < 160 ? count - at : 160);
	}
}

static void silence(struct hearing *h, size_t ms)
{
	float block[8] = {0};

	for (size_t i = 0; i < ms; i++)
		hear(h, block, 8);
}

static void test_fft_is_the_transform(void **state)
{
	double complex x[64], y[64];
	struct fft *f;
	uint64_t random = 1;

	(void)state;
	assert_int_equal(fft_new(&f, 63), -EINVAL);
	assert_int_equal(fft_new(&f, 64), 0);
	for (size_t i = 0; i < 64; i++)
		x[i] = y[i] = noise_sample(&random) + I * noise_sample(&random);
	fft_run(f, y, false);
	for (size_t k = 0; k < 64; k++) {
		double complex sum = 0;

		for (size_t n = 0; n < 64; n++)
			sum += x[n] * cexp(-2 * PI * I * (double)(k * n) / 64);
		assert_true(cabs(sum - y[k]) < 1e-12);
	}
	fft_run(f, y, true);
	for (size_t i = 0; i < 64; i++)
		assert_true(cabs(y[i] / 64 - x[i]) < 1e-14);
	fft_free(f);
	assert_int_equal(fft_new(&f, 1), 0);
	fft_run(f, y, false);
	fft_free(f);
}

/*
 * The prompt from 1.3 s after its start, at half amplitude, inverted, is
 * recognised.
 */
static void test_prompt_is_found(void **state)
{
	struct prompt_pcm *p = prompt_make(1);
	struct audio_matched r;
	struct hearing h;

	(void)state;
	hearing_open(&h, p);
	silence(&h, 1300);
	hear_pcm(&h, p->pcm, COUNT, -0.5);
	audio_match_result(h.m, &r);
	print_message("the same: %.4f, %.0f ms, begins %.3f ms late\n",
		      r.correlation, r.same_ms, begin_ms(&r));
	assert_true(r.known);
	assert_true(r.correlation > 0.98);
	assert_true(r.same_ms >= 4500);
	assert_true(r.has_begin);
	assert_ms(begin_ms(&r), 1300);
	hearing_close(&h);
	free(p);
}

/* The prompt repeats and was already playing when the first audio arrived. */
static void test_prompt_goes_round(void **state)
{
	struct prompt_pcm *p = prompt_make(2);
	struct audio_matched r;
	struct hearing h;

	(void)state;
	hearing_open(&h, p);
	hear_pcm(&h, p->pcm + 8000, COUNT - 8000, 1);
	for (int i = 0; i < 3; i++)
		hear_pcm(&h, p->pcm, COUNT, 1);
	audio_match_result(h.m, &r);
	assert_true(r.correlation > 0.98);
	assert_ms(begin_ms(&r), -1000);
	hearing_close(&h);
	free(p);
}

/*
 * The prompt once, then silence: an announcement that has ended is not an
 * error.
 */
static void test_prompt_is_over(void **state)
{
	struct prompt_pcm *p = prompt_make(3);
	struct audio_matched r;
	struct hearing h;

	(void)state;
	hearing_open(&h, p);
	hear_pcm(&h, p->pcm, COUNT, 1);
	silence(&h, 10000);
	audio_match_result(h.m, &r);
	assert_true(r.correlation > 0.95);
	hearing_close(&h);
	free(p);
}

/* A quarter of the prompt is missing: the score falls by as much. */
static void test_prompt_with_a_hole(void **state)
{
	struct prompt_pcm *p = prompt_make(4);
	struct audio_matched r;
	struct hearing h;

	(void)state;
	hearing_open(&h, p);
	hear_pcm(&h, p->pcm, 16000, 1);
	silence(&h, 1500);
	hear_pcm(&h, p->pcm + 28000, COUNT - 28000, 1);
	audio_match_result(h.m, &r);
	print_message("1.5 s of 6 s missing: %.3f\n", r.correlation);
	assert_true(r.correlation > 0.6 && r.correlation < 0.85);
	hearing_close(&h);
	free(p);
}

static void test_others_are_not_it(void **state)
{
	struct prompt_pcm *p = prompt_make(5);
	struct prompt_pcm *other = prompt_make(6);
	struct audio_matched r;
	struct hearing h;
	uint64_t random = 9;

	(void)state;
	hearing_open(&h, p);
	hear_pcm(&h, other->pcm, COUNT, 1);
	audio_match_result(h.m, &r);
	print_message("another voice: %.3f\n", r.correlation);
	assert_true(r.known && r.correlation < 0.45);
	assert_false(r.has_begin);
	assert_true(r.same_ms <= 0);
	hearing_close(&h);
	for (size_t i = 0; i < COUNT; i++)
		other->pcm[i] = (int16_t)(8000 * noise_sample(&random));
	hearing_open(&h, p);
	hear_pcm(&h, other->pcm, COUNT, 1);
	audio_match_result(h.m, &r);
	print_message("noise: %.3f\n", r.correlation);
	assert_true(r.correlation < 0.2);
	hearing_close(&h);
	/* silence gives no result */
	hearing_open(&h, p);
	silence(&h, 5000);
	audio_match_result(h.m, &r);
	assert_false(r.known);
	hearing_close(&h);
	free(other);
	free(p);
}

/* Occasional packet loss does not lose the position. */
static void test_losses_keep_the_place(void **state)
{
	struct prompt_pcm *p = prompt_make(7);
	struct audio_matched r;
	struct hearing h;
	float block[160];
	double gap_ms = 0;

	(void)state;
	hearing_open(&h, p);
	for (size_t at = 0; at + 160 <= COUNT; at += 160) {
		for (size_t i = 0; i < 160; i++)
			block[i] = (float)p->pcm[at + i] / 32768;
		h.now_ns = NS_PER_S + (int64_t)at * NS_PER_S / 8000;
		if (at / 160 % 20 == 7) { /* 5 % */
			gap_ms = 20;
			continue;
		}
		audio_match_add(h.m, block, 160, h.now_ns, gap_ms);
		gap_ms = 0;
	}
	audio_match_result(h.m, &r);
	print_message("5 %% lost: %.3f\n", r.correlation);
	assert_true(r.correlation > 0.9);
	assert_ms(begin_ms(&r), 0);
	hearing_close(&h);
	free(p);
}

/* Encode the prompt at the codec's rate, decode and reduce it again. */
static double through(const struct codec *codec, const struct prompt_pcm *p,
		      double *ret_begin_ms)
{
	const struct codec_settings none = {0};
	uint16_t ptime_ms = codec_ptime(codec, 20);
	size_t packet = (size_t)codec->sample_hz * ptime_ms / 1000;
	size_t count = (size_t)codec->sample_hz * SECONDS / packet * packet;
	int16_t *up = calloc(count, sizeof(*up));
	float reduced[AUDIO_REDUCED_MAX];
	int16_t pcm[CODEC_SAMPLES_MAX];
	struct audio_reduce *reduce;
	struct audio_matched r;
	void *decoder = NULL;
	struct hearing h;
	struct clip clip;

	assert_non_null(up);
	for (size_t i = 0; i < count; i++) {
		double at = (double)i * 8000 / codec->sample_hz;
		size_t left = (size_t)at;
		double part = at - (double)left;

		up[i] = (int16_t)((1 - part) * p->pcm[left] +
				  part * p->pcm[left + 1 < COUNT ? left + 1
								 : left]);
	}
	rig_encode(&clip, codec, up, count, ptime_ms, &none);
	assert_int_equal(audio_reduce_new(&reduce, codec->sample_hz), 0);
	if (codec->decoder_new)
		assert_int_equal(codec->decoder_new(&decoder), 0);
	hearing_open(&h, p);
	for (size_t k = 0; k < count / packet; k++) {
		const uint8_t *payload;
		size_t bytes = rig_payload(&payload, codec, &clip, ptime_ms, k);
		int n = codec->decode(codec, decoder, pcm, CODEC_SAMPLES_MAX,
				      payload, bytes);

		assert_true(n > 0);
		hear(&h, reduced,
		     audio_reduce_add(reduce, reduced, pcm, (size_t)n));
	}
	audio_match_result(h.m, &r);
	assert_true(r.has_begin);
	*ret_begin_ms = (double)(r.begin_ns - NS_PER_S) / 1e6;
	hearing_close(&h);
	if (codec->decoder_free)
		codec->decoder_free(decoder);
	audio_reduce_free(reduce);
	clip_release(&clip);
	free(up);
	return r.correlation;
}

static void test_every_codec_carries_it(void **state)
{
	struct prompt_pcm *p = prompt_make(8);
	const struct codec *codec;
	double late_ms;

	(void)state;
	for (size_t i = 0; (codec = codec_at(i)); i++) {
		double correlation = through(codec, p, &late_ms);

		print_message("%s: %.4f, %+.2f ms\n", codec->name, correlation,
			      late_ms);
		assert_true(correlation > 0.85);
		/* the codec's own delay; ours is subtracted */
		assert_true(late_ms > -1 && late_ms < 40);
	}
	free(p);
}

static void test_reference_has_a_ceiling(void **state)
{
	struct audio_reference *r;
	const int16_t one = 1;

	(void)state;
	assert_int_equal(audio_reference_new(&r, &one, 0), -EINVAL);
	assert_int_equal(audio_reference_new(
				 &r, &one, AUDIO_MATCH_SECONDS_MAX * 8000 + 1),
			 -EFBIG);
}

/* A prompt shorter than a window repeats within it. */
static void test_short_prompt(void **state)
{
	struct audio_reference *reference;
	struct audio_matched r;
	int16_t pcm[800];
	struct hearing h = {.now_ns = NS_PER_S};

	(void)state;
	for (size_t i = 0; i < 800; i++)
		pcm[i] = (int16_t)lrint(8000 *
					sin(2 * PI * 440 * (double)i / 8000));
	assert_int_equal(audio_reference_new(&reference, pcm, 800), 0);
	assert_int_equal(audio_match_new(&h.m, reference), 0);
	for (int i = 0; i < 50; i++)
		hear_pcm(&h, pcm, 800, 1);
	audio_match_result(h.m, &r);
	assert_true(r.correlation > 0.999);
	assert_true(r.same_ms >= 4900);
	audio_match_free(h.m);
	audio_reference_free(reference);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fft_is_the_transform),
		cmocka_unit_test(test_prompt_is_found),
		cmocka_unit_test(test_prompt_goes_round),
		cmocka_unit_test(test_prompt_is_over),
		cmocka_unit_test(test_prompt_with_a_hole),
		cmocka_unit_test(test_others_are_not_it),
		cmocka_unit_test(test_losses_keep_the_place),
		cmocka_unit_test(test_every_codec_carries_it),
		cmocka_unit_test(test_reference_has_a_ceiling),
		cmocka_unit_test(test_short_prompt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
