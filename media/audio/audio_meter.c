#include "media/audio/audio_meter.h"

#include <math.h>
#include <string.h>

#define FULL 32768.0

double audio_dbov(double energy, uint64_t samples)
{
	double dbov = samples ? 10 * log10(energy / (double)samples + 1e-30)
			      : AUDIO_FLOOR_DBOV;

	return dbov > AUDIO_FLOOR_DBOV ? dbov : AUDIO_FLOOR_DBOV;
}

void audio_meter_rate(struct audio_meter *m, unsigned rate_hz, double clip_at)
{
	m->clip_at = clip_at;
	m->frame_samples = (size_t)rate_hz * AUDIO_FRAME_MS / 1000;
	m->frame_used = 0;
	m->frame_energy = 0;
	m->clip_run = 0;
}

static void sums_frame(struct audio_sums *s, const struct audio_meter *m)
{
	s->heard_ms += AUDIO_FRAME_MS;
	s->heard_energy += m->frame_energy;
	s->heard_samples += m->frame_samples;
}

/* @return the frame was not silent */
static bool frame_close(struct audio_meter *m)
{
	bool heard = audio_dbov(m->frame_energy, m->frame_samples) >=
		     AUDIO_SILENCE_DBOV;

	if (heard) {
		sums_frame(&m->second, m);
		sums_frame(&m->total, m);
	}
	m->frame_used = 0;
	m->frame_energy = 0;
	return heard;
}

static void clip_take(struct audio_meter *m, double magnitude)
{
	unsigned more;

	if (magnitude < m->clip_at) {
		m->clip_run = 0;
		return;
	}
	m->clip_run++;
	if (m->clip_run < AUDIO_CLIP_RUN)
		return;
	/* the whole run counts as soon as it is long enough */
	more = m->clip_run == AUDIO_CLIP_RUN ? AUDIO_CLIP_RUN : 1;
	m->second.clipped += more;
	m->total.clipped += more;
}

static void sums_sample(struct audio_sums *s, double square, double magnitude)
{
	s->samples++;
	s->energy += square;
	if (magnitude > s->peak)
		s->peak = magnitude;
}

size_t audio_meter_add(struct audio_meter *m, const int16_t *pcm, size_t count)
{
	size_t heard = 0;

	for (size_t i = 0; i < count; i++) {
		double x = pcm[i] / FULL;
		double magnitude = fabs(x);

		sums_sample(&m->second, x * x, magnitude);
		sums_sample(&m->total, x * x, magnitude);
		clip_take(m, magnitude);
		m->frame_energy += x * x;
		if (++m->frame_used == m->frame_samples)
			heard += frame_close(m);
	}
	return heard;
}

static double clipped_pct(const struct audio_sums *s)
{
	return s->samples ? 100.0 * (double)s->clipped / (double)s->samples : 0;
}

void audio_meter_second(struct audio_meter *m, struct audio_second *ret)
{
	const struct audio_sums *s = &m->second;

	ret->has_level = s->samples > 0;
	ret->level_dbov = audio_dbov(s->energy, s->samples);
	ret->peak_dbov = audio_dbov(s->peak * s->peak, 1);
	ret->clipped_pct = clipped_pct(s);
	ret->heard_ms = s->heard_ms;
	memset(&m->second, 0, sizeof(m->second));
}

void audio_meter_total(const struct audio_meter *m, struct audio_total *ret)
{
	const struct audio_sums *s = &m->total;

	ret->has_level = s->heard_samples > 0;
	ret->level_dbov = audio_dbov(s->heard_energy, s->heard_samples);
	ret->peak_dbov = audio_dbov(s->peak * s->peak, 1);
	ret->clipped_pct = clipped_pct(s);
	ret->heard_ms = s->heard_ms;
}
