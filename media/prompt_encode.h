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

/** What an encoding is made for. */
struct prompt_want {
	const struct codec *codec;
	uint16_t ptime_ms; /* as codec_ptime() gave it */
	struct codec_settings settings;
	bool once; /* not in a loop: the last packet is filled with silence */
};

/** Whether one encoding serves both. */
bool prompt_want_same(const struct prompt_want *a, const struct prompt_want *b);

/**
 * Encode samples of the codec's rate.
 * @param ret  the caller's, clip_release()
 * @return 0; -EINVAL; -ENOMEM
 */
int prompt_encode(struct clip *ret, const struct prompt_want *want,
		  const int16_t *pcm, size_t count);

#endif
