/**
 * What a session plays: a clip at 8000 Hz, encoded in both G.711 laws when it
 * is loaded, so that the TX thread only copies. Sessions that play the same
 * unchanged file share one clip.
 * Thread: the loop thread; prompt_data() any, while a reference is held.
 */
#ifndef OFFHOOK_MEDIA_PROMPT_H
#define OFFHOOK_MEDIA_PROMPT_H

#include "media/g711.h"

#include <stddef.h>
#include <stdint.h>

/** Longest clip in seconds; bounds memory and loading time. */
#define PROMPT_SECONDS_MAX 600

struct prompt;
struct prompt_cache;

/** @return 0; -ENOMEM */
int prompt_cache_new(struct prompt_cache **ret);

/** Release; no prompt of it may be held any more. @return NULL */
struct prompt_cache *prompt_cache_free(struct prompt_cache *cache);

/**
 * Get a clip: decoded by libsndfile, mixed down to mono, converted to 8000 Hz.
 * @param path  WAV (or what else libsndfile reads); NULL: a built-in tone
 *              sequence
 * @return 0; -ENOENT; -EACCES and other -errno of open(); -EILSEQ not audio,
 *         empty or of a rate out of range; -EFBIG longer than
 *         PROMPT_SECONDS_MAX; -ENOMEM
 */
int prompt_get(struct prompt **ret, struct prompt_cache *cache,
	       const char *path);

/** Give the clip back; the last one releases it. @return NULL */
struct prompt *prompt_put(struct prompt *prompt);

/** The clip in one law. @param ret_count  its samples, >= 1 */
const uint8_t *prompt_data(const struct prompt *prompt, enum g711_law law,
			   size_t *ret_count);

#endif
