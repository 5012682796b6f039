/**
 * DTMF digits as tones in the audio: encoded for sending, and detected in
 * received audio by spandsp's receiver (ITU-T Q.24).
 * Docs: docs/internals/media.md "DTMF"
 */
#ifndef OFFHOOK_MEDIA_AUDIO_DTMF_TONES_H
#define OFFHOOK_MEDIA_AUDIO_DTMF_TONES_H

#include "media/audio/dtmf_receive.h"
#include "media/audio/prompt_encode.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- sending ---- */

/** Encoded order of digits; constant once it is complete. */
struct dtmf_clip {
	struct dtmf_order order;
	struct clip clip;
	size_t packets;
	uint16_t ptime_ms;
};

/**
 * Begin to encode an order; prompt_encoder_step() continues. Thread: any;
 * allocates.
 * @param ret  owned by the caller, with its clip; must not be moved before it
 *             is complete
 * @return 0; -ENOMEM; -EINVAL
 */
int dtmf_clip_begin(struct dtmf_clip *ret, struct prompt_encoder **ret_encoder,
		    const struct dtmf_order *order,
		    const struct prompt_want *want);

/** What ended with a packet. */
struct dtmf_clip_step {
	bool finished; /* a digit */
	char digit;
	bool over; /* the whole order */
};

/**
 * Find out what ended with a packet of the order: at most one digit, the last
 * one with the last packet.
 * @param packet  from 0
 * @param digit   in/out: number of digits that have ended
 */
void dtmf_clip_step(const struct dtmf_clip *c, size_t packet, size_t *digit,
		    struct dtmf_clip_step *ret);

/* ---- receiving ---- */

/* Beginning and end are accurate to one block of the receiver. */
#define DTMF_TONES_BLOCK_MS 12.75

struct dtmf_tones;

/** Thread: one at a time. @return 0; -ENOMEM */
int dtmf_tones_new(struct dtmf_tones **ret);
/** @param t  may be NULL
 * @return NULL */
struct dtmf_tones *dtmf_tones_free(struct dtmf_tones *t);

/**
 * Process samples of 8000 Hz; those beyond -1..1 are clipped.
 * @param mono_ns  time of the first sample
 * @param count    at most 160, so that *ret has room
 */
void dtmf_tones_add(struct dtmf_tones *t, const float *pcm, size_t count,
		    int64_t mono_ns, struct dtmf_heard *ret);

/** The audio ends here. */
void dtmf_tones_end(struct dtmf_tones *t, struct dtmf_heard *ret);

#endif
