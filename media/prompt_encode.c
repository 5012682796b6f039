#include "media/prompt_encode.h"

#include "media/codec_noise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool settings_same(const struct codec_settings *a,
			  const struct codec_settings *b)
{
	return a->max_playback_hz == b->max_playback_hz &&
	       a->max_bitrate == b->max_bitrate && a->fec == b->fec &&
	       a->dtx == b->dtx && a->cbr == b->cbr && a->stereo == b->stereo;
}

/* Of a byte stream that is cut anywhere nothing depends on packets and fmtp. */
static bool any_packets(const struct prompt_want *want)
{
	return want->codec->bytes_per_s != 0 && !want->settings.noise &&
	       !want->once;
}

bool prompt_want_frames(const struct prompt_want *want)
{
	return !any_packets(want) && !want->once;
}

size_t prompt_want_samples(const struct prompt_want *want)
{
	size_t packet = (size_t)want->codec->sample_hz * want->ptime_ms / 1000;
	size_t packets = (want->head_ms + want->ptime_ms - 1u) / want->ptime_ms;

	return want->head_ms ? packets * packet : SIZE_MAX;
}

uint32_t prompt_head_next(uint32_t head_ms)
{
	uint32_t next = PROMPT_HEAD_MS;

	for (int i = 0; i < PROMPT_HEADS; i++) {
		if (next > head_ms)
			return next;
		next *= PROMPT_HEAD_TIMES;
	}
	return 0;
}

bool prompt_want_same(const struct prompt_want *a, const struct prompt_want *b)
{
	if (a->codec != b->codec || a->once != b->once ||
	    a->head_ms != b->head_ms || a->settings.noise != b->settings.noise)
		return false;
	if (any_packets(a))
		return true;
	return a->ptime_ms == b->ptime_ms &&
	       settings_same(&a->settings, &b->settings);
}

static int encode(struct clip *ret, const struct prompt_want *want,
		  const int16_t *pcm, size_t count)
{
	const struct codec *codec = want->codec;
	int err = codec->encode(codec, ret, pcm, count, want->ptime_ms,
				&want->settings);

	if (!err && want->settings.noise) {
		err = codec_noise_cut(ret, codec, pcm, count, want->ptime_ms);
		if (err)
			clip_release(ret);
	}
	return err;
}

int prompt_encode(struct clip *ret, const struct prompt_want *want,
		  const int16_t *pcm, size_t count)
{
	size_t packet = (size_t)want->codec->sample_hz * want->ptime_ms / 1000;
	size_t padded = count;
	int16_t *copy;
	int err;

	if (packet == 0)
		return -EINVAL;
	if (want->once || want->settings.noise)
		padded = (count + packet - 1) / packet * packet;
	if (padded == count)
		return encode(ret, want, pcm, count);
	copy = calloc(padded, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, pcm, count * sizeof(*copy));
	err = encode(ret, want, copy, padded);
	free(copy);
	return err;
}
