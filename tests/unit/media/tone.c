#include "tone.h"

#include <math.h>

#define PI 3.14159265358979323846

void tone(int16_t *pcm, size_t count, double hz, double amplitude,
	  unsigned rate_hz)
{
	for (size_t i = 0; i < count; i++) {
		double x = amplitude * sin(2 * PI * hz * (double)i / rate_hz);

		pcm[i] = (int16_t)(x > 32767    ? 32767
				   : x < -32768 ? -32768
						: lrint(x));
	}
}
