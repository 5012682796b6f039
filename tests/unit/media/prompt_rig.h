/**
 * A prompt file for each test case, and access to the worker of a prompt cache.
 */
#ifndef TESTS_UNIT_MEDIA_PROMPT_RIG_H
#define TESTS_UNIT_MEDIA_PROMPT_RIG_H

#include "media/audio/prompt.h"

/** Path of the prompt file; an empty file after prompt_rig_new(). */
extern char prompt_rig_path[];

/** Setup and teardown of a test case. */
int prompt_rig_new(void **state);
int prompt_rig_remove(void **state);

/**
 * Wait until the worker has finished a task, and take it.
 * @param wake_fd  the cache's
 */
void until_taken(struct prompt_cache *cache, int wake_fd);

/**
 * Return a source that reads samples of an array, as a prompt's encoder does.
 * @param pcm  borrowed while the source is read
 */
struct pcm_source prompt_rig_source(const int16_t *pcm, size_t count);

/**
 * Encode a whole source at once.
 * @param ret  release it with clip_release()
 */
void prompt_rig_encode(struct clip *ret, const struct prompt_want *want,
		       const struct pcm_source *source);

#endif
