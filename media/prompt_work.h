/**
 * The thread that loads and encodes prompts: no other one has to wait for it.
 * Docs: media.md "Sending"
 * Thread: the loop thread, all functions; a task's work() is called by the
 * worker.
 */
#ifndef OFFHOOK_MEDIA_PROMPT_WORK_H
#define OFFHOOK_MEDIA_PROMPT_WORK_H

#include <stdbool.h>

/* Tasks that may be under way. */
#define PROMPT_TASKS_MAX 1024

/** Embedded in what is to be done; the worker's until it is taken. */
struct prompt_task {
	struct prompt_task *next;
	/** Thread: the worker */
	void (*work)(struct prompt_task *task);
	/** Thread: loop; it is done, or (drop) nobody wants it: release it */
	void (*take)(struct prompt_task *task, bool drop);
};

struct prompt_worker;

/** The thread starts with the first task.
 * @param wake_fd  eventfd, written to when a task is done; -1: none
 * @param nice     it takes the nice value that is allowed (scheduling.h)
 * @return 0; -ENOMEM */
int prompt_worker_new(struct prompt_worker **ret, int wake_fd, bool nice);

/** Stop: waits for the task that is being worked on. Others are left, and
 * taken by prompt_worker_take(). */
void prompt_worker_stop(struct prompt_worker *w);

/** After prompt_worker_stop(), and when none is left. @return NULL */
struct prompt_worker *prompt_worker_free(struct prompt_worker *w);

/** @return 0; -EAGAIN PROMPT_TASKS_MAX are under way; -errno: no thread */
int prompt_worker_give(struct prompt_worker *w, struct prompt_task *task);

/** One that is done (after prompt_worker_stop(): or was never begun).
 * @return NULL: none is */
struct prompt_task *prompt_worker_take(struct prompt_worker *w);

#endif
