/* GSM 06.10 full rate: RFC 3551 4.5.8, 33 bytes for 20 ms */
#include "media/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gsm.h>

#define FRAME_BYTES   33
#define FRAME_SAMPLES 160

static int encode(const struct codec *codec, struct clip *ret,
		  const int16_t *pcm, size_t count, uint16_t ptime_ms,
		  const struct codec_settings *settings)
{
	size_t frames = (count + FRAME_SAMPLES - 1) / FRAME_SAMPLES;
	uint8_t *data = malloc(frames * FRAME_BYTES);
	gsm state = gsm_create();

	(void)codec;
	(void)ptime_ms;
	(void)settings;
	if (!data || !state) {
		if (state)
			gsm_destroy(state);
		free(data);
		return -ENOMEM;
	}
	for (size_t i = 0; i < frames; i++) {
		gsm_signal frame[FRAME_SAMPLES] = {0}; /* the last: silence */
		size_t left = count - i * FRAME_SAMPLES;
		size_t n = left < FRAME_SAMPLES ? left : FRAME_SAMPLES;

		memcpy(frame, pcm + i * FRAME_SAMPLES, n * sizeof(*frame));
		gsm_encode(state, frame, data + i * FRAME_BYTES);
	}
	gsm_destroy(state);
	*ret = (struct clip){.data = data, .bytes = frames * FRAME_BYTES};
	return 0;
}

static int decoder_new(void **ret)
{
	gsm state = gsm_create();

	if (!state)
		return -ENOMEM;
	*ret = state;
	return 0;
}

static void decoder_free(void *decoder)
{
	if (decoder)
		gsm_destroy(decoder);
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
			return -EBADMSG; /* not the magic of 4.5.8.1 */
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
	.encode = encode,
	.decoder_new = decoder_new,
	.decoder_free = decoder_free,
	.decode = decode,
};
