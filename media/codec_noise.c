#include "media/codec_noise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Mean power of a packet; 0 dBov is that of full scale (RFC 3389 3.1). */
static double power_dbov(const int16_t *pcm, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)pcm[i] * pcm[i];
	if (sum <= 0)
		return -CODEC_NOISE_LEVEL_MAX;
	return 10 * log10(sum / (double)count / (32768.0 * 32768.0));
}

static uint8_t level_of(double dbov)
{
	double level = -dbov;

	if (level < 0)
		return 0;
	return level > CODEC_NOISE_LEVEL_MAX ? CODEC_NOISE_LEVEL_MAX
					     : (uint8_t)lrint(level);
}

/* What a packet of the clip was before it was cut. */
static void packet_of(const struct clip *clip, size_t i, size_t bytes,
		      const uint8_t **ret, size_t *ret_bytes)
{
	size_t begin = i * bytes;
	size_t end = begin + bytes;

	if (clip->ends) {
		begin = i ? clip->ends[i - 1] : 0;
		end = clip->ends[i];
	}
	*ret = clip->data + begin;
	*ret_bytes = end > clip->bytes ? clip->bytes - begin : end - begin;
}

struct cutter {
	const struct codec *codec;
	const int16_t *pcm;
	size_t count;
	size_t samples; /* a packet */
	uint16_t ptime_ms;
	uint32_t silent_ms; /* so far */
	uint32_t noise_ms;  /* since the last noise packet */
};

/* @return how many bytes packet i has in the cut clip; *ret_noise is its level,
 * valid for 1 byte of noise */
static bool is_silent(struct cutter *c, size_t i, double *ret_dbov)
{
	size_t from = i * c->samples;
	size_t n = c->count - from < c->samples ? c->count - from : c->samples;

	*ret_dbov = power_dbov(c->pcm + from, n);
	if (*ret_dbov >= CODEC_NOISE_DBOV) {
		c->silent_ms = 0;
		return false;
	}
	c->silent_ms += c->ptime_ms;
	return c->silent_ms > CODEC_NOISE_HANGOVER_MS;
}

/* The noise packet of silence. @return false: nothing is sent */
static bool noise_due(struct cutter *c)
{
	bool first = c->silent_ms - c->ptime_ms <= CODEC_NOISE_HANGOVER_MS;

	c->noise_ms += c->ptime_ms;
	if (!first && c->noise_ms < CODEC_NOISE_UPDATE_MS)
		return false;
	c->noise_ms = 0;
	return true;
}

static void cut(struct clip *dst, const struct clip *src, struct cutter *c)
{
	size_t bytes = (size_t)c->codec->bytes_per_s * c->ptime_ms / 1000;

	/* a clip that is silent all along begins in silence */
	c->silent_ms = CODEC_NOISE_HANGOVER_MS;
	for (size_t i = 0; i < dst->frames; i++) {
		const uint8_t *from;
		size_t n;
		double dbov;

		packet_of(src, i, bytes, &from, &n);
		if (!is_silent(c, i, &dbov)) {
			memcpy(dst->data + dst->bytes, from, n);
			dst->bytes += n;
		} else if (noise_due(c)) {
			dst->noise[i] = 1;
			dst->data[dst->bytes++] = level_of(dbov);
		}
		dst->ends[i] = (uint32_t)dst->bytes;
	}
}

int codec_noise_cut(struct clip *clip, const struct codec *codec,
		    const int16_t *pcm, size_t count, uint16_t ptime_ms)
{
	struct cutter c = {
		.codec = codec,
		.pcm = pcm,
		.count = count,
		.samples = (size_t)codec->sample_hz * ptime_ms / 1000,
		.ptime_ms = ptime_ms,
	};
	struct clip made = {0};

	if (c.samples == 0 || count == 0)
		return -EINVAL;
	made.frames =
		clip->ends ? clip->frames : (count + c.samples - 1) / c.samples;
	made.data = malloc(clip->bytes + made.frames);
	made.ends = calloc(made.frames, sizeof(*made.ends));
	made.noise = calloc(made.frames, sizeof(*made.noise));
	if (!made.data || !made.ends || !made.noise) {
		clip_release(&made);
		return -ENOMEM;
	}
	cut(&made, clip, &c);
	clip_release(clip);
	*clip = made;
	return 0;
}

bool codec_noise_level(const uint8_t *payload, size_t bytes, double *ret_dbov)
{
	if (bytes == 0)
		return false;
	/* the most significant bit is 0 (RFC 3389 section 3.1) */
	*ret_dbov = -(double)(payload[0] & CODEC_NOISE_LEVEL_MAX);
	return true;
}
