/**
 * What a prompt sounds like, as samples: of a file, or built in.
 * Thread: any; allocates.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_LOAD_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_LOAD_H

#include <stddef.h>
#include <stdint.h>

/** Mono, 16 bit, in a loop. */
struct prompt_samples {
	int16_t *pcm; /* free() */
	size_t count;
	unsigned rate_hz;
};

/**
 * Decode a file by libsndfile, mixed down to mono, at most 48000 Hz.
 * @param fd  open for reading, borrowed
 * @return 0; -EILSEQ not audio; -ENODATA without a sample; -ERANGE of a rate
 *         (RESAMPLE_RATE_MIN_HZ, _MAX_HZ) or a number of channels out of
 *         range; -EFBIG longer than PROMPT_SECONDS_MAX; -ENOMEM (each: nothing
 *         is written)
 */
int prompt_load(struct prompt_samples *ret, int fd);

/** Samples of the built-in sequence of tones at a rate. */
size_t prompt_tones_count(unsigned rate_hz);
/** Some of them. @param from  first; from + count are there */
void prompt_tones_read(int16_t *dst, size_t from, size_t count,
		       unsigned rate_hz);

#endif
