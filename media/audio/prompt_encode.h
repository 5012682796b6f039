/**
 * Encodes a clip piece by piece, for a codec, a packet time and the peer's
 * parameters.
 * Docs: docs/internals/media.md "Sending"
 * Thread: any, one at a time; allocates.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_ENCODE_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_ENCODE_H

#include "media/audio/clip.h"
#include "media/audio/codec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Parameters of an encoding. */
struct prompt_want {
	const struct codec *codec;
	uint16_t ptime_ms; /* from codec_ptime() */
	struct codec_settings settings;
	bool once; /* not in a loop: the last packet is padded with silence */
};

/** @return one encoding serves both */
bool prompt_want_same(const struct prompt_want *a, const struct prompt_want *b);

/** Samples at the codec's rate, read in pieces. */
struct pcm_source {
	size_t count; /* > 0 */
	/** @param from  first sample; from + count is at most s->count */
	void (*read)(const struct pcm_source *s, int16_t *dst, size_t from,
		     size_t count);
	const void *arg; /* for read(); valid while it is read */
	unsigned rate_hz;
};

struct prompt_encoder;

/**
 * Begin an encoding; nothing is encoded yet.
 * @param clip     owned by the caller, who calls clip_release(); borrowed
 * @param from_ms  position that is encoded first; what is before it comes last.
 *                 Rounded to a packet
 * @return 0; -EINVAL; -ENOMEM (on failure the clip is untouched)
 */
int prompt_encoder_new(struct prompt_encoder **ret, struct clip *clip,
		       const struct prompt_want *want,
		       const struct pcm_source *source, uint32_t from_ms);
/** @param e  may be NULL
 * @return NULL */
struct prompt_encoder *prompt_encoder_free(struct prompt_encoder *e);

/** Encode at least this much more, in whole packets, if there is as much left.
 * @return 0: complete; 1: there is more; -EINVAL; -ENOMEM */
int prompt_encoder_step(struct prompt_encoder *e, uint32_t ms);

/** @return duration encoded so far, ms */
int64_t prompt_encoder_ms(const struct prompt_encoder *e);

#endif
