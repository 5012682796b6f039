/**
 * A sine generator.
 */
#ifndef TESTS_UNIT_MEDIA_TONE_H
#define TESTS_UNIT_MEDIA_TONE_H

#include <stddef.h>
#include <stdint.h>

/**
 * Write a sine.
 * @param amplitude  relative to full scale 32767; larger values are clipped
 */
void tone(int16_t *pcm, size_t count, double hz, double amplitude,
	  unsigned rate_hz);

#endif
