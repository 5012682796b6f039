/**
 * What a session plays, with its encodings. Each encoding is made once and
 * kept, so that the TX thread only copies. Sessions that play the same
 * unchanged file share one prompt. Separate threads load and encode, in advance
 * or during a call (prompt_work.h): one thread for preparing, others for what
 * is being sent.
 * Thread: the loop thread; a clip may be read by any thread while a reference
 * is held.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_H

#include "media/audio/prompt_encode.h"

#include <stdbool.h>
#include <stddef.h>

/** Longest clip in seconds; bounds memory and loading time. */
#define PROMPT_SECONDS_MAX 600
/** If a call needs an encoding that was not prepared, this much is encoded at
 * once, to give a worker time to continue. */
#define PROMPT_HEAD_MS 60
/** What is being sent is encoded this far ahead, and not further. So many
 * encodings share the workers, and use no more processor time than needed. */
#define PROMPT_LEAD_MS 2000
/** Maximum of encodings of one prompt. */
#define PROMPT_CLIPS_MAX 64
/** Maximum of encodings requested at once. */
#define PROMPT_WANTS_MAX 64

enum prompt_kind {
	PROMPT_FILE,    /* decoded by libsndfile, mixed down to mono */
	PROMPT_TONES,   /* a built-in sequence */
	PROMPT_MARKER,  /* marker tones (audio_marker.h) */
	PROMPT_SILENCE, /* about a second of silence */
};

struct prompt;
struct prompt_cache;

/**
 * @param wake_fd  eventfd, written to when prompt_cache_take() has work; -1:
 *                 none
 * @param nice     threads that encode for calls get a better nice value
 *                 (scheduling.h)
 * @return 0; -ENOMEM
 */
int prompt_cache_new(struct prompt_cache **ret, int wake_fd, bool nice);

/** Release the cache. None of its prompts may be held any more.
 * @return NULL */
struct prompt_cache *prompt_cache_free(struct prompt_cache *cache);

/**
 * Get a prompt; a file that is not in the cache is loaded now.
 * @param path  PROMPT_FILE: a file that libsndfile reads
 * @return 0; -ENOENT; -EACCES and other -errno of open(); as prompt_load()
 */
int prompt_get(struct prompt **ret, struct prompt_cache *cache,
	       enum prompt_kind kind, const char *path);

/**
 * Release a reference; the last one frees the prompt, unless the cache keeps
 * it.
 * @param prompt  may be NULL
 * @return NULL
 */
struct prompt *prompt_put(struct prompt *prompt);

struct audio_reference;

/**
 * Get the prompt's samples as a reference to compare received audio with;
 * created on the first call. Valid while the prompt is held; the audio thread
 * may use it.
 * @return 0; -EFBIG longer than AUDIO_MATCH_SECONDS_MAX; -ENOMEM
 */
int prompt_reference(struct audio_reference **ret, struct prompt *prompt);

/**
 * Get an encoding, or begin to make it. The part that is ready may be sent
 * (clip_has()), while a worker continues. A clip that is played once must not
 * be sent before it is complete: prompt_cache_take() tells when something is.
 * @param from_ms  position that is encoded first, see prompt_encoder_new();
 *                 ignored if the encoding was already begun
 * @return 0: it is complete; -EINPROGRESS: *ret is valid, too; -ENOSPC
 *         PROMPT_CLIPS_MAX reached; -EINVAL; -ENOMEM
 */
int prompt_clip_begin(const struct clip **ret, struct prompt *prompt,
		      const struct prompt_want *want, uint32_t from_ms);

/**
 * Load a file in advance, encode it, and keep it until the cache is released.
 * Failures are reported by prompt_get() and prompt_cache_failed().
 * @param count      at most PROMPT_WANTS_MAX
 * @param reference  prompt_reference() will be needed
 * @return 0: it is ready or in progress; -EAGAIN too much is in progress;
 *         -ENOMEM
 */
int prompt_prepare(struct prompt_cache *cache, enum prompt_kind kind,
		   const char *path, const struct prompt_want *wants,
		   size_t count, bool reference);

struct prompt_task;

/** Give another task to a worker of the cache (prompt_work.h);
 * prompt_cache_take() calls its take().
 * @return as prompt_worker_give() */
int prompt_cache_give(struct prompt_cache *cache, struct prompt_task *task);

/** Process the tasks that the workers have finished.
 * @return true: there were some */
bool prompt_cache_take(struct prompt_cache *cache);

/** @return something of prompt_prepare() is not ready yet */
bool prompt_cache_busy(const struct prompt_cache *cache);

/**
 * Get the first file of prompt_prepare() that could not be loaded, or made a
 * reference of.
 * @param ret_path  owned by the cache
 * @return 0: none; -errno as of prompt_get(), prompt_reference()
 */
int prompt_cache_failed(const struct prompt_cache *cache,
			const char **ret_path);

#endif
