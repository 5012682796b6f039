/**
 * Generates received comfort noise (RFC 3389): white noise with the level of
 * the packet, filtered by an all-pole filter with its reflection coefficients
 * (section 3.2). Pure. Thread: one at a time; never blocks or allocates.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_NOISE_SYNTH_H
#define OFFHOOK_MEDIA_AUDIO_NOISE_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum of coefficients used; RFC 3389 sets no limit, senders use 10. */
#define NOISE_SYNTH_ORDER_MAX 12

struct noise_synth {
	bool on; /* a packet was received */
	double gain;
	size_t order;
	double k[NOISE_SYNTH_ORDER_MAX];     /* -1..1 */
	double state[NOISE_SYNTH_ORDER_MAX]; /* state of the lattice filter */
	uint32_t random;
};

/** Use the parameters of a packet; the noise continues without a break.
 * @return false: the packet is empty (unchanged) */
bool noise_synth_set(struct noise_synth *n, const uint8_t *payload,
		     size_t bytes);

/** Write the next samples. */
void noise_synth_write(struct noise_synth *n, int16_t *dst, size_t count);

#endif
