/**
 * One direction of a decoded session: which source is heard, its decoder, and
 * what the audio was. Docs: docs/reference/audio.md
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

/** Samples of one packet. */
struct audio_samples {
	int64_t mono_ns; /* of the first one */
	double gap_ms;   /* of time before them: lost, not sent. The stream's
			  * own; where it begins anew that of arrival */
	unsigned rate_hz;
	size_t count;
	int16_t pcm[CODEC_SAMPLES_MAX];
	/* the same at AUDIO_REDUCED_HZ */
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
	uint32_t next_ts; /* of the packet after the last one */
	bool has_end;
	int64_t end_ns; /* of the last decoded samples, by arrival */
	bool has_jump;  /* a packet far behind */
	uint16_t jump_seq;
	/* another source that may take over */
	bool has_other;
	uint32_t other_ssrc;
	uint16_t other_seq;

	bool expected;       /* by direction it has to carry audio */
	int64_t expected_ns; /* since when; valid if expected */
	double expected_ms;  /* of the times before */
	int64_t heard_ns;    /* sound was last heard, or expected */
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

/** Whether the direction has to carry audio from now on. */
void audio_leg_expect(struct audio_leg *leg, bool expected, int64_t mono_ns);

/**
 * Decode a packet of the source that is heard: the first one, until another
 * sends two packets in sequence while it is still.
 * @param codec  NULL: the type has no decoder (comfort noise, events)
 * @return false: nothing was decoded (*ret untouched but for its arrays)
 */
bool audio_leg_decode(struct audio_leg *leg, const struct codec *codec,
		      const struct payload *head, const uint8_t *data,
		      struct audio_samples *ret);

/**
 * A packet of comfort noise: it counts, and is measured as silence.
 * @return its time behind the last audio, ms, as gap_ms; -1: nothing to hear
 */
double audio_leg_noise(struct audio_leg *leg, const struct payload *head,
		       const uint8_t *data);

/** What part of a packet's samples was; at most 20 ms of it. */
struct audio_slice {
	bool heard;
	struct audio_tone tone; /* of a block that ended; ms 0: none */
};

/** Measure samples.
 * @param slice  samples of `pcm` and of `reduced` that are about 20 ms */
void audio_leg_measure(struct audio_leg *leg, const int16_t *pcm, size_t count,
		       const float *reduced, size_t reduced_count,
		       int64_t mono_ns, struct audio_slice *ret);

/** Close a second that began at start_ns. */
void audio_leg_second(struct audio_leg *leg, int64_t start_ns, int64_t end_ns,
		      struct audio_second *ret);

/** All of it, when it is over. */
void audio_leg_total(struct audio_leg *leg, int64_t end_ns,
		     struct audio_total *ret);

void audio_leg_release(struct audio_leg *leg);

#endif
