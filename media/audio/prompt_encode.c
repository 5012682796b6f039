#include "media/audio/prompt_encode.h"

#include "media/audio/codec_noise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct prompt_encoder {
	struct prompt_want want;
	struct pcm_source source;
	struct clip *clip;
	void *state;
	struct codec_noise noise;
	size_t packet;  /* samples of a packet */
	size_t packets; /* number of packets */
	size_t first;   /* index of the packet encoded first */
	size_t done;    /* packets encoded */
	int16_t pcm[CODEC_SAMPLES_MAX];
	uint8_t data[CODEC_ENCODED_MAX];
};

static bool settings_same(const struct codec_settings *a,
			  const struct codec_settings *b)
{
	return a->max_playback_hz == b->max_playback_hz &&
	       a->max_bitrate == b->max_bitrate && a->fec == b->fec &&
	       a->dtx == b->dtx && a->cbr == b->cbr && a->stereo == b->stereo;
}

static bool is_stream(const struct prompt_want *want)
{
	return want->codec->bytes_per_s != 0 && !want->settings.noise;
}

bool prompt_want_same(const struct prompt_want *a, const struct prompt_want *b)
{
	if (a->codec != b->codec || a->once != b->once ||
	    a->settings.noise != b->settings.noise)
		return false;
	/* a byte stream that may be cut anywhere does not depend on packet time
	 * and fmtp */
	if (is_stream(a) && !a->once)
		return true;
	return a->ptime_ms == b->ptime_ms &&
	       settings_same(&a->settings, &b->settings);
}

static int clip_begin(const struct prompt_encoder *e, struct clip *clip)
{
	const struct codec *codec = e->want.codec;
	size_t samples =
		e->want.once ? e->packets * e->packet : e->source.count;

	if (is_stream(&e->want))
		return clip_begin_stream(
			clip, codec_stream_bytes(codec, samples),
			codec_stream_bytes(codec, e->first * e->packet));
	return clip_begin_frames(clip, e->packets, e->first);
}

int prompt_encoder_new(struct prompt_encoder **ret, struct clip *clip,
		       const struct prompt_want *want,
		       const struct pcm_source *source, uint32_t from_ms)
{
	const struct codec *codec = want->codec;
	struct prompt_encoder *e;
	int err = 0;

	if (source->count == 0 || want->ptime_ms == 0 ||
	    want->ptime_ms > CODEC_PTIME_MAX_MS ||
	    want->ptime_ms % codec->ptime_step_ms != 0)
		return -EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->want = *want;
	e->source = *source;
	e->clip = clip;
	e->packet = (size_t)codec->sample_hz * want->ptime_ms / 1000;
	e->packets = (source->count + e->packet - 1) / e->packet;
	e->first = from_ms / want->ptime_ms % e->packets;
	codec_noise_begin(&e->noise);
	if (codec->encoder_new)
		err = codec->encoder_new(&e->state, want->ptime_ms,
					 &want->settings);
	if (!err)
		err = clip_begin(e, clip);
	if (err) {
		prompt_encoder_free(e);
		return err;
	}
	*ret = e;
	return 0;
}

struct prompt_encoder *prompt_encoder_free(struct prompt_encoder *e)
{
	if (e && e->state)
		e->want.codec->encoder_free(e->state);
	free(e);
	return NULL;
}

/* @param count  samples */
static int frame_add(struct prompt_encoder *e, size_t count, size_t bytes)
{
	enum codec_noise_kind kind = CODEC_NOISE_SOUND;
	uint8_t level = 0;

	if (e->want.settings.noise)
		kind = codec_noise_next(&e->noise, e->pcm, count,
					e->want.ptime_ms, &level);
	if (kind == CODEC_NOISE_LEVEL)
		return clip_add_frame(e->clip, &level, 1, true);
	return clip_add_frame(e->clip, e->data,
			      kind == CODEC_NOISE_SOUND ? bytes : 0, false);
}

static int packet_make(struct prompt_encoder *e)
{
	const struct codec *codec = e->want.codec;
	size_t from = (e->first + e->done) % e->packets * e->packet;
	size_t left = e->source.count - from;
	size_t n = left < e->packet ? left : e->packet;
	bool stream = is_stream(&e->want);
	int bytes;

	e->source.read(&e->source, e->pcm, from, n);
	if (n < e->packet && (!stream || e->want.once)) {
		memset(e->pcm + n, 0, (e->packet - n) * sizeof(*e->pcm));
		n = e->packet;
	}
	bytes = codec->encode(codec, e->state, e->data, e->pcm, n);
	if (bytes < 0)
		return bytes;
	if (!stream)
		return frame_add(e, n, (size_t)bytes);
	clip_add_bytes(e->clip, e->data, (size_t)bytes);
	return 0;
}

int prompt_encoder_step(struct prompt_encoder *e, uint32_t ms)
{
	size_t more = (ms + e->want.ptime_ms - 1u) / e->want.ptime_ms;

	for (; more > 0 && e->done < e->packets; more--) {
		int err = packet_make(e);

		if (err)
			return err;
		e->done++;
	}
	return e->done < e->packets;
}

int64_t prompt_encoder_ms(const struct prompt_encoder *e)
{
	return (int64_t)e->done * e->want.ptime_ms;
}
