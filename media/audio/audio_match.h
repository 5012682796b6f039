/**
 * Compares what is heard with a known prompt: cross-correlation in windows of
 * half a second, with a search for the position in the prompt. Docs:
 * docs/reference/audio.md
 * Thread: the audio thread; allocates. Another thread may create a reference.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_MATCH_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All at 8000 Hz (AUDIO_REDUCED_HZ). */
#define AUDIO_MATCH_WINDOW 4000
/* Longest prompt, seconds: bounds memory (16 MiB) and the search (0.5 s). */
#define AUDIO_MATCH_SECONDS_MAX 120
/* A window with at least this correlation is the prompt. */
#define AUDIO_MATCH_SAME 0.65

/** A prompt to compare with; sessions share it. */
struct audio_reference;

/** Create a reference.
 * @param pcm  copied
 * @return 0; -EINVAL empty; -EFBIG; -ENOMEM */
int audio_reference_new(struct audio_reference **ret, const int16_t *pcm,
			size_t count);
/** @param r  may be NULL
 * @return NULL */
struct audio_reference *audio_reference_free(struct audio_reference *r);

struct audio_match;

/** Create a comparison.
 * @param reference  borrowed until audio_match_free()
 * @return 0; -ENOMEM */
int audio_match_new(struct audio_match **ret,
		    struct audio_reference *reference);
/** @param m  may be NULL
 * @return NULL */
struct audio_match *audio_match_free(struct audio_match *m);

/**
 * Process samples in -1..1.
 * @param mono_ns  time of the first sample
 * @param gap_ms   time in the stream before it without samples
 * @return the largest correlation of the windows that ended; -1: none ended
 */
double audio_match_add(struct audio_match *m, const float *pcm, size_t count,
		       int64_t mono_ns, double gap_ms);

struct audio_matched {
	bool known; /* there was sound to compare */
	/* 0..1: mean over all windows with sound, weighted by their power; a
	 * window in which sound of the prompt is missing counts as 0 */
	double correlation;
	double same_ms; /* duration of windows that are the prompt */
	bool has_begin;
	int64_t begin_ns; /* when the prompt's first sample was first heard, or
			   * should have been */
};

/** Get the result so far. */
void audio_match_result(const struct audio_match *m, struct audio_matched *ret);

#endif
