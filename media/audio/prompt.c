#include "media/audio/prompt.h"

#include "base/clock.h"
#include "media/audio/audio_marker.h"
#include "media/audio/audio_match.h"
#include "media/audio/audio_reduce.h"
#include "media/audio/prompt_load.h"
#include "media/audio/prompt_work.h"
#include "media/audio/resample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maximum of prompts in the cache; others belong to one session. */
#define PROMPTS_SHARED 64

/* Sampling rates of the codecs, and that of audio checks. */
#define PROMPT_RATES_MAX 4

/** One encoding and its parameters. */
struct prompt_encoding {
	struct prompt_want want;
	struct clip clip;
	struct prompt_encoder *encoder; /* NULL: the clip is complete */
	bool growing;                   /* a worker has the encoder */
};

struct prompt {
	struct prompt_cache *cache; /* its workers encode the prompt */
	bool shared;                /* in cache->prompts */
	bool kept;                  /* the cache holds a reference */
	size_t references;
	size_t growing; /* references held by workers that encode */
	/* only workers hold it: they may stop. Relaxed: publishes nothing
	 * else */
	_Atomic bool abandoned;
	enum prompt_kind kind;
	char *path;           /* PROMPT_FILE */
	struct stat identity; /* of the file */
	/* constant once created; the other kinds are computed when read */
	struct prompt_samples samples; /* PROMPT_FILE, PROMPT_MARKER */
	/* one for each rate used; NULL: end of the list */
	struct resampler *resamplers[PROMPT_RATES_MAX];
	unsigned resampled_hz[PROMPT_RATES_MAX];
	struct audio_reference *reference; /* NULL: not needed yet */
	size_t encodings;
	struct prompt_encoding *encoding[PROMPT_CLIPS_MAX];
};

struct prompt_work;

struct prompt_cache {
	struct prompt_worker *worker;
	struct prompt_worker *urgent; /* encodes what is being sent */
	struct prompt_work *under_way;
	struct prompt *prompts[PROMPTS_SHARED];
	/* first failure of prompt_prepare() */
	char *failed_path;
	int failed;
};

/* ---- one prompt ---- */

#define SILENCE_MS 1200 /* whole packets of nearly every packet time */

/* Thread: any; returns NULL */
static struct prompt_encoding *prompt_encoding_free(struct prompt_encoding *e)
{
	if (e) {
		prompt_encoder_free(e->encoder);
		clip_release(&e->clip);
	}
	free(e);
	return NULL;
}

/* Free a prompt, whatever its references. Thread: any; returns NULL */
static struct prompt *prompt_release(struct prompt *p)
{
	if (p) {
		for (size_t i = 0; i < p->encodings; i++)
			prompt_encoding_free(p->encoding[i]);
		for (size_t i = 0; i < PROMPT_RATES_MAX; i++)
			resampler_free(p->resamplers[i]);
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

/* @param fd  of the file; unused for built-in prompts */
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

/* @param ret_fd  -1: built-in prompts have no file */
static int prompt_file_open(int *ret_fd, struct stat *ret,
			    enum prompt_kind kind, const char *path)
{
	int err = 0;
	int fd;

	*ret_fd = -1;
	memset(ret, 0, sizeof(*ret));
	if (kind != PROMPT_FILE)
		return 0;
	/* non-blocking: a FIFO must not block the loop */
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

/* ---- samples ---- */

static void silence_read(const struct pcm_source *s, int16_t *dst, size_t from,
			 size_t count)
{
	(void)s;
	(void)from;
	memset(dst, 0, count * sizeof(*dst));
}

static void tones_read(const struct pcm_source *s, int16_t *dst, size_t from,
		       size_t count)
{
	prompt_tones_read(dst, from, count, s->rate_hz);
}

static void resampled_read(const struct pcm_source *s, int16_t *dst,
			   size_t from, size_t count)
{
	resampler_read(s->arg, dst, from, count);
}

static int resampler_have(const struct resampler **ret, struct prompt *p,
			  unsigned rate_hz)
{
	const struct prompt_samples *s = &p->samples;
	size_t i = 0;
	int err;

	while (i < PROMPT_RATES_MAX && p->resamplers[i] &&
	       p->resampled_hz[i] != rate_hz)
		i++;
	if (i == PROMPT_RATES_MAX)
		return -EINVAL;
	if (!p->resamplers[i]) {
		err = resampler_new(&p->resamplers[i], s->pcm, s->count,
				    s->rate_hz, rate_hz);
		if (err)
			return err;
		p->resampled_hz[i] = rate_hz;
	}
	*ret = p->resamplers[i];
	return 0;
}

/* Get the samples of a prompt at a rate; valid while the prompt is held. */
static int source_of(struct pcm_source *ret, struct prompt *p, unsigned rate_hz)
{
	const struct resampler *r;
	int err = 0;

	memset(ret, 0, sizeof(*ret));
	ret->rate_hz = rate_hz;
	if (p->kind == PROMPT_TONES) {
		ret->count = prompt_tones_count(rate_hz);
		ret->read = tones_read;
	} else if (p->kind == PROMPT_SILENCE) {
		ret->count = (size_t)rate_hz * SILENCE_MS / 1000;
		ret->read = silence_read;
	} else {
		err = resampler_have(&r, p, rate_hz);
		ret->count = err ? 0 : resampler_count(r);
		ret->read = resampled_read;
		ret->arg = err ? NULL : r;
	}
	return err;
}

/* Thread: the one that owns the prompt
 * @return 0; -EFBIG; -ENOMEM */
static int prompt_reference_make(struct audio_reference **ret, struct prompt *p)
{
	struct pcm_source source;
	int16_t *pcm;
	int err = source_of(&source, p, AUDIO_REDUCED_HZ);

	if (err)
		return err;
	pcm = calloc(source.count, sizeof(*pcm));
	if (!pcm)
		return -ENOMEM;
	source.read(&source, pcm, 0, source.count);
	err = audio_reference_new(ret, pcm, source.count);
	free(pcm);
	return err;
}

int prompt_reference(struct audio_reference **ret, struct prompt *p)
{
	int err = p->reference ? 0 : prompt_reference_make(&p->reference, p);

	if (!err)
		*ret = p->reference;
	return err;
}

/* ---- encodings ---- */

/* Begin an encoding; nothing is encoded yet. Thread: the one that owns the
 * prompt
 * @return 0; as prompt_encoder_new() */
static int prompt_encoding_new(struct prompt_encoding **ret, struct prompt *p,
			       const struct prompt_want *want, uint32_t from_ms)
{
	struct prompt_encoding *e = calloc(1, sizeof(*e));
	struct pcm_source source;
	int err;

	if (!e)
		return -ENOMEM;
	e->want = *want;
	err = source_of(&source, p, want->codec->sample_hz);
	if (!err)
		err = prompt_encoder_new(&e->encoder, &e->clip, want, &source,
					 from_ms);
	if (err) {
		prompt_encoding_free(e);
		return err;
	}
	*ret = e;
	return 0;
}

/* Encode this much more, or everything. Thread: the one that has the encoder
 * @return as prompt_encoder_step() */
static int prompt_encoding_step(struct prompt_encoding *e, uint32_t ms)
{
	int more = prompt_encoder_step(e->encoder, ms);

	if (more == 0)
		e->encoder = prompt_encoder_free(e->encoder);
	return more;
}

static int prompt_encoding_finish(struct prompt_encoding *e)
{
	return prompt_encoding_step(e, UINT32_MAX / 2);
}

/* @return NULL: there is none yet */
static struct prompt_encoding *prompt_encoding_find(
	const struct prompt *p, const struct prompt_want *want)
{
	for (size_t i = 0; i < p->encodings; i++) {
		if (prompt_want_same(&p->encoding[i]->want, want))
			return p->encoding[i];
	}
	return NULL;
}

/* @return the prompt can keep one more encoding */
static bool prompt_has_room(const struct prompt *p)
{
	return p->encodings < PROMPT_CLIPS_MAX;
}

/* Add an encoding; call prompt_has_room() before.
 * @param e  ownership moves here */
static void prompt_encoding_add(struct prompt *p, struct prompt_encoding *e)
{
	p->encoding[p->encodings++] = e;
}

/* ---- cache: sessions that play the same share a prompt ---- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* @param identity  of a file
 * @return NULL: it is not in the cache */
static struct prompt *prompt_cache_find(struct prompt_cache *cache,
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

/* Share the prompt if the cache has room. */
static void prompt_cache_add(struct prompt_cache *cache, struct prompt *p)
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

static bool worker_take(struct prompt_worker *worker, bool drop)
{
	struct prompt_task *task;
	bool any = false;

	while ((task = prompt_worker_take(worker)) != NULL) {
		task->take(task, drop);
		any = true;
	}
	return any;
}

/* Process the tasks that are done.
 * @param drop  release their results
 * @return true: there was one */
static bool prompt_works_take(struct prompt_cache *cache, bool drop)
{
	bool any = worker_take(cache->worker, drop);

	return worker_take(cache->urgent, drop) || any;
}

/* One thread per processor, at most PROMPT_THREADS_MAX. */
static unsigned urgent_threads(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	if (count < 1)
		return 1;
	return count > PROMPT_THREADS_MAX ? PROMPT_THREADS_MAX
					  : (unsigned)count;
}

int prompt_cache_new(struct prompt_cache **ret, int wake_fd, bool nice)
{
	struct prompt_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	if (prompt_worker_new(&cache->worker, wake_fd, false, 1) ||
	    prompt_worker_new(&cache->urgent, wake_fd, nice,
			      urgent_threads())) {
		prompt_worker_free(cache->worker);
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
	int err = prompt_file_open(&fd, &identity, kind, path);

	if (err)
		return err;
	p = prompt_cache_find(cache, kind, path, &identity);
	if (p) {
		p->references++;
		atomic_store_explicit(&p->abandoned, false,
				      memory_order_relaxed);
	} else {
		err = prompt_make(&p, kind, fd, path, &identity);
		if (!err)
			prompt_cache_add(cache, p);
	}
	if (fd >= 0)
		close(fd);
	if (!err)
		*ret = p;
	return err;
}

struct prompt *prompt_put(struct prompt *p)
{
	if (!p)
		return NULL;
	if (--p->references > 0) {
		if (p->references == p->growing)
			atomic_store_explicit(&p->abandoned, true,
					      memory_order_relaxed);
		return NULL;
	}
	for (size_t i = 0; p->shared && i < PROMPTS_SHARED; i++) {
		if (p->cache->prompts[i] == p)
			p->cache->prompts[i] = NULL;
	}
	return prompt_release(p);
}

struct prompt_cache *prompt_cache_free(struct prompt_cache *cache)
{
	if (!cache)
		return NULL;
	prompt_worker_stop(cache->worker);
	prompt_worker_stop(cache->urgent);
	prompt_works_take(cache, true);
	prompt_worker_free(cache->worker);
	prompt_worker_free(cache->urgent);
	for (size_t i = 0; i < PROMPTS_SHARED; i++) {
		if (cache->prompts[i] && cache->prompts[i]->kept)
			prompt_put(cache->prompts[i]);
	}
	free(cache->failed_path);
	free(cache);
	return NULL;
}

/* ---- preparing: loading and encoding by the thread media-prompt ---- */

/** A task of the worker. Thread: loop; a worker in work(). */
struct prompt_work {
	struct prompt_task task;  /* first: tasks are cast to this struct */
	struct prompt_work *next; /* in progress */
	struct prompt_cache *cache;
	enum prompt_kind kind;
	char *path;
	bool reference;
	size_t count;
	struct prompt_want *wants;
	/* results */
	int failed; /* -errno of the file */
	struct prompt *loaded;
	struct prompt_encoding **encodings; /* NULL: failed */
	struct audio_reference *made_reference;
};

static void work_free(struct prompt_work *w)
{
	for (size_t i = 0; w->encodings && i < w->count; i++)
		prompt_encoding_free(w->encodings[i]);
	free(w->encodings);
	audio_reference_free(w->made_reference);
	prompt_release(w->loaded);
	free(w->wants);
	free(w->path);
	free(w);
}

/* Thread: the worker. A failed encoding is left NULL. */
static void encodings_make(struct prompt_work *w, struct prompt *p)
{
	for (size_t i = 0; i < w->count; i++) {
		struct prompt_encoding *e;

		if (prompt_encoding_new(&e, p, &w->wants[i], 0))
			continue;
		if (prompt_encoding_finish(e) == 0)
			w->encodings[i] = e;
		else
			prompt_encoding_free(e);
	}
}

/* Thread: the worker; no other thread has the prompt yet. */
static bool work_do(struct prompt_task *task)
{
	struct prompt_work *w = (struct prompt_work *)task;
	struct stat identity;
	int fd;

	w->failed = prompt_file_open(&fd, &identity, w->kind, w->path);
	if (w->failed)
		return false;
	w->failed = prompt_make(&w->loaded, w->kind, fd, w->path, &identity);
	if (fd >= 0)
		close(fd);
	if (w->failed)
		return false;
	encodings_make(w, w->loaded);
	if (w->reference)
		w->failed =
			prompt_reference_make(&w->made_reference, w->loaded);
	return false;
}

/* Move the results of the task into the prompt. */
static void work_merge(struct prompt *p, struct prompt_work *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct prompt_encoding *e = w->encodings[i];

		if (!e || prompt_encoding_find(p, &e->want) ||
		    !prompt_has_room(p))
			continue;
		prompt_encoding_add(p, e);
		w->encodings[i] = NULL;
	}
	if (!p->reference) {
		p->reference = w->made_reference;
		w->made_reference = NULL;
	}
}

static void work_take(struct prompt_cache *cache, struct prompt_work *w)
{
	struct prompt *p;

	if (w->failed && w->kind == PROMPT_FILE && !cache->failed) {
		cache->failed = w->failed;
		cache->failed_path = w->path;
		w->path = NULL;
		return;
	}
	if (!w->loaded)
		return;
	p = prompt_cache_find(cache, w->kind, w->path, &w->loaded->identity);
	if (!p) {
		p = w->loaded;
		w->loaded = NULL;
		p->references = 0;
		prompt_cache_add(cache, p);
	}
	if (!p->kept && p->shared) {
		p->kept = true;
		p->references++;
	}
	work_merge(p, w);
	if (p->references == 0)
		prompt_release(p); /* the cache is full */
}

static void work_done(struct prompt_task *task, bool drop)
{
	struct prompt_work *w = (struct prompt_work *)task;
	struct prompt_work **link = &w->cache->under_way;

	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	if (!drop)
		work_take(w->cache, w);
	work_free(w);
}

int prompt_prepare(struct prompt_cache *cache, enum prompt_kind kind,
		   const char *path, const struct prompt_want *wants,
		   size_t count, bool reference)
{
	struct prompt_work *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	if (count > PROMPT_WANTS_MAX)
		count = PROMPT_WANTS_MAX;
	w->task.work = work_do;
	w->task.take = work_done;
	w->cache = cache;
	w->kind = kind;
	w->count = count;
	w->reference = reference;
	w->wants = calloc(count + 1, sizeof(*w->wants));
	w->encodings = calloc(count + 1, sizeof(struct prompt_encoding *));
	w->path = path ? strdup(path) : NULL;
	if (!w->wants || !w->encodings || (path && !w->path)) {
		work_free(w);
		return -ENOMEM;
	}
	if (count)
		memcpy(w->wants, wants, count * sizeof(*wants));
	err = prompt_worker_give(cache->worker, &w->task);
	if (err) {
		work_free(w);
		return err;
	}
	w->next = cache->under_way;
	cache->under_way = w;
	return 0;
}

int prompt_cache_give(struct prompt_cache *cache, struct prompt_task *task)
{
	return prompt_worker_give(cache->urgent, task);
}

bool prompt_cache_take(struct prompt_cache *cache)
{
	return prompt_works_take(cache, false);
}

bool prompt_cache_busy(const struct prompt_cache *cache)
{
	return cache->under_way != NULL;
}

int prompt_cache_failed(const struct prompt_cache *cache, const char **ret_path)
{
	if (cache->failed)
		*ret_path = cache->failed_path;
	return cache->failed;
}

/* ---- encoding while sending: one piece at a time, most urgent first ---- */

/* About 2 ms of processor time for Opus. */
#define PIECE_MS 100
/* After a marker: time for an encoder to settle. */
#define SEAM_MS 20

/** An encoding that a worker continues. Thread: loop; a worker in work(). */
struct growth {
	struct prompt_task task; /* first: tasks are cast to this struct */
	struct prompt *prompt;   /* held */
	struct prompt_encoding *encoding;
	int64_t given_ns;
	bool failed;
};

/* Due when playback since given_ns reaches the end of what is encoded. */
static void pace(struct growth *g)
{
	const struct prompt_encoding *e = g->encoding;

	g->task.due_ns =
		g->given_ns + prompt_encoder_ms(e->encoder) * NS_PER_MS;
	if (!e->want.once)
		g->task.begin_ns = g->task.due_ns - PROMPT_LEAD_MS * NS_PER_MS;
}

static bool abandoned(const struct prompt *p)
{
	return atomic_load_explicit(&p->abandoned, memory_order_relaxed);
}

/* Thread: a worker */
static bool growth_do(struct prompt_task *task)
{
	struct growth *g = (struct growth *)task;
	int more;

	if (abandoned(g->prompt))
		return false;
	more = prompt_encoding_step(g->encoding, PIECE_MS);
	if (more > 0)
		pace(g);
	g->failed = more < 0;
	return more > 0;
}

static int growth_give(struct prompt *p, struct prompt_encoding *e);

static void growth_done(struct prompt_task *task, bool drop)
{
	struct growth *g = (struct growth *)task;
	struct prompt_encoding *e = g->encoding;
	struct prompt *p = g->prompt;
	/* continue if it was abandoned and is needed again; a failed one is
	 * tried again when it is next needed */
	bool again = !drop && !g->failed && e->encoder && !abandoned(p);

	free(g);
	e->growing = false;
	p->growing--;
	if (again)
		(void)growth_give(p, e);
	prompt_put(p);
}

static int growth_give(struct prompt *p, struct prompt_encoding *e)
{
	struct prompt_worker *worker =
		e->want.once ? p->cache->worker : p->cache->urgent;
	struct growth *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->task.work = growth_do;
	g->task.take = growth_done;
	g->prompt = p;
	g->encoding = e;
	g->given_ns = clock_mono_ns();
	pace(g);
	err = prompt_worker_give(worker, &g->task);
	if (err) {
		free(g);
		return err;
	}
	e->growing = true;
	p->growing++;
	p->references++;
	return 0;
}

/* Avoid a seam within a marker: encode from a position before it.
 * @return how much earlier than from_ms, ms */
static uint32_t seam_before(const struct prompt *p, uint32_t from_ms)
{
	if (p->kind == PROMPT_MARKER && from_ms < AUDIO_MARKER_MS + SEAM_MS)
		return from_ms;
	return 0;
}

/* Begin an encoding and encode its first PROMPT_HEAD_MS. */
static int encoding_begin(struct prompt_encoding **ret, struct prompt *p,
			  const struct prompt_want *want, uint32_t from_ms)
{
	uint32_t more_ms = seam_before(p, from_ms);
	struct prompt_encoding *e;
	int err;

	if (!prompt_has_room(p))
		return -ENOSPC;
	err = prompt_encoding_new(&e, p, want, from_ms - more_ms);
	if (err)
		return err;
	if (!want->once)
		err = prompt_encoding_step(e, more_ms + PROMPT_HEAD_MS);
	if (err < 0) {
		prompt_encoding_free(e);
		return err;
	}
	prompt_encoding_add(p, e);
	*ret = e;
	return 0;
}

int prompt_clip_begin(const struct clip **ret, struct prompt *p,
		      const struct prompt_want *want, uint32_t from_ms)
{
	struct prompt_encoding *e = prompt_encoding_find(p, want);
	int err = e ? 0 : encoding_begin(&e, p, want, from_ms);

	if (!err && !e->growing && e->encoder && growth_give(p, e))
		err = prompt_encoding_finish(e);
	if (err)
		return err;
	*ret = &e->clip;
	return clip_whole(&e->clip) ? 0 : -EINPROGRESS;
}
