/**
 * Inside of the prompts: one of them (prompt.c), those that are held
 * (prompt_cache.c), what is made ahead of time (prompt_ahead.c), and while it is
 * sent (prompt_grow.c).
 * Thread: the loop thread, if nothing else is said.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_INTERNAL_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_INTERNAL_H

#include "media/audio/prompt.h"
#include "media/audio/prompt_load.h"
#include "media/audio/resample.h"

#include <stdatomic.h>
#include <sys/stat.h>

/* Distinct prompts in the cache; more are not shared. */
#define PROMPTS_SHARED 64

/* Rates of the codecs, and what is heard at. */
#define PROMPT_RATES_MAX 4

/** One encoding and what it was made for. */
struct prompt_encoding {
	struct prompt_want want;
	struct clip clip;
	struct prompt_encoder *encoder; /* NULL: the clip is whole */
	bool growing;                   /* a thread has the encoder */
};

struct prompt {
	struct prompt_cache *cache; /* of its worker */
	bool shared;                /* it stands there */
	bool kept;                  /* the cache holds a reference */
	size_t references;
	size_t growing; /* of them held by threads that encode */
	/* nobody else holds it: they may stop. Relaxed: it orders nothing */
	_Atomic bool abandoned;
	enum prompt_kind kind;
	char *path;           /* PROMPT_FILE */
	struct stat identity; /* of the file */
	/* constant once it is made; others are made at the rate asked for */
	struct prompt_samples samples; /* PROMPT_FILE, PROMPT_MARKER */
	/* of the samples; NULL: nobody asked for more rates */
	struct resampler *resamplers[PROMPT_RATES_MAX];
	unsigned resampled_hz[PROMPT_RATES_MAX];
	struct audio_reference *reference; /* NULL: not asked for */
	size_t encodings;
	struct prompt_encoding *encoding[PROMPT_CLIPS_MAX];
};

struct prompt_work;

struct prompt_cache {
	struct prompt_worker *worker;
	struct prompt_worker *urgent; /* what is sent already */
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

/** Begin one; nothing is encoded yet. Thread: the prompt's
 * @return 0; as prompt_encoder_new() */
int prompt_encoding_new(struct prompt_encoding **ret, struct prompt *p,
			const struct prompt_want *want, uint32_t from_ms);

/** Encode so much more, or all. Thread: the one that has the encoder
 * @return as prompt_encoder_step() */
int prompt_encoding_step(struct prompt_encoding *e, uint32_t ms);
int prompt_encoding_finish(struct prompt_encoding *e);

/** Thread: any @return NULL */
struct prompt_encoding *prompt_encoding_free(struct prompt_encoding *e);

/** Whether one more can be kept. */
bool prompt_has_room(const struct prompt *p);

/** Keep it. @param e  taken over; there is room for it */
void prompt_encoding_add(struct prompt *p, struct prompt_encoding *e);

/** Thread: the prompt's @return 0; -EFBIG; -ENOMEM */
int prompt_reference_make(struct audio_reference **ret, struct prompt *p);

/** @return NULL: there is none yet */
struct prompt_encoding *prompt_encoding_find(const struct prompt *p,
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
