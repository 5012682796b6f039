/**
 * Inside of the prompts: one of them (prompt.c), those that are held
 * (prompt_cache.c), and what is made ahead of time (prompt_ahead.c).
 * Thread: the loop thread, if nothing else is said.
 */
#ifndef OFFHOOK_MEDIA_PROMPT_INTERNAL_H
#define OFFHOOK_MEDIA_PROMPT_INTERNAL_H

#include "media/prompt.h"
#include "media/prompt_load.h"

#include <sys/stat.h>

/* Distinct prompts in the cache; more are not shared. */
#define PROMPTS_SHARED 64

/** One encoding and what it was made for. */
struct prompt_encoding {
	struct prompt_want want;
	struct clip clip;
};

struct prompt {
	struct prompt_cache *cache; /* of its worker */
	bool shared;                /* it stands there */
	bool kept;                  /* the cache holds a reference */
	size_t references;
	enum prompt_kind kind;
	char *path;           /* PROMPT_FILE */
	struct stat identity; /* of the file */
	/* constant once it is made; others are made at the rate asked for */
	struct prompt_samples samples;     /* PROMPT_FILE, PROMPT_MARKER */
	struct audio_reference *reference; /* NULL: not asked for */
	size_t encodings;
	/* at most PROMPT_CLIPS_MAX, and heads of them */
	struct prompt_encoding *encoding[PROMPT_CLIPS_MAX * (PROMPT_HEADS + 1)];
};

struct prompt_work;

struct prompt_cache {
	struct prompt_worker *worker;
	struct prompt_worker
		*urgent; /* what a call waits for, of a few seconds */
	struct prompt_work *under_way;
	struct prompt *prompts[PROMPTS_SHARED];
	/* the first of prompt_prepare() */
	char *failed_path;
	int failed;
};

/**
 * Open what prompt_make() reads.
 * Thread: any
 * @param ret_fd  the caller's; -1: what is built in has no file
 * @param ret     of the file; else all 0
 * @return 0; -EILSEQ no regular file; -errno of open()
 */
int prompt_file_open(int *ret_fd, struct stat *ret, enum prompt_kind kind,
		     const char *path);

/**
 * Make one, of which one reference is held.
 * Thread: any
 * @param fd  borrowed; not used for what is built in
 * @return 0; as prompt_load()
 */
int prompt_make(struct prompt **ret, enum prompt_kind kind, int fd,
		const char *path, const struct stat *identity);

/** Free it, whoever holds it. Thread: any @return NULL */
struct prompt *prompt_release(struct prompt *p);

/** Encode; reads what is constant of the prompt. Thread: any
 * @return 0; as prompt_encode() */
int prompt_encoding_make(struct prompt_encoding **ret, const struct prompt *p,
			 const struct prompt_want *want);

/** Thread: any @return NULL */
struct prompt_encoding *prompt_encoding_free(struct prompt_encoding *e);

/** Whether one more can be kept: PROMPT_CLIPS_MAX, heads and their whole
 * being one. */
bool prompt_has_room(const struct prompt *p, const struct prompt_want *want);

/** The longest head that is there, shorter than what is wanted.
 * @return NULL: none is, *ret_ms 0 */
const struct clip *prompt_head(const struct prompt *p,
			       const struct prompt_want *want,
			       uint32_t *ret_ms);

/** Keep it; its head is known by that. @param e  taken over; there is room for
 * it */
void prompt_encoding_add(struct prompt *p, struct prompt_encoding *e);

/** As prompt_encoding_make(). Thread: any @return 0; -EFBIG; -ENOMEM */
int prompt_reference_make(struct audio_reference **ret, const struct prompt *p);

/** @return NULL: it is not made yet */
const struct clip *prompt_clip_find(const struct prompt *p,
				    const struct prompt_want *want);

/** @param identity  of a file @return NULL: it is not held */
struct prompt *prompt_cache_find(struct prompt_cache *cache,
				 enum prompt_kind kind, const char *path,
				 const struct stat *identity);

/** Share it, if there is room. */
void prompt_cache_add(struct prompt_cache *cache, struct prompt *p);

/** Take over what the worker made. @param drop  forget it @return true: any */
bool prompt_works_take(struct prompt_cache *cache, bool drop);

#endif
