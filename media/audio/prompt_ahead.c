/* What the thread media-prompt loads and encodes for the cache. */
#include "media/audio/audio_match.h"
#include "media/audio/prompt_internal.h"
#include "media/audio/prompt_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** What the worker does. The loop's, but while it is being worked on. */
struct prompt_work {
	struct prompt_task task;  /* first */
	struct prompt_work *next; /* under way */
	struct prompt_cache *cache;
	enum prompt_kind kind;
	char *path;
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
	free(w->wants);
	free(w->path);
	free(w);
}

/* Thread: the worker. What fails is missing. */
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

/* Thread: the worker; the prompt is its own as yet */
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

/* Into the prompt what was made of it. */
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
	return cache->under_way != NULL;
}

int prompt_cache_failed(const struct prompt_cache *cache, const char **ret_path)
{
	if (cache->failed)
		*ret_path = cache->failed_path;
	return cache->failed;
}
