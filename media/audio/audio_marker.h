/**
 * Marker tones: audio from which the receiver can compute the delay. A chirp of
 * 100 ms begins whenever the sender's UTC clock is a multiple of 2.4 s. The
 * receiver compares this with its own clock. Docs: docs/reference/audio.md
 * Thread: one at a time per detector; other functions any. Pure.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_MARKER_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A multiple of nearly every packet time. */
#define AUDIO_MARKER_PERIOD_MS 2400
#define AUDIO_MARKER_PERIOD_NS INT64_C(2400000000)
#define AUDIO_MARKER_MS        100
#define AUDIO_MARKER_RATE_HZ   48000
#define AUDIO_MARKER_COUNT \
	(AUDIO_MARKER_RATE_HZ / 1000 * AUDIO_MARKER_PERIOD_MS)

/** Write one period at AUDIO_MARKER_RATE_HZ, starting with the chirp.
 * @param dst  AUDIO_MARKER_COUNT samples */
void audio_marker_write(int16_t *dst);

struct audio_marker;

/** @return 0; -ENOMEM */
int audio_marker_new(struct audio_marker **ret);
/** @param m  may be NULL
 * @return NULL */
struct audio_marker *audio_marker_free(struct audio_marker *m);

/**
 * Process samples of 8000 Hz in -1..1.
 * @param wall_ns  time of the first sample, UTC since 1970
 * @param count    at most 160, so that at most one marker ends
 * @param gap_ms   time before them without samples, >= 0. It counts as silence,
 *                 so that a marker with a lost packet keeps its position
 * @return true: a marker ended; *ret_ms is its delay, -1200..1200
 */
bool audio_marker_add(struct audio_marker *m, const float *pcm, size_t count,
		      int64_t wall_ns, double gap_ms, double *ret_ms);

#endif
