/**
 * A direction of a call as a WAV file: mono, 16 bit, at the rate of its first
 * codec. The file is the line of time: what was not received is silence, or the
 * comfort noise that was asked for.
 * Thread: the audio thread; writes files.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_RECORD_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_RECORD_H

#include "media/audio/noise_synth.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file has no more than this; what comes after is not recorded. */
#define AUDIO_RECORD_BYTES_MAX (48u << 20)

struct audio_recorder {
	char *path; /* NULL: none is going on */
	void *file; /* SNDFILE; NULL: nothing was written yet */
	unsigned rate_hz;
	bool has_start;
	int64_t start_ns;
	int err;   /* there is no file, or a write failed: -errno */
	bool full; /* AUDIO_RECORD_BYTES_MAX reached */
	uint64_t samples;
	double filled_ms; /* of the gap that is open, up to its last noise packet */
	struct noise_synth noise; /* until audio goes on */
};

/** Begin; the file is made with the first samples. @param path  taken over */
void audio_recorder_begin(struct audio_recorder *r, char *path);

/** When the recording's time begins; later calls change nothing. */
void audio_recorder_start(struct audio_recorder *r, int64_t start_ns);

/** Samples of a packet that came at mono_ns, gap_ms of the stream's time after
 * those before. */
void audio_recorder_write(struct audio_recorder *r, const int16_t *pcm,
			  size_t count, unsigned rate_hz, int64_t mono_ns,
			  double gap_ms);

/** A packet of comfort noise (RFC 3389), gap_ms of the stream's time after the
 * last samples: it is heard until there are more. Before the first samples it is
 * not. */
void audio_recorder_noise(struct audio_recorder *r, const uint8_t *payload,
			  size_t bytes, double gap_ms);

/** How it went. */
struct audio_recorded {
	bool written; /* a whole file is there */
	bool cut;     /* it has less than it should */
	int err;      /* why it is not there: -errno; 0: it is, or none began */
	double ms;
};

/** Close the file; if it is not whole it is deleted.
 * @return false: none was going on (*ret untouched) */
bool audio_recorder_end(struct audio_recorder *r, struct audio_recorded *ret);

#endif
