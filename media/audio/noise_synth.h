/**
 * Comfort noise as it is heard (RFC 3389): white noise through the all-pole
 * filter of the packet's reflection coefficients (section 3.2), of its level.
 * Pure. Thread: one at a time; never blocks or allocates.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_NOISE_SYNTH_H
#define OFFHOOK_MEDIA_AUDIO_NOISE_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Coefficients that are followed; RFC 3389 sets no limit, senders have 10. */
#define NOISE_SYNTH_ORDER_MAX 12

struct noise_synth {
	bool on; /* a packet came */
	double gain;
	size_t order;
	double k[NOISE_SYNTH_ORDER_MAX];     /* -1..1 */
	double state[NOISE_SYNTH_ORDER_MAX]; /* of the lattice */
	uint32_t random;
};

/** What a packet says; the noise goes on in its way. @return false: it is empty
 * (unchanged) */
bool noise_synth_set(struct noise_synth *n, const uint8_t *payload,
		     size_t bytes);

/** The next samples. */
void noise_synth_write(struct noise_synth *n, int16_t *dst, size_t count);

#endif
