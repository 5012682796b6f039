/* G.722 at 64 kbit/s: RFC 3551 4.5.2 (the RTP clock is 8000 by a historical
 * mistake, the audio has 16000) */
#include "media/codec.h"

#include <errno.h>
#include <stdlib.h>

#include <spandsp.h>

#define BITRATE 64000

static int encode(const struct codec *codec, struct clip *ret,
		  const int16_t *pcm, size_t count, uint16_t ptime_ms,
		  const struct codec_settings *settings)
{
	g722_encode_state_t *state = g722_encode_init(NULL, BITRATE, 0);
	const int16_t last[2] = {pcm[count - 1], pcm[count - 1]};
	size_t pairs = count / 2;
	uint8_t *data = malloc(pairs + 1);

	(void)codec;
	(void)ptime_ms;
	(void)settings;
	if (!state || !data) {
		if (state)
			g722_encode_free(state);
		free(data);
		return -ENOMEM;
	}
	*ret = (struct clip){.data = data};
	if (pairs > 0)
		ret->bytes =
			(size_t)g722_encode(state, data, pcm, (int)(pairs * 2));
	if (count % 2) /* half a code: the last sample twice */
		ret->bytes +=
			(size_t)g722_encode(state, data + ret->bytes, last, 2);
	g722_encode_free(state);
	return 0;
}

static int decoder_new(void **ret)
{
	g722_decode_state_t *state = g722_decode_init(NULL, BITRATE, 0);

	if (!state)
		return -ENOMEM;
	*ret = state;
	return 0;
}

static void decoder_free(void *decoder)
{
	if (decoder)
		g722_decode_free(decoder);
}

static int decode(const struct codec *codec, void *decoder, int16_t *dst,
		  size_t max, const uint8_t *payload, size_t bytes)
{
	(void)codec;
	if (bytes > max / 2)
		bytes = max / 2;
	return g722_decode(decoder, dst, payload, (int)bytes);
}

const struct codec codec_g722 = {
	.name = "G722",
	.rtpmap = "G722",
	.pt = 9,
	.channels = 1,
	.clock_hz = 8000,
	.sample_hz = 16000,
	.bytes_per_s = 8000,
	.ptime_step_ms = 1,
	.encode = encode,
	.decoder_new = decoder_new,
	.decoder_free = decoder_free,
	.decode = decode,
};
