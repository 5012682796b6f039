#include "media/audio/resample.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

/* zero crossings of the sinc on each side of the centre */
#define HALF_LOBES 16
/* Share of the Nyquist band that passes. The rest is the transition band: a
 * Blackman window over 2 x 16 lobes attenuates by 74 dB within 6/32 of the
 * band. */
#define PASS_SHARE 0.91

struct kernel {
	unsigned phases; /* output positions between two input samples */
	unsigned step;   /* input position advances step/phases */
	size_t half;     /* taps on each side */
	float *taps;     /* phases x 2 half */
};

static unsigned gcd(unsigned a, unsigned b)
{
	while (b) {
		unsigned rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static double sinc(double x)
{
	return fabs(x) < 1e-9 ? 1.0 : sin(PI * x) / (PI * x);
}

static double blackman(double x) /* -1..1 */
{
	return 0.42 + 0.5 * cos(PI * x) + 0.08 * cos(2 * PI * x);
}

static int kernel_make(struct kernel *k, unsigned rate_hz, unsigned dst_hz)
{
	unsigned common = gcd(rate_hz, dst_hz);
	double band = rate_hz > dst_hz ? (double)dst_hz / rate_hz : 1.0;
	double cutoff = band * PASS_SHARE;
	size_t width;

	k->phases = dst_hz / common;
	k->step = rate_hz / common;
	k->half = (size_t)ceil(HALF_LOBES / band);
	width = 2 * k->half;
	k->taps = calloc(k->phases, width * sizeof(*k->taps));
	if (!k->taps)
		return -ENOMEM;
	for (unsigned phase = 0; phase < k->phases; phase++) {
		float *taps = k->taps + phase * width;
		double at = (double)phase / k->phases;
		double sum = 0;

		for (size_t i = 0; i < width; i++) {
			double x = (double)i - (double)(k->half - 1) - at;
			double w = fabs(x) < (double)k->half
					   ? blackman(x / (double)k->half)
					   : 0;

			taps[i] = (float)(sinc(x * cutoff) * w);
			sum += taps[i];
		}
		/* unity gain at 0 Hz in every phase, to avoid a tone at the
		 * phase rate */
		for (size_t i = 0; i < width; i++)
			taps[i] = (float)(taps[i] / sum);
	}
	return 0;
}

static int16_t to_sample(double scaled)
{
	if (scaled < -32768.0)
		return -32768;
	if (scaled > 32767.0)
		return 32767;
	return (int16_t)lrint(scaled);
}

static int16_t filter_at(const struct kernel *k, const int16_t *src,
			 size_t count, uint64_t position)
{
	const float *taps = k->taps + position % k->phases * 2 * k->half;
	uint64_t centre = position / k->phases;
	/* first sample under the filter, across the seam, never negative */
	size_t at =
		(size_t)((centre + count * k->half - (k->half - 1)) % count);
	double sum = 0;

	for (size_t i = 0; i < 2 * k->half; i++) {
		sum += (double)taps[i] * (double)src[at];
		if (++at == count)
			at = 0;
	}
	return to_sample(sum);
}

struct resampler {
	const int16_t *src;
	size_t src_count;
	size_t count;
	bool same; /* equal rates: no filter */
	struct kernel kernel;
};

int resampler_new(struct resampler **ret, const int16_t *src, size_t count,
		  unsigned rate_hz, unsigned dst_hz)
{
	struct resampler *r;

	if (count == 0 || rate_hz < RESAMPLE_RATE_MIN_HZ ||
	    rate_hz > RESAMPLE_RATE_MAX_HZ || dst_hz < RESAMPLE_RATE_MIN_HZ ||
	    dst_hz > RESAMPLE_RATE_MAX_HZ)
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->src = src;
	r->src_count = count;
	r->count = (size_t)((uint64_t)count * dst_hz / rate_hz);
	if (r->count == 0)
		r->count = 1;
	r->same = rate_hz == dst_hz;
	if (!r->same && kernel_make(&r->kernel, rate_hz, dst_hz)) {
		free(r);
		return -ENOMEM;
	}
	*ret = r;
	return 0;
}

struct resampler *resampler_free(struct resampler *r)
{
	if (r)
		free(r->kernel.taps);
	free(r);
	return NULL;
}

size_t resampler_count(const struct resampler *r)
{
	return r->count;
}

void resampler_read(const struct resampler *r, int16_t *dst, size_t from,
		    size_t count)
{
	if (r->same) {
		memcpy(dst, r->src + from, count * sizeof(*dst));
		return;
	}
	for (size_t i = 0; i < count; i++)
		dst[i] = filter_at(&r->kernel, r->src, r->src_count,
				   (uint64_t)(from + i) * r->kernel.step);
}

int resample_loop(int16_t **ret_dst, size_t *ret_count, const int16_t *src,
		  size_t count, unsigned rate_hz, unsigned dst_hz)
{
	struct resampler *r;
	int16_t *dst;
	int err = resampler_new(&r, src, count, rate_hz, dst_hz);

	if (err)
		return err;
	dst = calloc(r->count, sizeof(*dst));
	if (dst) {
		resampler_read(r, dst, 0, r->count);
		*ret_dst = dst;
		*ret_count = r->count;
	}
	resampler_free(r);
	return dst ? 0 : -ENOMEM;
}
