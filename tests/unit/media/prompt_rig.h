/**
 * A prompt's file of a case's own, and what the worker of a cache makes of it.
 */
#ifndef TESTS_UNIT_MEDIA_PROMPT_RIG_H
#define TESTS_UNIT_MEDIA_PROMPT_RIG_H

#include "media/audio/prompt.h"

/** Its path; an empty file from prompt_rig_new() on. */
extern char prompt_rig_path[];

/** Setup and teardown of a case. */
int prompt_rig_new(void **state);
int prompt_rig_remove(void **state);

/** Wait until the worker is through with something, and take it.
 * @param wake_fd  the cache's */
void until_taken(struct prompt_cache *cache, int wake_fd);

/** Samples of an array, as a prompt's encoder reads them.
 * @param pcm  borrowed while the source is read */
struct pcm_source prompt_rig_source(const int16_t *pcm, size_t count);

/** Encode all of a source at once. @param ret  clip_release() it */
void prompt_rig_encode(struct clip *ret, const struct prompt_want *want,
		       const struct pcm_source *source);

#endif
