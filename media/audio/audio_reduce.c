#include "media/audio/audio_reduce.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI       3.14159265358979323846
#define RATE_MAX 48000
/* Zero crossings of the sinc on each side. */
#define CROSSINGS 24
/* Cut-off, as a part of half the lower rate: 3.6 kHz. */
#define PASS 0.9
/* Taps on each side at RATE_MAX. */
#define HALF_MAX (CROSSINGS * RATE_MAX / AUDIO_REDUCED_HZ)

struct audio_reduce {
	/* constant */
	unsigned step;   /* input samples per step of the output: */
	unsigned phases; /* step / phases */
	size_t half;     /* taps on each side; 0: no resampling */
	float *table;    /* 2 * half + 1 taps for each phase */

	float held[CODEC_SAMPLES_MAX + 2 * HALF_MAX + 1];
	size_t held_count;
	size_t at;      /* position of the next output: index in held */
	unsigned phase; /* and fraction of a sample */
};

static unsigned divisor(unsigned a, unsigned b)
{
	while (b) {
		unsigned rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Value of the low-pass, x input samples from its middle. */
static double tap(double x, double ratio, double half)
{
	double cut = PASS / ratio;
	double angle = PI * x * cut;
	double sinc = fabs(angle) < 1e-12 ? 1 : sin(angle) / angle;
	double window = 0.5 + 0.5 * cos(PI * x / (half + 1));

	return fabs(x) > half + 1 ? 0 : cut * sinc * window;
}

static int table_make(struct audio_reduce *r, unsigned rate_hz)
{
	double ratio = (double)rate_hz / AUDIO_REDUCED_HZ;
	size_t taps;

	r->half = (size_t)ceil(CROSSINGS * ratio);
	taps = 2 * r->half + 1;
	r->table = calloc(taps * r->phases, sizeof(*r->table));
	if (!r->table)
		return -ENOMEM;
	for (size_t p = 0; p < r->phases; p++) {
		double part = (double)p / r->phases;
		double sum = 0;

		for (size_t k = 0; k < taps; k++)
			sum += tap((double)k - (double)r->half - part, ratio,
				   (double)r->half);
		for (size_t k = 0; k < taps; k++)
			r->table[p * taps + k] =
				(float)(tap((double)k - (double)r->half - part,
					    ratio, (double)r->half) /
					sum);
	}
	/* as if there had been silence before */
	r->held_count = r->half;
	r->at = r->half;
	return 0;
}

int audio_reduce_new(struct audio_reduce **ret, unsigned rate_hz)
{
	unsigned common;
	struct audio_reduce *r;
	int err = 0;

	if (rate_hz < AUDIO_REDUCED_HZ || rate_hz > RATE_MAX)
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	common = divisor(rate_hz, AUDIO_REDUCED_HZ);
	r->step = rate_hz / common;
	r->phases = AUDIO_REDUCED_HZ / common;
	if (rate_hz != AUDIO_REDUCED_HZ)
		err = table_make(r, rate_hz);
	if (err)
		audio_reduce_free(r);
	else
		*ret = r;
	return err;
}

struct audio_reduce *audio_reduce_free(struct audio_reduce *r)
{
	if (r)
		free(r->table);
	free(r);
	return NULL;
}

static float filtered(const struct audio_reduce *r)
{
	size_t taps = 2 * r->half + 1;
	const float *table = r->table + r->phase * taps;
	const float *from = r->held + r->at - r->half;
	float sum = 0;

	for (size_t k = 0; k < taps; k++)
		sum += table[k] * from[k];
	return sum;
}

/* Drop samples that no further output needs. */
static void held_drop(struct audio_reduce *r)
{
	size_t drop = r->at - r->half;

	if (drop > r->held_count)
		drop = r->held_count;
	r->held_count -= drop;
	r->at -= drop;
	memmove(r->held, r->held + drop, r->held_count * sizeof(*r->held));
}

size_t audio_reduce_add(struct audio_reduce *r, float *dst, const int16_t *pcm,
			size_t count)
{
	float *to = r->half ? r->held + r->held_count : dst;
	size_t done = 0;

	for (size_t i = 0; i < count; i++)
		to[i] = (float)pcm[i] / 32768.0f;
	if (!r->half)
		return count;
	r->held_count += count;
	while (r->at + r->half < r->held_count) {
		dst[done++] = filtered(r);
		r->phase += r->step;
		r->at += r->phase / r->phases;
		r->phase %= r->phases;
	}
	held_drop(r);
	return done;
}
