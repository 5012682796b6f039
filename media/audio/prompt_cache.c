/* The prompts that are held: those that play the same share one. */
#include "media/audio/prompt_internal.h"
#include "media/audio/prompt_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

struct prompt *prompt_cache_find(struct prompt_cache *cache,
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

void prompt_cache_add(struct prompt_cache *cache, struct prompt *p)
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

/* As many as there are processors. */
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
