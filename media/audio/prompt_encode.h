/**
 * An encoding: for which codec, packets and peer, and how it is made, piece by
 * piece. Docs: docs/internals/media.md "Sending"
 * Thread: any, one at a time; allocates.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_ENCODE_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_ENCODE_H

#include "media/audio/clip.h"
#include "media/audio/codec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What an encoding is made for. */
struct prompt_want {
	const struct codec *codec;
	uint16_t ptime_ms; /* as codec_ptime() gave it */
	struct codec_settings settings;
	bool once; /* not in a loop: the last packet is filled with silence */
};

/** Whether one encoding serves both. */
bool prompt_want_same(const struct prompt_want *a, const struct prompt_want *b);

/** Samples of the codec's rate, in pieces. */
struct pcm_source {
	size_t count; /* > 0 */
	/** @param from  from + count are there */
	void (*read)(const struct pcm_source *s, int16_t *dst, size_t from,
		     size_t count);
	const void *arg; /* the reader's, as long as it is read */
	unsigned rate_hz;
};

struct prompt_encoder;

/**
 * Begin an encoding, of which nothing is there yet.
 * @param clip     the caller's, clip_release(); borrowed
 * @param from_ms  what is played then is made first, and what is before it last;
 *                 a multiple of the packet time is taken
 * @return 0; -EINVAL; -ENOMEM (each: the clip is untouched)
 */
int prompt_encoder_new(struct prompt_encoder **ret, struct clip *clip,
		       const struct prompt_want *want,
		       const struct pcm_source *source, uint32_t from_ms);
struct prompt_encoder *prompt_encoder_free(struct prompt_encoder *e);

/** Encode at least so much more, if there is so much: whole packets.
 * @return 0: all is there; 1: there is more; -EINVAL; -ENOMEM */
int prompt_encoder_step(struct prompt_encoder *e, uint32_t ms);

/** What is encoded so far, ms. */
int64_t prompt_encoder_ms(const struct prompt_encoder *e);

#endif
