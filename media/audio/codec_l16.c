/* L16, linear in network byte order: RFC 3551 section 4.5.11 */
#include "media/audio/codec.h"

static int encode(const struct codec *codec, void *encoder, uint8_t *dst,
		  const int16_t *pcm, size_t count)
{
	(void)codec;
	(void)encoder;
	for (size_t i = 0; i < count; i++) {
		uint16_t sample = (uint16_t)pcm[i];

		dst[2 * i] = (uint8_t)(sample >> 8);
		dst[2 * i + 1] = (uint8_t)sample;
	}
	return (int)(count * 2);
}

static int decode(const struct codec *codec, void *decoder, int16_t *dst,
		  size_t max, const uint8_t *payload, size_t bytes)
{
	size_t count = bytes / 2 < max ? bytes / 2 : max;

	(void)codec;
	(void)decoder;
	for (size_t i = 0; i < count; i++)
		dst[i] = (int16_t)(uint16_t)(payload[2 * i] << 8 |
					     payload[2 * i + 1]);
	return (int)count;
}

const struct codec codec_l16_8000 = {
	.name = "L16/8000",
	.rtpmap = "L16",
	.pt = 97,
	.channels = 1,
	.clock_hz = 8000,
	.sample_hz = 8000,
	.bytes_per_s = 16000,
	.ptime_step_ms = 1,
	.block_samples = 1,
	.encode = encode,
	.decode = decode,
};

const struct codec codec_l16_16000 = {
	.name = "L16/16000",
	.rtpmap = "L16",
	.pt = 98,
	.channels = 1,
	.clock_hz = 16000,
	.sample_hz = 16000,
	.bytes_per_s = 32000,
	.ptime_step_ms = 1,
	.block_samples = 1,
	.encode = encode,
	.decode = decode,
};

const struct codec codec_l16_44100 = {
	.name = "L16/44100",
	.rtpmap = "L16",
	.pt = 11,
	.channels = 1,
	.clock_hz = 44100,
	.sample_hz = 44100,
	.bytes_per_s = 88200,
	.ptime_step_ms = 10, /* whole samples at 44.1 per ms */
	.block_samples = 1,
	.encode = encode,
	.decode = decode,
};
