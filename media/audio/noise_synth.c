#include "media/audio/noise_synth.h"

#include "media/audio/codec_noise.h"

#include <math.h>

/* The quantised coefficient (RFC 3389 section 3.2), -1..1, exclusive. */
static double coefficient(uint8_t index)
{
	double k = 258.0 * (index - 127) / 32768.0;

	if (k > 0.99)
		return 0.99;
	return k < -0.99 ? -0.99 : k;
}

bool noise_synth_set(struct noise_synth *n, const uint8_t *payload,
		     size_t bytes)
{
	double dbov;
	double power = 1;

	if (!codec_noise_level(payload, bytes, &dbov))
		return false;
	n->on = true;
	n->order = bytes - 1 < NOISE_SYNTH_ORDER_MAX ? bytes - 1
						     : NOISE_SYNTH_ORDER_MAX;
	for (size_t i = 0; i < n->order; i++) {
		n->k[i] = coefficient(payload[1 + i]);
		power *= 1 - n->k[i] * n->k[i];
	}
	/* uniform noise in -1..1 has a power of 1/3, and the filter multiplies
	 * it by the inverse of this product */
	n->gain = 32768 * pow(10, dbov / 20) * sqrt(3 * power);
	return true;
}

static double white(struct noise_synth *n)
{
	n->random = n->random * 1664525u + 1013904223u;
	return (int32_t)n->random / 2147483648.0;
}

void noise_synth_write(struct noise_synth *n, int16_t *dst, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		double f = n->gain * white(n);

		/* all-pole lattice, from its last stage to the first */
		for (size_t k = n->order; k-- > 0;) {
			f -= n->k[k] * n->state[k];
			if (k + 1 < n->order)
				n->state[k + 1] = n->state[k] + n->k[k] * f;
		}
		if (n->order > 0)
			n->state[0] = f;
		if (f > 32767)
			f = 32767;
		if (f < -32768)
			f = -32768;
		dst[i] = (int16_t)lrint(f);
	}
}
