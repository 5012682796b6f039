/**
 * G.711 (ITU-T G.711, 11/1988): both laws, as pure functions and for blocks.
 * Thread: any.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_G711_H
#define OFFHOOK_MEDIA_AUDIO_G711_H

#include <stddef.h>
#include <stdint.h>

enum g711_law {
	G711_PCMU, /* mu-law, table 2 */
	G711_PCMA, /* A-law, table 1, even bits inverted */
	G711_LAW_COUNT,
};

/** Encode a 16-bit sample, of which the upper 14 bits are used, to mu-law. */
uint8_t g711_pcmu_encode(int16_t sample);

/** Decode a mu-law code to a 16-bit sample, -32124..32124. */
int16_t g711_pcmu_decode(uint8_t code);

/** Encode a 16-bit sample, of which the upper 13 bits are used, to A-law. */
uint8_t g711_pcma_encode(int16_t sample);

/** Decode an A-law code to a 16-bit sample, -32256..32256. */
int16_t g711_pcma_decode(uint8_t code);

/**
 * Encode a block.
 * @param dst  count bytes
 * @param src  count samples, 8000 Hz
 */
void g711_encode_block(enum g711_law law, uint8_t *dst, const int16_t *src,
		       size_t count);

#endif
