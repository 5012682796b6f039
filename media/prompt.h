/**
 * What a session plays, with its encodings: each is made when it is first
 * asked for and kept, so that the TX thread only copies. Sessions that play
 * the same unchanged file share one prompt.
 * Thread: the loop thread; a clip any, while a reference is held.
 */
#ifndef OFFHOOK_MEDIA_PROMPT_H
#define OFFHOOK_MEDIA_PROMPT_H

#include "media/codec.h"

#include <stddef.h>
#include <stdint.h>

/** Longest clip in seconds; bounds memory and loading time. */
#define PROMPT_SECONDS_MAX 600
/** Most encodings of one prompt. */
#define PROMPT_CLIPS_MAX 64

struct prompt;
struct prompt_cache;

/** @return 0; -ENOMEM */
int prompt_cache_new(struct prompt_cache **ret);

/** Release; no prompt of it may be held any more. @return NULL */
struct prompt_cache *prompt_cache_free(struct prompt_cache *cache);

/**
 * Get a clip: decoded by libsndfile, mixed down to mono.
 * @param path  WAV (or what else libsndfile reads); NULL: a built-in tone
 *              sequence
 * @return 0; -ENOENT; -EACCES and other -errno of open(); -EILSEQ not audio,
 *         empty or of a rate out of range; -EFBIG longer than
 *         PROMPT_SECONDS_MAX; -ENOMEM
 */
int prompt_get(struct prompt **ret, struct prompt_cache *cache,
	       const char *path);

/** Marker tones instead of a file (audio_marker.h); not shared.
 * @return 0; -ENOMEM */
int prompt_get_marker(struct prompt **ret);

/** Give the clip back; the last one releases it. @return NULL */
struct prompt *prompt_put(struct prompt *prompt);

struct audio_reference;

/**
 * Its samples to compare what is heard with; made now if this is the first
 * time. As long as the prompt is held; the audio thread may use it.
 * @return 0; -EFBIG longer than AUDIO_MATCH_SECONDS_MAX; -ENOMEM
 */
int prompt_reference(struct audio_reference **ret, struct prompt *prompt);

/**
 * Its encoding; made now if this is the first time. Opus takes about 1 ms a
 * second of audio, the others less.
 * @param ptime_ms  as codec_ptime() gave it; matters to frames only
 * @return 0; -ENOSPC PROMPT_CLIPS_MAX reached; -EINVAL; -ENOMEM
 */
int prompt_clip(const struct clip **ret, struct prompt *prompt,
		const struct codec *codec, uint16_t ptime_ms,
		const struct codec_settings *settings);

#endif
