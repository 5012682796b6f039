#include "media/audio/fft.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

struct pair {
	double re;
	double im;
};

struct fft {
	size_t count;
	/* of all steps, in order of use: 1 + 2 + 4 + ... */
	struct pair *factors;
};

int fft_new(struct fft **ret, size_t count)
{
	struct fft *f;
	struct pair *to;

	if (count == 0 || (count & (count - 1)))
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->count = count;
	f->factors = calloc(count, sizeof(*f->factors));
	if (!f->factors) {
		free(f);
		return -ENOMEM;
	}
	to = f->factors;
	for (size_t half = 1; half < count; half *= 2) {
		for (size_t k = 0; k < half; k++) {
			double angle = -PI * (double)k / (double)half;

			*to++ = (struct pair){cos(angle), sin(angle)};
		}
	}
	*ret = f;
	return 0;
}

struct fft *fft_free(struct fft *f)
{
	if (f)
		free(f->factors);
	free(f);
	return NULL;
}

static void bits_reverse(struct pair *x, size_t count)
{
	size_t j = 0;

	for (size_t i = 1; i < count; i++) {
		size_t bit = count >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			struct pair swap = x[i];

			x[i] = x[j];
			x[j] = swap;
		}
	}
}

/* Real and imaginary parts separately: C's complex product checks for
 * infinities. */
static void butterflies(struct pair *even, struct pair *odd,
			const struct pair *factors, size_t half, double sign)
{
	for (size_t k = 0; k < half; k++) {
		double re = factors[k].re;
		double im = sign * factors[k].im;
		struct pair t = {odd[k].re * re - odd[k].im * im,
				 odd[k].re * im + odd[k].im * re};

		odd[k] = (struct pair){even[k].re - t.re, even[k].im - t.im};
		even[k].re += t.re;
		even[k].im += t.im;
	}
}

void fft_run(const struct fft *f, double complex *x, bool inverse)
{
	/* C11 section 6.2.5: a complex number is an array of its two parts */
	struct pair *p = (struct pair *)(void *)x;
	const struct pair *factors = f->factors;

	bits_reverse(p, f->count);
	for (size_t half = 1; half < f->count; half *= 2) {
		for (size_t i = 0; i < f->count; i += 2 * half)
			butterflies(p + i, p + i + half, factors, half,
				    inverse ? -1 : 1);
		factors += half;
	}
}
