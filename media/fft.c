#include "media/fft.h"

#include <math.h>

#define PI 3.14159265358979323846

static void bits_reverse(double complex *x, size_t count)
{
	size_t j = 0;

	for (size_t i = 1; i < count; i++) {
		size_t bit = count >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			double complex swap = x[i];

			x[i] = x[j];
			x[j] = swap;
		}
	}
}

void fft(double complex *x, size_t count, bool inverse)
{
	bits_reverse(x, count);
	for (size_t half = 1; half < count; half *= 2) {
		double angle = (inverse ? PI : -PI) / (double)half;

		/* by the outer loop each factor is computed once, exactly */
		for (size_t k = 0; k < half; k++) {
			double complex w = cexp(I * angle * (double)k);

			for (size_t i = k; i < count; i += 2 * half) {
				double complex odd = w * x[i + half];

				x[i + half] = x[i] - odd;
				x[i] += odd;
			}
		}
	}
}
