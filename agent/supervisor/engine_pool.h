/**
 * Engine processes that are started ahead and wait for a job. Starting one takes
 * some 20 ms (libraries are loaded and initialised), which a run with an idle agent does not
 * have to wait for. A process carries out one job and is never used again.
 * Thread: the loop's.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_ENGINE_POOL_H
#define OFFHOOK_AGENT_SUPERVISOR_ENGINE_POOL_H

#include "agent/supervisor/engine_process.h"

#include <stddef.h>

struct engine_pool;

/**
 * Start the first processes. A failure is no error here: the process is started,
 * and the failure reported, when a job needs it.
 * @param program  started with --engine=FD; borrowed, outlives the pool
 * @param size     how many jobs the agent takes at a time; two wait at most
 * @return 0; -ENOMEM
 */
int engine_pool_new(struct engine_pool **ret, struct event_loop *loop,
		    const char *program, size_t size);

/**
 * Take a process for a job: one that waits, else start one.
 * @param ret  the caller's, as from engine_process_start()
 * @return as engine_process_start()
 */
int engine_pool_take(struct engine_pool *pool, struct engine_process **ret,
		     const struct engine_process_handlers *handlers);

/** Kill the processes that wait, and free the pool. @return NULL */
struct engine_pool *engine_pool_free(struct engine_pool *pool);

#endif
