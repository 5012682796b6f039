/**
 * What a session plays, with its encodings: each is made once and kept, so that
 * the TX thread only copies. Sessions that play the same unchanged file share
 * one prompt. Threads of its own load and encode what is asked for ahead of
 * time, or in a call (prompt_work.h): one, and others for what is being sent.
 * Thread: the loop thread; a clip any, while a reference is held.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_H

#include "media/audio/prompt_encode.h"

#include <stdbool.h>
#include <stddef.h>

/** Longest clip in seconds; bounds memory and loading time. */
#define PROMPT_SECONDS_MAX 600
/** When a call needs what nobody prepared, so much is encoded at once, so that
 * a thread has time to begin with the rest. */
#define PROMPT_HEAD_MS 60
/** What is being sent is encoded so far ahead, and no further: of many at once
 * each has its turn, and they take no more of the processor than they need. */
#define PROMPT_LEAD_MS 2000
/** Most encodings of one prompt. */
#define PROMPT_CLIPS_MAX 64
/** Most encodings asked for at once. */
#define PROMPT_WANTS_MAX 64

enum prompt_kind {
	PROMPT_FILE,    /* decoded by libsndfile, mixed down to mono */
	PROMPT_TONES,   /* a built-in sequence */
	PROMPT_MARKER,  /* marker tones (audio_marker.h) */
	PROMPT_SILENCE, /* a second or so of it */
};

struct prompt;
struct prompt_cache;

/** @param wake_fd  eventfd, written to when prompt_cache_take() has work; -1:
 *                  none
 * @param nice      what a call sends goes before other programs
 *                  (scheduling.h)
 * @return 0; -ENOMEM */
int prompt_cache_new(struct prompt_cache **ret, int wake_fd, bool nice);

/** Release; no prompt of it may be held any more. @return NULL */
struct prompt_cache *prompt_cache_free(struct prompt_cache *cache);

/**
 * Get a clip; a file is loaded now if it is not there.
 * @param path  PROMPT_FILE: what libsndfile reads
 * @return 0; -ENOENT; -EACCES and other -errno of open(); as prompt_load()
 */
int prompt_get(struct prompt **ret, struct prompt_cache *cache,
	       enum prompt_kind kind, const char *path);

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
 * Its encoding, or begin to make it: it may be sent as far as it is there
 * (clip_has()), and a thread goes on with it. What is played once is not sent
 * before it is whole: prompt_cache_take() says when something is.
 * @param from_ms  what is played first, see prompt_encoder_new(); it plays no
 *                 part where the encoding is already begun
 * @return 0: it is whole; -EINPROGRESS: *ret is valid, too; -ENOSPC
 *         PROMPT_CLIPS_MAX reached; -EINVAL; -ENOMEM
 */
int prompt_clip_begin(const struct clip **ret, struct prompt *prompt,
		      const struct prompt_want *want, uint32_t from_ms);

/**
 * Load a file ahead of time, encode it, and keep it until the cache is
 * released. Failures show when it is got.
 * @param count      at most PROMPT_WANTS_MAX
 * @param reference  prompt_reference() will be asked for
 * @return 0: it is there, or under way; -EAGAIN too much is under way; -ENOMEM
 */
int prompt_prepare(struct prompt_cache *cache, enum prompt_kind kind,
		   const char *path, const struct prompt_want *wants,
		   size_t count, bool reference);

struct prompt_task;

/** Have something else made by a thread of the cache's (prompt_work.h): its
 * take() is called by prompt_cache_take(). @return as prompt_worker_give() */
int prompt_cache_give(struct prompt_cache *cache, struct prompt_task *task);

/** Take over what was made. @return true: something was */
bool prompt_cache_take(struct prompt_cache *cache);

/** Whether something of prompt_prepare() is not there yet. */
bool prompt_cache_busy(const struct prompt_cache *cache);

/** The first file of prompt_prepare() that could not be loaded, or made a
 * reference of. @param ret_path  the cache's
 * @return 0: none; -errno as of prompt_get(), prompt_reference() */
int prompt_cache_failed(const struct prompt_cache *cache,
			const char **ret_path);

#endif
