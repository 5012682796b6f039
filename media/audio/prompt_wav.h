/**
 * A prompt as a file that another program plays: WAV, 48000 Hz, two channels
 * that are alike, 16 bit, with silence behind it.
 * Thread: any; allocates, reads and writes files.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_WAV_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_WAV_H

#include <stdint.h>

#define PROMPT_WAV_HZ 48000
/** Longest prompt in seconds: a minute of it is 11.5 MB. */
#define PROMPT_WAV_SECONDS_MAX 120

/**
 * @param fd       open for reading, borrowed: what libsndfile reads
 * @param dst_fd   open for writing, borrowed
 * @param tail_ms  of silence behind the prompt
 * @param ret_ns   of the prompt, without the silence
 * @return 0; as prompt_load(); -EFBIG longer than PROMPT_WAV_SECONDS_MAX; -EIO
 *         it could not be written
 */
int prompt_wav(int64_t *ret_ns, int fd, int dst_fd, unsigned tail_ms);

#endif
