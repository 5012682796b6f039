#include "media/prompt.h"

#include "media/audio_marker.h"
#include "media/audio_match.h"
#include "media/audio_reduce.h"
#include "media/prompt_load.h"
#include "media/prompt_work.h"
#include "media/resample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROMPTS_SHARED 64 /* distinct clips in the cache; more are not shared */
#define SILENCE_MS     1200 /* whole packets of nearly every packet time */

/** One encoding and what it was made for. */
struct encoding {
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
	struct encoding *encoding[PROMPT_CLIPS_MAX];
};

/** What the worker does. The loop's, but while it is being worked on. */
struct work {
	struct prompt_task task; /* first */
	struct work *next;       /* under way */
	enum prompt_kind kind;
	char *path;
	struct prompt *prompt; /* held; NULL: to be loaded */
	bool reference;
	size_t count;
	struct prompt_want *wants;
	/* made */
	struct prompt *loaded;
	struct encoding **encodings; /* NULL: could not be */
	struct audio_reference *made_reference;
};

struct prompt_cache {
	struct prompt_worker *worker;
	struct work *under_way;
	struct prompt *prompts[PROMPTS_SHARED];
};

/* ---- one prompt ---- */

static struct encoding *encoding_free(struct encoding *e)
{
	if (e)
		clip_release(&e->clip);
	free(e);
	return NULL;
}

static struct prompt *prompt_release(struct prompt *p)
{
	if (p) {
		for (size_t i = 0; i < p->encodings; i++)
			encoding_free(p->encoding[i]);
		audio_reference_free(p->reference);
		free(p->samples.pcm);
		free(p->path);
		free(p);
	}
	return NULL;
}

static int marker_make(struct prompt_samples *s)
{
	s->rate_hz = AUDIO_MARKER_RATE_HZ;
	s->count = AUDIO_MARKER_COUNT;
	s->pcm = calloc(s->count, sizeof(*s->pcm));
	if (!s->pcm)
		return -ENOMEM;
	audio_marker_write(s->pcm);
	return 0;
}

/* @param fd  of the file; not used for what is built in */
static int prompt_make(struct prompt **ret, enum prompt_kind kind, int fd,
		       const char *path, const struct stat *identity)
{
	struct prompt *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p)
		return -ENOMEM;
	p->references = 1;
	p->kind = kind;
	if (kind == PROMPT_FILE) {
		p->identity = *identity;
		p->path = strdup(path);
		err = p->path ? prompt_load(&p->samples, fd) : -ENOMEM;
	} else if (kind == PROMPT_MARKER) {
		err = marker_make(&p->samples);
	}
	if (err) {
		prompt_release(p);
		return err;
	}
	*ret = p;
	return 0;
}

/* @param ret_fd  -1: what is built in has no file */
static int file_open(int *ret_fd, struct stat *ret, enum prompt_kind kind,
		     const char *path)
{
	int err = 0;
	int fd;

	*ret_fd = -1;
	memset(ret, 0, sizeof(*ret));
	if (kind != PROMPT_FILE)
		return 0;
	/* non-blocking: a FIFO must not hold the loop */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, ret) < 0)
		err = -errno;
	else if (!S_ISREG(ret->st_mode))
		err = -EILSEQ;
	if (err)
		close(fd);
	else
		*ret_fd = fd;
	return err;
}

/* All samples at a rate. */
static int samples_at(int16_t **ret, size_t *ret_count, const struct prompt *p,
		      unsigned rate_hz)
{
	const struct prompt_samples *s = &p->samples;

	if (p->kind == PROMPT_TONES)
		return prompt_tones(ret, ret_count, rate_hz);
	if (p->kind != PROMPT_SILENCE)
		return resample_loop(ret, ret_count, s->pcm, s->count,
				     s->rate_hz, rate_hz);
	*ret_count = (size_t)rate_hz * SILENCE_MS / 1000;
	*ret = calloc(*ret_count, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

/* Thread: any; reads what is constant of the prompt */
static int encoding_make(struct encoding **ret, const struct prompt *p,
			 const struct prompt_want *want)
{
	struct encoding *e = calloc(1, sizeof(*e));
	int16_t *pcm = NULL;
	size_t count;
	int err;

	if (!e)
		return -ENOMEM;
	e->want = *want;
	err = samples_at(&pcm, &count, p, want->codec->sample_hz);
	if (!err)
		err = prompt_encode(&e->clip, want, pcm, count);
	free(pcm);
	if (err) {
		encoding_free(e);
		return err;
	}
	*ret = e;
	return 0;
}

static int reference_make(struct audio_reference **ret, const struct prompt *p)
{
	int16_t *pcm;
	size_t count;
	int err = samples_at(&pcm, &count, p, AUDIO_REDUCED_HZ);

	if (err)
		return err;
	err = audio_reference_new(ret, pcm, count);
	free(pcm);
	return err;
}

static const struct clip *clip_find(const struct prompt *p,
				    const struct prompt_want *want)
{
	for (size_t i = 0; i < p->encodings; i++) {
		if (prompt_want_same(&p->encoding[i]->want, want))
			return &p->encoding[i]->clip;
	}
	return NULL;
}

int prompt_reference(struct audio_reference **ret, struct prompt *p)
{
	int err = p->reference ? 0 : reference_make(&p->reference, p);

	if (!err)
		*ret = p->reference;
	return err;
}

int prompt_clip(const struct clip **ret, struct prompt *p,
		const struct prompt_want *want)
{
	const struct clip *found = clip_find(p, want);
	int err;

	if (found) {
		*ret = found;
		return 0;
	}
	if (p->encodings == PROMPT_CLIPS_MAX)
		return -ENOSPC;
	err = encoding_make(&p->encoding[p->encodings], p, want);
	if (err)
		return err;
	*ret = &p->encoding[p->encodings++]->clip;
	return 0;
}

/* ---- the cache ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct prompt *cache_find(struct prompt_cache *cache,
				 enum prompt_kind kind, const char *path,
				 const struct stat *identity)
{
	for (size_t i = 0; i < PROMPTS_SHARED; i++) {
		struct prompt *p = cache->prompts[i];

		if (!p || p->kind != kind)
			continue;
		if (kind != PROMPT_FILE || (strcmp(p->path, path) == 0 &&
					    same_file(&p->identity, identity)))
			return p;
	}
	return NULL;
}

static void cache_add(struct prompt_cache *cache, struct prompt *p)
{
	p->cache = cache;
	for (size_t i = 0; i < PROMPTS_SHARED; i++) {
		if (!cache->prompts[i]) {
			cache->prompts[i] = p;
			p->shared = true;
			return;
		}
	}
}

int prompt_cache_new(struct prompt_cache **ret, int wake_fd)
{
	struct prompt_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	if (prompt_worker_new(&cache->worker, wake_fd)) {
		free(cache);
		return -ENOMEM;
	}
	*ret = cache;
	return 0;
}

int prompt_get(struct prompt **ret, struct prompt_cache *cache,
	       enum prompt_kind kind, const char *path)
{
	struct stat identity;
	struct prompt *p;
	int fd;
	int err = file_open(&fd, &identity, kind, path);

	if (err)
		return err;
	p = cache_find(cache, kind, path, &identity);
	if (p) {
		p->references++;
	} else {
		err = prompt_make(&p, kind, fd, path, &identity);
		if (!err)
			cache_add(cache, p);
	}
	if (fd >= 0)
		close(fd);
	if (!err)
		*ret = p;
	return err;
}

struct prompt *prompt_put(struct prompt *p)
{
	if (!p || --p->references > 0)
		return NULL;
	for (size_t i = 0; p->shared && i < PROMPTS_SHARED; i++) {
		if (p->cache->prompts[i] == p)
			p->cache->prompts[i] = NULL;
	}
	return prompt_release(p);
}

/* ---- ahead of time ---- */

static void work_free(struct work *w)
{
	for (size_t i = 0; w->encodings && i < w->count; i++)
		encoding_free(w->encodings[i]);
	free(w->encodings);
	audio_reference_free(w->made_reference);
	prompt_release(w->loaded);
	prompt_put(w->prompt);
	free(w->wants);
	free(w->path);
	free(w);
}

/* Thread: the worker. What fails is missing. */
static void work_do(struct prompt_task *task)
{
	struct work *w = (struct work *)task;
	const struct prompt *p = w->prompt;
	struct stat identity;
	int fd;

	if (!p && file_open(&fd, &identity, w->kind, w->path) == 0) {
		(void)prompt_make(&w->loaded, w->kind, fd, w->path, &identity);
		p = w->loaded;
		if (fd >= 0)
			close(fd);
	}
	for (size_t i = 0; p && i < w->count; i++)
		(void)encoding_make(&w->encodings[i], p, &w->wants[i]);
	if (p && w->reference)
		(void)reference_make(&w->made_reference, p);
}

static int work_give(struct prompt_cache *cache, struct prompt *prompt,
		     enum prompt_kind kind, const char *path,
		     const struct prompt_want *wants, size_t count,
		     bool reference)
{
	struct work *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->task.work = work_do;
	w->kind = kind;
	w->count = count;
	w->reference = reference;
	w->wants = calloc(count + 1, sizeof(*w->wants));
	w->encodings = calloc(count + 1, sizeof(struct encoding *));
	w->path = path ? strdup(path) : NULL;
	if (!w->wants || !w->encodings || (path && !w->path)) {
		work_free(w);
		return -ENOMEM;
	}
	if (count)
		memcpy(w->wants, wants, count * sizeof(*wants));
	w->prompt = prompt;
	if (prompt)
		prompt->references++;
	err = prompt_worker_give(cache->worker, &w->task);
	if (err) {
		work_free(w);
		return err;
	}
	w->next = cache->under_way;
	cache->under_way = w;
	return 0;
}

static bool is_under_way(const struct prompt *p, const struct prompt_want *want)
{
	for (const struct work *w = p->cache->under_way; w; w = w->next) {
		if (w->prompt == p && w->count == 1 &&
		    prompt_want_same(&w->wants[0], want))
			return true;
	}
	return false;
}

int prompt_clip_begin(const struct clip **ret, struct prompt *p,
		      const struct prompt_want *want)
{
	const struct clip *found = clip_find(p, want);

	if (found) {
		*ret = found;
		return 0;
	}
	if (p->encodings == PROMPT_CLIPS_MAX)
		return -ENOSPC;
	if (is_under_way(p, want) ||
	    work_give(p->cache, p, p->kind, NULL, want, 1, false) == 0)
		return -EINPROGRESS;
	return prompt_clip(ret, p, want);
}

int prompt_prepare(struct prompt_cache *cache, enum prompt_kind kind,
		   const char *path, const struct prompt_want *wants,
		   size_t count, bool reference)
{
	if (count > PROMPT_WANTS_MAX)
		count = PROMPT_WANTS_MAX;
	return work_give(cache, NULL, kind, path, wants, count, reference);
}

/* Into the prompt what was made of it. */
static void work_merge(struct prompt *p, struct work *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct encoding *e = w->encodings[i];

		if (!e || clip_find(p, &e->want) ||
		    p->encodings == PROMPT_CLIPS_MAX)
			continue;
		p->encoding[p->encodings++] = e;
		w->encodings[i] = NULL;
	}
	if (!p->reference) {
		p->reference = w->made_reference;
		w->made_reference = NULL;
	}
}

static void work_take(struct prompt_cache *cache, struct work *w)
{
	struct prompt *p = w->prompt;

	if (w->loaded) {
		p = cache_find(cache, w->kind, w->path, &w->loaded->identity);
		if (!p) {
			p = w->loaded;
			w->loaded = NULL;
			p->references = 0;
			cache_add(cache, p);
		}
		if (!p->kept && p->shared) {
			p->kept = true;
			p->references++;
		}
	}
	if (p)
		work_merge(p, w);
	if (p && p->references == 0)
		prompt_release(p); /* the cache is full */
}

static bool works_take(struct prompt_cache *cache, bool drop)
{
	struct prompt_task *task;
	bool any = false;

	while ((task = prompt_worker_take(cache->worker)) != NULL) {
		struct work *w = (struct work *)task;
		struct work **link = &cache->under_way;

		while (*link != w)
			link = &(*link)->next;
		*link = w->next;
		if (!drop)
			work_take(cache, w);
		work_free(w);
		any = true;
	}
	return any;
}

bool prompt_cache_take(struct prompt_cache *cache)
{
	return works_take(cache, false);
}

bool prompt_cache_busy(const struct prompt_cache *cache)
{
	for (const struct work *w = cache->under_way; w; w = w->next) {
		if (!w->prompt)
			return true;
	}
	return false;
}

struct prompt_cache *prompt_cache_free(struct prompt_cache *cache)
{
	if (!cache)
		return NULL;
	prompt_worker_stop(cache->worker);
	works_take(cache, true);
	prompt_worker_free(cache->worker);
	for (size_t i = 0; i < PROMPTS_SHARED; i++) {
		if (cache->prompts[i] && cache->prompts[i]->kept)
			prompt_put(cache->prompts[i]);
	}
	free(cache);
	return NULL;
}
