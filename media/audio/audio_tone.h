/**
 * Tones in decoded audio of 8000 Hz: blocks of 100 ms that consist of one
 * frequency. Pure. Docs: docs/reference/audio.md
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
	struct audio_tone last; /* within the open second; ms 0: none */
	struct audio_tone list[AUDIO_TONES_MAX];
	size_t count;
};

/**
 * Take samples in -1..1.
 * @param ret    the tone of a block that ended here; ms 0: there was none
 * @param count  at most AUDIO_TONE_SAMPLES, so that at most one block ends
 */
void audio_tones_add(struct audio_tones *t, const float *pcm, size_t count,
		     struct audio_tone *ret);

/** The samples that follow do not continue those before. */
void audio_tones_break(struct audio_tones *t);

/** A second is over. @param ret  its last tone; ms 0: none */
void audio_tones_second(struct audio_tones *t, struct audio_tone *ret);

/** Whether two frequencies are called the same: within 1.5 %, or 4 Hz. */
bool audio_tone_same(double a_hz, double b_hz);

/**
 * The tone that a block consists of: its frequency by the phase it gains from
 * one half of the block to the other (within 0.5 Hz where nine tenths of the
 * power are the tone's), its level by that frequency's part of the power.
 * @param pcm  -1..1
 * @return false: no tone has four fifths of the power, or silence
 */
bool audio_tone_find(struct audio_tone *ret, const float *pcm, size_t count,
		     unsigned rate_hz);

#endif
