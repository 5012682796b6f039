/* G.722 at 64 kbit/s: RFC 3551 section 4.5.2 (its RTP clock rate is 8000 by a
 * historical mistake; the audio has 16000 Hz) */
#include "media/audio/codec.h"

#include <errno.h>

#include <spandsp.h>

#define BITRATE 64000

static int encoder_new(void **ret, uint16_t ptime_ms,
		       const struct codec_settings *settings)
{
	g722_encode_state_t *state = g722_encode_init(NULL, BITRATE, 0);

	(void)ptime_ms;
	(void)settings;
	if (!state)
		return -ENOMEM;
	*ret = state;
	return 0;
}

static void encoder_free(void *encoder)
{
	if (encoder)
		g722_encode_free(encoder);
}

static int encode(const struct codec *codec, void *encoder, uint8_t *dst,
		  const int16_t *pcm, size_t count)
{
	const int16_t last[2] = {pcm[count - 1], pcm[count - 1]};
	int pairs = (int)(count / 2);
	int bytes = 0;

	(void)codec;
	if (pairs > 0)
		bytes = g722_encode(encoder, dst, pcm, 2 * pairs);
	if (count % 2) /* one sample is left: encode it twice */
		bytes += g722_encode(encoder, dst + bytes, last, 2);
	return bytes;
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
	.block_samples = 2,
	.encoder_new = encoder_new,
	.encoder_free = encoder_free,
	.encode = encode,
	.decoder_new = decoder_new,
	.decoder_free = decoder_free,
	.decode = decode,
};
