/**
 * The samples of a prompt: decoded from a file, or built in.
 * Thread: any; allocates.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_LOAD_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_LOAD_H

#include <stddef.h>
#include <stdint.h>

/** Mono, 16 bit; played in a loop. */
struct prompt_samples {
	int16_t *pcm; /* free() */
	size_t count;
	unsigned rate_hz;
};

/**
 * Decode a file with libsndfile, mixed down to mono, at most 48000 Hz.
 * @param fd  open for reading, borrowed
 * @return 0; -EILSEQ not audio; -ENODATA no sample; -ERANGE sample rate
 *         (RESAMPLE_RATE_MIN_HZ, _MAX_HZ) or number of channels out of range;
 *         -EFBIG longer than PROMPT_SECONDS_MAX; -ENOMEM (on failure nothing is
 *         written)
 */
int prompt_load(struct prompt_samples *ret, int fd);

/** @return number of samples of the built-in tone sequence at a rate */
size_t prompt_tones_count(unsigned rate_hz);
/** Write samples [from, from + count) of the tone sequence.
 * @param from  from + count is at most prompt_tones_count() */
void prompt_tones_read(int16_t *dst, size_t from, size_t count,
		       unsigned rate_hz);

#endif
