/**
 * The threads that load and encode prompts, so that no other thread waits for
 * it.
 * Docs: docs/internals/media.md "Sending"
 * Thread: the loop thread, all functions; a worker calls a task's work().
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_WORK_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Tasks that may be in progress at the same time. */
#define PROMPT_TASKS_MAX   1024
#define PROMPT_THREADS_MAX 4

/** Embedded in its owner. It belongs to the worker until it is taken. */
struct prompt_task {
	struct prompt_task *next;
	/* monotonic; the task that is due first is worked on first. work() may
	 * change both */
	int64_t due_ns;
	int64_t begin_ns; /* not worked on before this time */
	/** Do a part of the task, of a few milliseconds if other tasks wait.
	 * Thread: a worker
	 * @return true: there is more to do */
	bool (*work)(struct prompt_task *task);
	/** The task is done, or (drop) not needed any more: release it. Thread:
	 * loop */
	void (*take)(struct prompt_task *task, bool drop);
};

struct prompt_worker;

/**
 * Create a worker. Threads are started when there are tasks.
 * @param wake_fd  eventfd, written to when a task is done; -1: none
 * @param nice     the threads lower their nice value as far as allowed
 *                 (scheduling.h)
 * @param threads  maximum, 1..PROMPT_THREADS_MAX
 * @return 0; -ENOMEM
 */
int prompt_worker_new(struct prompt_worker **ret, int wake_fd, bool nice,
		      unsigned threads);

/** Stop the threads: waits for the parts being worked on. Unfinished tasks are
 * returned by prompt_worker_take(). */
void prompt_worker_stop(struct prompt_worker *w);

/** Release the worker, after prompt_worker_stop() and when no task is left.
 * @return NULL */
struct prompt_worker *prompt_worker_free(struct prompt_worker *w);

/** Give a task to the worker.
 * @return 0; -EAGAIN PROMPT_TASKS_MAX are in progress; -errno: no thread */
int prompt_worker_give(struct prompt_worker *w, struct prompt_task *task);

/** Take a task that is done (after prompt_worker_stop() also an unfinished
 * one).
 * @return NULL: none */
struct prompt_task *prompt_worker_take(struct prompt_worker *w);

#endif
