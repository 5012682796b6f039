/**
 * One direction of a decoded session: which source is heard, its decoder, and
 * measurements of the audio. Docs: docs/reference/audio.md
 * Thread: the audio thread; may allocate.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_AUDIO_LEG_H
#define OFFHOOK_MEDIA_AUDIO_AUDIO_LEG_H

#include "media/audio/audio_meter.h"
#include "media/audio/audio_reduce.h"
#include "media/audio/audio_tone.h"
#include "media/payload_ring.h"

#include <stdbool.h>
#include <stdint.h>

/** Decoded samples of one packet. */
struct audio_samples {
	int64_t mono_ns; /* time of the first sample */
	double gap_ms;   /* time before them without samples (lost or not sent),
			  * from RTP timestamps; from arrival times if the
			  * timestamps restart */
	unsigned rate_hz;
	size_t count;
	int16_t pcm[CODEC_SAMPLES_MAX];
	/* the same samples at AUDIO_REDUCED_HZ */
	size_t reduced_count;
	float reduced[AUDIO_REDUCED_MAX];
};

struct audio_leg {
	const struct codec *codec; /* NULL: no decoder yet */
	void *decoder;
	struct audio_reduce *reduce;
	bool has_stream;
	uint32_t ssrc;
	uint16_t seq;
	bool has_next;
	uint32_t next_ts; /* timestamp expected next */
	bool has_end;
	int64_t end_ns; /* arrival time of the end of the last decoded
			 * samples */
	bool has_jump;  /* a packet far behind was received */
	uint16_t jump_seq;
	/* another source that may take over */
	bool has_other;
	uint32_t other_ssrc;
	uint16_t other_seq;

	bool expected;       /* the direction has to carry audio */
	int64_t expected_ns; /* since this time; valid if expected */
	double expected_ms;  /* duration of earlier periods in which it was
			      * expected */
	int64_t heard_ns;    /* when sound was last heard, or first expected */
	double silence_max_ms;
	struct audio_meter meter;
	struct audio_tones tones;
	uint64_t packets;
	uint64_t late;
	uint64_t undecodable;
	uint64_t recovered;
	uint64_t noise_packets;
	double noise_dbov;
};

/** Set whether the direction has to carry audio from now on. */
void audio_leg_expect(struct audio_leg *leg, bool expected, int64_t mono_ns);

/**
 * Decode a packet of the source that is heard. This is the first source, until
 * another one sends two consecutive packets while the first is silent.
 * @param codec  NULL: the payload type has no decoder (comfort noise, events)
 * @param data   head->bytes bytes
 * @return false: nothing was decoded (of *ret only the arrays may be changed)
 */
bool audio_leg_decode(struct audio_leg *leg, const struct codec *codec,
		      const struct payload *head, const uint8_t *data,
		      struct audio_samples *ret);

/**
 * Process a comfort noise packet: it is counted, and measured as silence.
 * @return time between it and the last audio, ms, as gap_ms; -1: ignore it
 */
double audio_leg_noise(struct audio_leg *leg, const struct payload *head,
		       const uint8_t *data);

/** Measurement of a part of a packet's samples, at most 20 ms. */
struct audio_slice {
	bool heard;
	struct audio_tone tone; /* tone of a block that ended here; ms 0:
				 * none */
};

/** Measure about 20 ms of samples.
 * @param pcm      count samples at the codec's rate
 * @param reduced  the same part, reduced_count samples at AUDIO_REDUCED_HZ */
void audio_leg_measure(struct audio_leg *leg, const int16_t *pcm, size_t count,
		       const float *reduced, size_t reduced_count,
		       int64_t mono_ns, struct audio_slice *ret);

/** Close a second that began at start_ns. */
void audio_leg_second(struct audio_leg *leg, int64_t start_ns, int64_t end_ns,
		      struct audio_second *ret);

/** Get the totals of the direction at its end. */
void audio_leg_total(struct audio_leg *leg, int64_t end_ns,
		     struct audio_total *ret);

/** Free the decoder and its buffers. */
void audio_leg_release(struct audio_leg *leg);

#endif
