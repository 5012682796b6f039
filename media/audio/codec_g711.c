/* PCMU and PCMA: RFC 3551 section 4.5.14 */
#include "media/audio/codec.h"
#include "media/audio/g711.h"

static int encode(const struct codec *codec, void *encoder, uint8_t *dst,
		  const int16_t *pcm, size_t count)
{
	(void)encoder;
	g711_encode_block(codec == &codec_pcmu ? G711_PCMU : G711_PCMA, dst,
			  pcm, count);
	return (int)count;
}

static int decode(const struct codec *codec, void *decoder, int16_t *dst,
		  size_t max, const uint8_t *payload, size_t bytes)
{
	size_t count = bytes < max ? bytes : max;

	(void)decoder;
	for (size_t i = 0; i < count; i++)
		dst[i] = codec == &codec_pcmu ? g711_pcmu_decode(payload[i])
					      : g711_pcma_decode(payload[i]);
	return (int)count;
}

const struct codec codec_pcmu = {
	.name = "PCMU",
	.rtpmap = "PCMU",
	.pt = 0,
	.channels = 1,
	.clock_hz = 8000,
	.sample_hz = 8000,
	.bytes_per_s = 8000,
	.ptime_step_ms = 1,
	.block_samples = 1,
	.encode = encode,
	.decode = decode,
};

const struct codec codec_pcma = {
	.name = "PCMA",
	.rtpmap = "PCMA",
	.pt = 8,
	.channels = 1,
	.clock_hz = 8000,
	.sample_hz = 8000,
	.bytes_per_s = 8000,
	.ptime_step_ms = 1,
	.block_samples = 1,
	.encode = encode,
	.decode = decode,
};
