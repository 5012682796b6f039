#include "media/audio/codec_noise.h"

#include <math.h>

/* Mean power of a packet; 0 dBov is full scale (RFC 3389 section 3.1). */
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

void codec_noise_begin(struct codec_noise *n)
{
	*n = (struct codec_noise){.silent_ms = CODEC_NOISE_HANGOVER_MS};
}

/* @return a noise packet is due in silence; false: send nothing */
static bool noise_due(struct codec_noise *n, uint16_t ptime_ms)
{
	bool first = n->silent_ms - ptime_ms <= CODEC_NOISE_HANGOVER_MS;

	n->noise_ms += ptime_ms;
	if (!first && n->noise_ms < CODEC_NOISE_UPDATE_MS)
		return false;
	n->noise_ms = 0;
	return true;
}

enum codec_noise_kind codec_noise_next(struct codec_noise *n,
				       const int16_t *pcm, size_t count,
				       uint16_t ptime_ms, uint8_t *ret_level)
{
	double dbov = power_dbov(pcm, count);

	if (dbov >= CODEC_NOISE_DBOV) {
		n->silent_ms = 0;
		return CODEC_NOISE_SOUND;
	}
	n->silent_ms += ptime_ms;
	if (n->silent_ms <= CODEC_NOISE_HANGOVER_MS)
		return CODEC_NOISE_SOUND;
	if (!noise_due(n, ptime_ms))
		return CODEC_NOISE_NOTHING;
	*ret_level = level_of(dbov);
	return CODEC_NOISE_LEVEL;
}

bool codec_noise_level(const uint8_t *payload, size_t bytes, double *ret_dbov)
{
	if (bytes == 0)
		return false;
	/* the most significant bit is 0 (RFC 3389 section 3.1) */
	*ret_dbov = -(double)(payload[0] & CODEC_NOISE_LEVEL_MAX);
	return true;
}
