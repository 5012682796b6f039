/**
 * An encoding of a prompt: for which codec, packets and peer, and how it is
 * made. Docs: media.md "Sending"
 * Thread: any; allocates.
 */
#ifndef OFFHOOK_MEDIA_PROMPT_ENCODE_H
#define OFFHOOK_MEDIA_PROMPT_ENCODE_H

#include "media/codec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When a call needs what nobody prepared, so much is encoded at once, and then
 * heads that are longer each time, before all: each is there long before the one
 * before is played. */
#define PROMPT_HEAD_MS    200
#define PROMPT_HEAD_TIMES 8
#define PROMPT_HEADS      4 /* 200 ms, 1.6 s, 12.8 s, 102.4 s */

/** What an encoding is made for. */
struct prompt_want {
	const struct codec *codec;
	uint16_t ptime_ms; /* as codec_ptime() gave it */
	struct codec_settings settings;
	bool once; /* not in a loop: the last packet is filled with silence */
	/* of what has frames: so much of its beginning, as prompt_head_next()
	 * says; 0: all */
	uint32_t head_ms;
};

/** Whether one encoding serves both. */
bool prompt_want_same(const struct prompt_want *a, const struct prompt_want *b);

/** Whether it consists of frames, which a loop of bytes does not: a head of it
 * can be had. */
bool prompt_want_frames(const struct prompt_want *want);

/** The next longer one. @return 0: all */
uint32_t prompt_head_next(uint32_t head_ms);

/** Samples that are encoded: the head's, whole packets of it, or SIZE_MAX. */
size_t prompt_want_samples(const struct prompt_want *want);

/**
 * Encode samples of the codec's rate.
 * @param ret  the caller's, clip_release()
 * @return 0; -EINVAL; -ENOMEM
 */
int prompt_encode(struct clip *ret, const struct prompt_want *want,
		  const int16_t *pcm, size_t count);

#endif
