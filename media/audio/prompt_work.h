/**
 * The threads that load and encode prompts: no other one has to wait for them.
 * Docs: docs/internals/media.md "Sending"
 * Thread: the loop thread, all functions; a task's work() is called by one of
 * the workers.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_PROMPT_WORK_H
#define OFFHOOK_MEDIA_AUDIO_PROMPT_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Tasks that may be under way. */
#define PROMPT_TASKS_MAX   1024
#define PROMPT_THREADS_MAX 4

/** Embedded in what is to be done; the worker's until it is taken. */
struct prompt_task {
	struct prompt_task *next;
	/* monotonic; what is due first goes first. work() may change them */
	int64_t due_ns;
	int64_t begin_ns; /* it is not worked on before */
	/** A part of it, of a few milliseconds where others wait for theirs.
	 * Thread: a worker @return true: there is more to do */
	bool (*work)(struct prompt_task *task);
	/** Thread: loop; it is done, or (drop) nobody wants it: release it */
	void (*take)(struct prompt_task *task, bool drop);
};

struct prompt_worker;

/** Threads start as there are tasks for them.
 * @param wake_fd  eventfd, written to when a task is done; -1: none
 * @param nice     they take the nice value that is allowed (scheduling.h)
 * @param threads  1..PROMPT_THREADS_MAX
 * @return 0; -ENOMEM */
int prompt_worker_new(struct prompt_worker **ret, int wake_fd, bool nice,
		      unsigned threads);

/** Stop: waits for what is being worked on. The rest is left, and taken by
 * prompt_worker_take(). */
void prompt_worker_stop(struct prompt_worker *w);

/** After prompt_worker_stop(), and when none is left. @return NULL */
struct prompt_worker *prompt_worker_free(struct prompt_worker *w);

/** @return 0; -EAGAIN PROMPT_TASKS_MAX are under way; -errno: no thread */
int prompt_worker_give(struct prompt_worker *w, struct prompt_task *task);

/** One that is done (after prompt_worker_stop(): or is not).
 * @return NULL: none is */
struct prompt_task *prompt_worker_take(struct prompt_worker *w);

#endif
