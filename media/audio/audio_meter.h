/**
 * Level, peak, clipping and silence of decoded audio. Pure.
 *
 * Levels are in dBov (RFC 6464): 0 is a square wave of full scale; a sine of
 * full scale has -3.01. For G.711 dBm0 = dBov + 6.15 (A-law), + 6.18 (mu-law).
 * Silence is decided in frames of 20 ms. Docs: docs/reference/audio.md
 * Thread: one at a time (the audio thread).
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_METER_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_METER_H

#include "media/analysis/summary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUDIO_FRAME_MS 20
/* A frame below this level is silent: about -44 dBm0, above line noise and the
 * idle channel noise of G.711, below speech. */
#define AUDIO_SILENCE_DBOV (-50.0)
#define AUDIO_FLOOR_DBOV   (-96.0)
/* This many consecutive samples at full scale count as clipped. */
#define AUDIO_CLIP_RUN 3

/** Sums over a period. */
struct audio_sums {
	uint64_t samples;
	double energy; /* of samples in -1..1 */
	double heard_energy;
	uint64_t heard_samples; /* in frames that were not silent */
	double peak;            /* 0..1 */
	uint64_t clipped;
	double heard_ms;
};

struct audio_meter {
	double clip_at; /* 0..1 */
	/* the open frame */
	size_t frame_samples;
	size_t frame_used;
	double frame_energy;
	/* consecutive samples at full scale */
	unsigned clip_run;

	struct audio_sums second;
	struct audio_sums total;
};

/** Initialise, or change the rate: the open frame is dropped, sums are kept.
 * @param rate_hz  >= 50
 * @param clip_at  magnitude of full scale, 0..1 */
void audio_meter_rate(struct audio_meter *m, unsigned rate_hz, double clip_at);

/** Process samples.
 * @return number of frames that ended here and were not silent */
size_t audio_meter_add(struct audio_meter *m, const int16_t *pcm, size_t count);

/** Close a second: sets level, peak, clipping and heard_ms in *ret. */
void audio_meter_second(struct audio_meter *m, struct audio_second *ret);

/** Set the same members of a total. */
void audio_meter_total(const struct audio_meter *m, struct audio_total *ret);

/** @return mean power in dBov, at least AUDIO_FLOOR_DBOV */
double audio_dbov(double energy, uint64_t samples);

#endif
