/**
 * A sine.
 */
#ifndef TESTS_UNIT_MEDIA_TONE_H
#define TESTS_UNIT_MEDIA_TONE_H

#include <stddef.h>
#include <stdint.h>

/** @param amplitude  of full scale 32767; what is above it is cut off */
void tone(int16_t *pcm, size_t count, double hz, double amplitude,
	  unsigned rate_hz);

#endif
