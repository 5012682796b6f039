#include "media/audio/g711.h"

#include <assert.h>

/* mu-law adds 33 to the 14-bit magnitude, so that every segment starts at a
 * power of two (G.711 table 2, note 3) */
#define MU_BIAS          33
#define MU_MAGNITUDE_MAX 0x1fff

/* even bits are inverted on the line (G.711 table 1, note 2) */
#define A_TOGGLE 0x55

uint8_t g711_pcmu_encode(int16_t sample)
{
	/* one's complement: -1 belongs to the first negative interval */
	int magnitude = ((sample < 0 ? ~sample : sample) >> 2) + MU_BIAS;
	int segment = 1;
	int code;

	if (magnitude > MU_MAGNITUDE_MAX)
		magnitude = MU_MAGNITUDE_MAX;
	for (int rest = magnitude >> 6; rest; rest >>= 1)
		segment++;
	code = (8 - segment) << 4 | (0x0f - (magnitude >> segment & 0x0f));
	return (uint8_t)(sample < 0 ? code : code | 0x80);
}

int16_t g711_pcmu_decode(uint8_t code)
{
	int exponent = ~code >> 4 & 7;
	int mantissa = ~code & 0x0f;
	int step = 8 << exponent;
	int magnitude =
		(0x80 << exponent) + step * mantissa + step / 2 - 4 * MU_BIAS;

	return (int16_t)(code & 0x80 ? magnitude : -magnitude);
}

uint8_t g711_pcma_encode(int16_t sample)
{
	int magnitude = (sample < 0 ? ~sample : sample) >> 4;
	int segment = 0;
	int code;

	if (magnitude > 15) {
		segment = 1;
		while (magnitude > 31) {
			magnitude >>= 1;
			segment++;
		}
		magnitude -= 16;
	}
	code = segment << 4 | magnitude;
	return (uint8_t)((sample < 0 ? code : code | 0x80) ^ A_TOGGLE);
}

int16_t g711_pcma_decode(uint8_t code)
{
	int plain = code ^ A_TOGGLE;
	int segment = plain >> 4 & 7;
	int magnitude = plain & 0x0f;

	if (segment > 0)
		magnitude += 16;
	magnitude = (magnitude << 4) + 8; /* middle of the interval */
	if (segment > 1)
		magnitude <<= segment - 1;
	return (int16_t)(plain & 0x80 ? magnitude : -magnitude);
}

void g711_encode_block(enum g711_law law, uint8_t *dst, const int16_t *src,
		       size_t count)
{
	assert(law == G711_PCMU || law == G711_PCMA);
	for (size_t i = 0; i < count; i++)
		dst[i] = law == G711_PCMU ? g711_pcmu_encode(src[i])
					  : g711_pcma_encode(src[i]);
}
