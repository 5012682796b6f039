/* GSM 06.10 full rate: RFC 3551 section 4.5.8, 33 bytes for 20 ms */
#include "media/audio/codec.h"

#include <errno.h>
#include <string.h>

#include <gsm.h>

#define FRAME_BYTES   33
#define FRAME_SAMPLES 160

static int encoder_new(void **ret, uint16_t ptime_ms,
		       const struct codec_settings *settings)
{
	gsm state = gsm_create();

	(void)ptime_ms;
	(void)settings;
	if (!state)
		return -ENOMEM;
	*ret = state;
	return 0;
}

static void coder_free(void *coder)
{
	if (coder)
		gsm_destroy(coder);
}

static int encode(const struct codec *codec, void *encoder, uint8_t *dst,
		  const int16_t *pcm, size_t count)
{
	int bytes = 0;

	(void)codec;
	for (size_t at = 0; at < count; at += FRAME_SAMPLES) {
		gsm_signal frame[FRAME_SAMPLES] = {0}; /* the last frame is
							* padded with silence */
		size_t left = count - at;
		size_t n = left < FRAME_SAMPLES ? left : FRAME_SAMPLES;

		memcpy(frame, pcm + at, n * sizeof(*frame));
		gsm_encode(encoder, frame, dst + bytes);
		bytes += FRAME_BYTES;
	}
	return bytes;
}

static int decoder_new(void **ret)
{
	gsm state = gsm_create();

	if (!state)
		return -ENOMEM;
	*ret = state;
	return 0;
}

static int decode(const struct codec *codec, void *decoder, int16_t *dst,
		  size_t max, const uint8_t *payload, size_t bytes)
{
	size_t done = 0;

	(void)codec;
	while (bytes >= FRAME_BYTES && max - done >= FRAME_SAMPLES) {
		gsm_byte frame[FRAME_BYTES];

		memcpy(frame, payload, FRAME_BYTES);
		if (gsm_decode(decoder, frame, dst + done))
			return -EBADMSG; /* no GSM signature (section
					  * 4.5.8.1) */
		done += FRAME_SAMPLES;
		payload += FRAME_BYTES;
		bytes -= FRAME_BYTES;
	}
	return (int)done;
}

const struct codec codec_gsm = {
	.name = "GSM",
	.rtpmap = "GSM",
	.pt = 3,
	.channels = 1,
	.clock_hz = 8000,
	.sample_hz = 8000,
	.bytes_per_s = 1650,
	.ptime_step_ms = 20,
	.block_samples = FRAME_SAMPLES,
	.encoder_new = encoder_new,
	.encoder_free = coder_free,
	.encode = encode,
	.decoder_new = decoder_new,
	.decoder_free = coder_free,
	.decode = decode,
};
