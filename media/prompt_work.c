#include "media/prompt_work.h"

#include "media/scheduling.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct queue {
	struct prompt_task *first;
	struct prompt_task **last;
};

struct prompt_worker {
	pthread_t thread;
	bool started;
	int wake_fd;
	bool nice;
	unsigned under_way; /* loop: given, not taken */

	pthread_mutex_t lock;
	pthread_cond_t given;
	/* below the lock */
	struct queue todo;
	struct queue done;
	bool quit;
};

static void queue_init(struct queue *q)
{
	q->first = NULL;
	q->last = &q->first;
}

static void queue_put(struct queue *q, struct prompt_task *task)
{
	task->next = NULL;
	*q->last = task;
	q->last = &task->next;
}

static struct prompt_task *queue_get(struct queue *q)
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

	/* full: it is awake already */
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return;
}

/* @return NULL: no more */
static struct prompt_task *next_task(struct prompt_worker *w)
{
	struct prompt_task *task = NULL;

	pthread_mutex_lock(&w->lock);
	while (!w->quit && !w->todo.first)
		pthread_cond_wait(&w->given, &w->lock);
	if (!w->quit)
		task = queue_get(&w->todo);
	pthread_mutex_unlock(&w->lock);
	return task;
}

static void *run(void *arg)
{
	struct prompt_worker *w = arg;
	struct scheduling scheduling = {0};
	struct prompt_task *task;

	if (w->nice)
		scheduling_take(&scheduling, SCHEDULING_NICE_ONLY);
	while ((task = next_task(w)) != NULL) {
		task->work(task);
		pthread_mutex_lock(&w->lock);
		queue_put(&w->done, task);
		pthread_mutex_unlock(&w->lock);
		wake(w->wake_fd);
	}
	return NULL;
}

int prompt_worker_new(struct prompt_worker **ret, int wake_fd, bool nice)
{
	struct prompt_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->wake_fd = wake_fd;
	w->nice = nice;
	queue_init(&w->todo);
	queue_init(&w->done);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->given, NULL);
	*ret = w;
	return 0;
}

static int start(struct prompt_worker *w)
{
	sigset_t all, before;
	int err;

	if (w->started)
		return 0;
	/* signals are the loop thread's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&w->thread, NULL, run, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->started = err == 0;
	if (w->started)
		pthread_setname_np(w->thread, "media-prompt");
	return err;
}

int prompt_worker_give(struct prompt_worker *w, struct prompt_task *task)
{
	int err = w->under_way < PROMPT_TASKS_MAX ? start(w) : -EAGAIN;

	if (err)
		return err;
	w->under_way++;
	pthread_mutex_lock(&w->lock);
	queue_put(&w->todo, task);
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
	task = queue_get(&w->done);
	if (!task && w->quit)
		task = queue_get(&w->todo);
	pthread_mutex_unlock(&w->lock);
	if (task)
		w->under_way--;
	return task;
}

void prompt_worker_stop(struct prompt_worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_signal(&w->given);
	pthread_mutex_unlock(&w->lock);
	if (w->started)
		pthread_join(w->thread, NULL);
	w->started = false;
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
