/**
 * Detects tones in decoded audio of 8000 Hz: blocks of 100 ms that consist of
 * one frequency. Pure. Docs: docs/reference/audio.md
 * Thread: one at a time (the audio thread).
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_TONE_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_TONE_H

#include "media/analysis/summary.h"
#include "media/audio/audio_reduce.h"

#include <stdbool.h>
#include <stddef.h>

#define AUDIO_TONE_MS      100
#define AUDIO_TONE_SAMPLES (AUDIO_REDUCED_HZ * AUDIO_TONE_MS / 1000)

struct audio_tones {
	float block[AUDIO_TONE_SAMPLES];
	size_t used;
	struct audio_tone last; /* in the open second; ms 0: none */
	struct audio_tone list[AUDIO_TONES_MAX];
	size_t count;
};

/**
 * Process samples in -1..1.
 * @param ret    tone of a block that ended here; ms 0: none
 * @param count  at most AUDIO_TONE_SAMPLES, so that at most one block ends
 */
void audio_tones_add(struct audio_tones *t, const float *pcm, size_t count,
		     struct audio_tone *ret);

/** The next samples do not continue the previous ones. */
void audio_tones_break(struct audio_tones *t);

/** Close a second.
 * @param ret  its last tone; ms 0: none */
void audio_tones_second(struct audio_tones *t, struct audio_tone *ret);

/** @return two frequencies are considered equal: within 1.5 %, or 4 Hz */
bool audio_tone_same(double a_hz, double b_hz);

/**
 * Find the tone of which a block consists. The frequency is computed from the
 * phase difference between the halves of the block (accurate to 0.5 Hz if the
 * tone has nine tenths of the power), the level from the power at that
 * frequency.
 * @param pcm  -1..1
 * @return false: no tone has four fifths of the power, or silence
 */
bool audio_tone_find(struct audio_tone *ret, const float *pcm, size_t count,
		     unsigned rate_hz);

#endif
