/* PCMU and PCMA: RFC 3551 4.5.14 */
#include "media/codec.h"
#include "media/g711.h"

#include <errno.h>
#include <stdlib.h>

static int encode(struct clip *ret, enum g711_law law, const int16_t *pcm,
		  size_t count)
{
	uint8_t *data = malloc(count);

	if (!data)
		return -ENOMEM;
	g711_encode(law, data, pcm, count);
	*ret = (struct clip){.data = data, .bytes = count};
	return 0;
}

static int pcmu_encode(const struct codec *codec, struct clip *ret,
		       const int16_t *pcm, size_t count, uint16_t ptime_ms,
		       const struct codec_settings *settings)
{
	(void)codec;
	(void)ptime_ms;
	(void)settings;
	return encode(ret, G711_PCMU, pcm, count);
}

static int pcma_encode(const struct codec *codec, struct clip *ret,
		       const int16_t *pcm, size_t count, uint16_t ptime_ms,
		       const struct codec_settings *settings)
{
	(void)codec;
	(void)ptime_ms;
	(void)settings;
	return encode(ret, G711_PCMA, pcm, count);
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
	.encode = pcmu_encode,
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
	.encode = pcma_encode,
	.decode = decode,
};
