/**
 * Records a direction of a call to a WAV file: mono, 16 bit, at the rate of its
 * first codec. The file has the duration of the call: what was not received is
 * silence, or the comfort noise that was asked for.
 * Thread: the audio thread; writes files.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_RECORD_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_RECORD_H

#include "media/audio/noise_synth.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum size of a file; later audio is not recorded. */
#define AUDIO_RECORD_BYTES_MAX (48u << 20)

struct audio_recorder {
	char *path; /* NULL: not recording */
	void *file; /* SNDFILE; NULL: nothing was written yet */
	unsigned rate_hz;
	bool has_start;
	int64_t start_ns;
	int err;   /* the file was not created, or a write failed: -errno */
	bool full; /* AUDIO_RECORD_BYTES_MAX reached */
	uint64_t samples;
	double filled_ms; /* part of the open gap that was filled, up to the
			   * last noise packet */
	struct noise_synth noise; /* played until audio continues */
};

/** Start recording. The file is created with the first samples.
 * @param path  allocated; ownership moves here */
void audio_recorder_begin(struct audio_recorder *r, char *path);

/** Set the start time of the recording; later calls have no effect. */
void audio_recorder_start(struct audio_recorder *r, int64_t start_ns);

/** Write the samples of a packet.
 * @param mono_ns  arrival of the packet
 * @param gap_ms   time in the stream since the previous samples */
void audio_recorder_write(struct audio_recorder *r, const int16_t *pcm,
			  size_t count, unsigned rate_hz, int64_t mono_ns,
			  double gap_ms);

/** Process a comfort noise packet (RFC 3389): fill with noise until there are
 * samples again. It has no effect before the first samples.
 * @param gap_ms  time in the stream since the last samples */
void audio_recorder_noise(struct audio_recorder *r, const uint8_t *payload,
			  size_t bytes, double gap_ms);

/** Result of a recording. */
struct audio_recorded {
	bool written; /* the file is complete */
	bool cut;     /* it is shorter than it should be */
	int err;      /* why there is no file: -errno; 0: there is one, or none
		       * was started */
	double ms;
};

/** Close the file; an incomplete one is deleted.
 * @return false: not recording (*ret untouched) */
bool audio_recorder_end(struct audio_recorder *r, struct audio_recorded *ret);

#endif
