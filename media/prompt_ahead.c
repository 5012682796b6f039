/* What the thread media-prompt loads and encodes for the cache. */
#include "media/audio_match.h"
#include "media/prompt_internal.h"
#include "media/prompt_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Heads up to this do not wait for what takes longer. */
#define URGENT_MS_MAX 15000

/** What the worker does. The loop's, but while it is being worked on. */
struct prompt_work {
	struct prompt_task task;  /* first */
	struct prompt_work *next; /* under way */
	struct prompt_cache *cache;
	enum prompt_kind kind;
	char *path;
	struct prompt *prompt; /* held; NULL: to be loaded */
	bool reference;
	size_t count;
	struct prompt_want *wants;
	/* made */
	int failed; /* -errno of the file */
	struct prompt *loaded;
	struct prompt_encoding **encodings; /* NULL: could not be */
	struct audio_reference *made_reference;
};

static void work_free(struct prompt_work *w)
{
	for (size_t i = 0; w->encodings && i < w->count; i++)
		prompt_encoding_free(w->encodings[i]);
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
	struct prompt_work *w = (struct prompt_work *)task;
	const struct prompt *p = w->prompt;
	struct stat identity;
	int fd;

	if (!p)
		w->failed = prompt_file_open(&fd, &identity, w->kind, w->path);
	if (!p && !w->failed) {
		w->failed = prompt_make(&w->loaded, w->kind, fd, w->path,
					&identity);
		p = w->loaded;
		if (fd >= 0)
			close(fd);
	}
	for (size_t i = 0; p && i < w->count; i++)
		(void)prompt_encoding_make(&w->encodings[i], p, &w->wants[i]);
	if (p && w->reference)
		w->failed = prompt_reference_make(&w->made_reference, p);
}

/* Into the prompt what was made of it. */
static void work_merge(struct prompt *p, struct prompt_work *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct prompt_encoding *e = w->encodings[i];

		if (!e || prompt_clip_find(p, &e->want) ||
		    !prompt_has_room(p, &e->want))
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
	struct prompt *p = w->prompt;

	if (w->failed && w->kind == PROMPT_FILE && !cache->failed) {
		cache->failed = w->failed;
		cache->failed_path = w->path;
		w->path = NULL;
		return;
	}
	if (w->loaded) {
		p = prompt_cache_find(cache, w->kind, w->path,
				      &w->loaded->identity);
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
	}
	if (p)
		work_merge(p, w);
	if (p && p->references == 0)
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

/* A longer head, before the one before is played. */
static bool is_urgent(const struct prompt_work *w)
{
	return w->count == 1 && w->wants[0].head_ms > 0 &&
	       w->wants[0].head_ms <= URGENT_MS_MAX;
}

static int work_give(struct prompt_cache *cache, struct prompt *prompt,
		     enum prompt_kind kind, const char *path,
		     const struct prompt_want *wants, size_t count,
		     bool reference)
{
	struct prompt_work *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
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
	w->prompt = prompt;
	if (prompt)
		prompt->references++;
	err = prompt_worker_give(is_urgent(w) ? cache->urgent : cache->worker,
				 &w->task);
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
	for (const struct prompt_work *w = p->cache->under_way; w;
	     w = w->next) {
		if (w->prompt == p && w->count == 1 &&
		    prompt_want_same(&w->wants[0], want))
			return true;
	}
	return false;
}

/* A head of what has frames, made here if there is none. */
static int head_have(const struct clip **ret, struct prompt *p,
		     const struct prompt_want *want, uint32_t *ret_ms)
{
	struct prompt_want first = *want;

	*ret = prompt_head(p, want, ret_ms);
	if (*ret || !prompt_want_frames(want))
		return 0;
	first.head_ms = *ret_ms = prompt_head_next(0);
	return prompt_clip(ret, p, &first);
}

int prompt_clip_begin(const struct clip **ret, struct prompt *p,
		      const struct prompt_want *want)
{
	struct prompt_want longer = *want;
	const struct clip *head;
	uint32_t ms;
	int err;

	/* a marker's place is that of the clock, anywhere in it */
	if (prompt_clip_find(p, want) || p->kind == PROMPT_MARKER)
		return prompt_clip(ret, p, want);
	if (!prompt_has_room(p, want))
		return -ENOSPC;
	err = head_have(&head, p, want, &ms);
	if (err)
		return err;
	*ret = head;
	if (head && !head->begins)
		return 0;
	longer.head_ms = head ? prompt_head_next(ms) : 0;
	if (!is_under_way(p, &longer) &&
	    work_give(p->cache, p, p->kind, NULL, &longer, 1, false) != 0)
		return prompt_clip(ret, p, want);
	return -EINPROGRESS;
}

int prompt_prepare(struct prompt_cache *cache, enum prompt_kind kind,
		   const char *path, const struct prompt_want *wants,
		   size_t count, bool reference)
{
	if (count > PROMPT_WANTS_MAX)
		count = PROMPT_WANTS_MAX;
	return work_give(cache, NULL, kind, path, wants, count, reference);
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

bool prompt_works_take(struct prompt_cache *cache, bool drop)
{
	bool any = worker_take(cache->worker, drop);

	return worker_take(cache->urgent, drop) || any;
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
	for (const struct prompt_work *w = cache->under_way; w; w = w->next) {
		if (!w->prompt)
			return true;
	}
	return false;
}

int prompt_cache_failed(const struct prompt_cache *cache, const char **ret_path)
{
	if (cache->failed)
		*ret_path = cache->failed_path;
	return cache->failed;
}
