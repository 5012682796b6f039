/**
 * Convert a prompt to a WAV file for another program to play: 48000 Hz, 16 bit,
 * two identical channels, silence at the end.
 * Thread: any; allocates, reads and writes files.
 */
#ifndef OFFHOOK_MEDIA_PROMPT_WAV_H
#define OFFHOOK_MEDIA_PROMPT_WAV_H

#include <stdint.h>

#define PROMPT_WAV_HZ 48000
/** Longest prompt in seconds: one minute is 11.5 MB. */
#define PROMPT_WAV_SECONDS_MAX 120

/**
 * Convert a sound file.
 * @param ret_ns   duration of the prompt in ns, without the silence
 * @param fd       open for reading, borrowed: any format that libsndfile reads
 * @param dst_fd   open for writing, borrowed
 * @param tail_ms  silence behind the prompt
 * @return 0; -EILSEQ not audio; -ENODATA no sample; -ERANGE rate or channels
 *         that are not read; -EFBIG longer than PROMPT_WAV_SECONDS_MAX; -EIO
 *         it could not be written; -ENOMEM
 */
int prompt_wav(int64_t *ret_ns, int fd, int dst_fd, unsigned tail_ms);

#endif
