/**
 * Whether what is heard is a prompt that is known: cross-correlation in windows
 * of half a second, with a search for the place in the prompt. Docs: docs/reference/audio.md
 * Thread: the audio thread; allocates. A reference may be made by another one.
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
/* From this correlation on a window is called the prompt. */
#define AUDIO_MATCH_SAME 0.65

/** A prompt to compare with; shared by sessions. */
struct audio_reference;

/** @param pcm  copied @return 0; -EINVAL empty; -EFBIG; -ENOMEM */
int audio_reference_new(struct audio_reference **ret, const int16_t *pcm,
			size_t count);
struct audio_reference *audio_reference_free(struct audio_reference *r);

struct audio_match;

/** @param reference  borrowed for its life @return 0; -ENOMEM */
int audio_match_new(struct audio_match **ret,
		    struct audio_reference *reference);
struct audio_match *audio_match_free(struct audio_match *m);

/**
 * Take samples in -1..1.
 * @param mono_ns  when the first was heard
 * @param gap_ms   of the stream's time before it
 * @return the largest correlation of the windows that ended; -1: none did
 */
double audio_match_add(struct audio_match *m, const float *pcm, size_t count,
		       int64_t mono_ns, double gap_ms);

struct audio_matched {
	bool known; /* there was sound to compare */
	/* 0..1: mean over all windows with sound by their power; one in which
	 * the prompt's sound is missing counts as 0 */
	double correlation;
	double same_ms; /* windows that are the prompt */
	bool has_begin;
	int64_t begin_ns; /* when the prompt's first sample was heard first, or
			   * would have been */
};

void audio_match_result(const struct audio_match *m, struct audio_matched *ret);

#endif
