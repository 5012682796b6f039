/**
 * Resamples decoded audio of any rate to 8000 Hz, packet by packet: a
 * windowed-sinc low-pass evaluated at the rational output positions. Level and
 * phase of the voice band are kept; it is delayed by AUDIO_REDUCE_DELAY_NS.
 * Docs: docs/reference/audio.md
 * Thread: one at a time (the audio thread; new and free allocate).
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_REDUCE_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_REDUCE_H

#include "media/audio/codec.h"

#include <stddef.h>
#include <stdint.h>

#define AUDIO_REDUCED_HZ 8000
/* Delay of the output relative to the input. */
#define AUDIO_REDUCE_DELAY_NS INT64_C(3000000)
/* Maximum output of one packet. A codec of 8000 Hz is not reduced, and a peer may put
 * any time into a packet. */
#define AUDIO_REDUCED_MAX CODEC_SAMPLES_MAX

struct audio_reduce;

/** @param rate_hz  of the input, 8000..48000
 * @return 0; -EINVAL; -ENOMEM */
int audio_reduce_new(struct audio_reduce **ret, unsigned rate_hz);
/** @param r  may be NULL
 * @return NULL */
struct audio_reduce *audio_reduce_free(struct audio_reduce *r);

/**
 * Resample the samples of a packet.
 * @param dst    room for AUDIO_REDUCED_MAX samples; those of clipped audio exceed
 *               -1..1
 * @param count  at most CODEC_SAMPLES_MAX
 * @return samples written
 */
size_t audio_reduce_add(struct audio_reduce *r, float *dst, const int16_t *pcm,
			size_t count);

#endif
