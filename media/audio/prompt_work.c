#include "media/audio/prompt_work.h"

#include "base/clock.h"
#include "base/thread.h"
#include "media/scheduling.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct queue {
	struct prompt_task *first;
	struct prompt_task **last;
};

struct prompt_worker {
	/* loop */
	pthread_t threads[PROMPT_THREADS_MAX];
	unsigned started;
	unsigned under_way; /* given and not taken yet */
	/* constant */
	unsigned threads_max;
	int wake_fd;
	bool nice;

	pthread_mutex_t lock;
	pthread_cond_t given;
	/* protected by the lock */
	struct queue todo;
	struct queue done;
	bool quit;
};

static void tasks_init(struct queue *q)
{
	q->first = NULL;
	q->last = &q->first;
}

static void tasks_put(struct queue *q, struct prompt_task *task)
{
	task->next = NULL;
	*q->last = task;
	q->last = &task->next;
}

static struct prompt_task *tasks_get(struct queue *q)
{
	struct prompt_task *task = q->first;

	if (!task)
		return NULL;
	q->first = task->next;
	if (!q->first)
		q->last = &q->first;
	return task;
}

static void wake(int fd)
{
	const uint64_t one = 1;

	/* the counter is full: the loop will wake anyway */
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return;
}

/* Find the task that is due first, of those that may begin.
 * @param ret_begin_ns  if NULL is returned: when one may begin; INT64_MAX:
 *                      there is none */
static struct prompt_task *tasks_first(struct queue *q, int64_t now_ns,
				       int64_t *ret_begin_ns)
{
	struct prompt_task **best = NULL;
	struct prompt_task *task;

	*ret_begin_ns = INT64_MAX;
	for (struct prompt_task **link = &q->first; *link;
	     link = &(*link)->next) {
		if ((*link)->begin_ns > now_ns) {
			if ((*link)->begin_ns < *ret_begin_ns)
				*ret_begin_ns = (*link)->begin_ns;
		} else if (!best || (*link)->due_ns < (*best)->due_ns) {
			best = link;
		}
	}
	if (!best)
		return NULL;
	task = *best;
	*best = task->next;
	if (q->last == &task->next)
		q->last = best;
	return task;
}

/* @param begin_ns  INT64_MAX: wait until a task is given */
static void wait_until(struct prompt_worker *w, int64_t begin_ns)
{
	const struct timespec at = {
		.tv_sec = begin_ns / NS_PER_S,
		.tv_nsec = begin_ns % NS_PER_S,
	};

	if (begin_ns == INT64_MAX)
		pthread_cond_wait(&w->given, &w->lock);
	else
		pthread_cond_timedwait(&w->given, &w->lock, &at);
}

/* Get the next task.
 * @param again  a task that has more to do; NULL: none
 * @return NULL: the worker stops */
static struct prompt_task *next_task(struct prompt_worker *w,
				     struct prompt_task *again)
{
	struct prompt_task *task = NULL;
	int64_t begin_ns;

	pthread_mutex_lock(&w->lock);
	if (again)
		tasks_put(&w->todo, again);
	while (!w->quit) {
		task = tasks_first(&w->todo, clock_mono_ns(), &begin_ns);
		if (task)
			break;
		wait_until(w, begin_ns);
	}
	pthread_mutex_unlock(&w->lock);
	return task;
}

static void task_done(struct prompt_worker *w, struct prompt_task *task)
{
	pthread_mutex_lock(&w->lock);
	tasks_put(&w->done, task);
	pthread_mutex_unlock(&w->lock);
	wake(w->wake_fd);
}

static void *run(void *arg)
{
	struct prompt_worker *w = arg;
	struct scheduling scheduling = {0};
	struct prompt_task *again = NULL;
	struct prompt_task *task;

	if (w->nice)
		scheduling_take(&scheduling, SCHEDULING_NICE_ONLY);
	while ((task = next_task(w, again)) != NULL) {
		again = task->work(task) ? task : NULL;
		if (!again)
			task_done(w, task);
	}
	return NULL;
}

static int cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int err = -pthread_condattr_init(&attr);

	if (err)
		return err;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	err = -pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return err;
}

int prompt_worker_new(struct prompt_worker **ret, int wake_fd, bool nice,
		      unsigned threads)
{
	struct prompt_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->wake_fd = wake_fd;
	w->nice = nice;
	w->threads_max = threads;
	tasks_init(&w->todo);
	tasks_init(&w->done);
	if (cond_init(&w->given)) {
		free(w);
		return -ENOMEM;
	}
	pthread_mutex_init(&w->lock, NULL);
	*ret = w;
	return 0;
}

/* Start one more thread, if there is work for it.
 * @return 0; -errno: no thread is running */
static int start(struct prompt_worker *w)
{
	int err;

	if (w->started == w->threads_max || w->started > w->under_way)
		return 0;
	/* only the loop thread handles signals */
	err = thread_start(&w->threads[w->started], "media-prompt", run, w);
	if (err)
		return w->started ? 0 : err;
	w->started++;
	return 0;
}

int prompt_worker_give(struct prompt_worker *w, struct prompt_task *task)
{
	int err = w->under_way < PROMPT_TASKS_MAX ? start(w) : -EAGAIN;

	if (err)
		return err;
	w->under_way++;
	pthread_mutex_lock(&w->lock);
	tasks_put(&w->todo, task);
	pthread_cond_signal(&w->given);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

struct prompt_task *prompt_worker_take(struct prompt_worker *w)
{
	struct prompt_task *task;

	if (w->under_way == 0)
		return NULL;
	pthread_mutex_lock(&w->lock);
	task = tasks_get(&w->done);
	if (!task && w->quit)
		task = tasks_get(&w->todo);
	pthread_mutex_unlock(&w->lock);
	if (task)
		w->under_way--;
	return task;
}

void prompt_worker_stop(struct prompt_worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_broadcast(&w->given);
	pthread_mutex_unlock(&w->lock);
	while (w->started > 0)
		pthread_join(w->threads[--w->started], NULL);
}

struct prompt_worker *prompt_worker_free(struct prompt_worker *w)
{
	if (!w)
		return NULL;
	pthread_cond_destroy(&w->given);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}
