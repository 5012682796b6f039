#include "agent/supervisor/engine_pool.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Most runs need a caller and a callee, often on one agent. */
#define ENGINE_POOL_MAX 2
/* Delay before a taken process is replaced: not while its job begins. */
#define REFILL_MS 1000

struct slot {
	struct engine_process *process; /* NULL: none waits here */
};

struct engine_pool {
	struct event_loop *loop;
	const char *program;
	struct event_loop_timer refill;
	size_t size;
	struct slot slots[ENGINE_POOL_MAX];
};

/* It is replaced after the next job, to avoid a loop of failing starts. */
static void on_idle_end(const char *how, void *arg)
{
	struct slot *slot = arg;

	log_warning("an engine process that waited for a job ended: %s", how);
	slot->process = engine_process_free(slot->process);
}

static void on_idle_message(json_t *message, void *arg)
{
	(void)message; /* an engine says nothing before it has a job */
	(void)arg;
}

static void refill(void *arg)
{
	struct engine_pool *pool = arg;

	for (size_t i = 0; i < pool->size; i++) {
		struct slot *slot = &pool->slots[i];
		const struct engine_process_handlers idle = {
			.message_h = on_idle_message,
			.end_h = on_idle_end,
			.arg = slot,
		};
		int err;

		if (slot->process)
			continue;
		err = engine_process_start(&slot->process, pool->loop,
					   pool->program, &idle);
		if (err) {
			log_warning("no engine process can be started ahead: "
				    "%s",
				    strerror(-err));
			return;
		}
	}
}

int engine_pool_new(struct engine_pool **ret, struct event_loop *loop,
		    const char *program, size_t size)
{
	struct engine_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	pool->loop = loop;
	pool->program = program;
	pool->size = size < ENGINE_POOL_MAX ? size : ENGINE_POOL_MAX;
	pool->refill.due_h = refill;
	pool->refill.arg = pool;
	refill(pool);
	*ret = pool;
	return 0;
}

int engine_pool_take(struct engine_pool *pool, struct engine_process **ret,
		     const struct engine_process_handlers *handlers)
{
	event_loop_arm(pool->loop, &pool->refill, REFILL_MS);
	for (size_t i = 0; i < pool->size; i++) {
		struct engine_process *waiting = pool->slots[i].process;

		if (!waiting)
			continue;
		pool->slots[i].process = NULL;
		engine_process_hand_over(waiting, handlers);
		*ret = waiting;
		return 0;
	}
	return engine_process_start(ret, pool->loop, pool->program, handlers);
}

struct engine_pool *engine_pool_free(struct engine_pool *pool)
{
	if (!pool)
		return NULL;
	event_loop_disarm(pool->loop, &pool->refill);
	for (size_t i = 0; i < pool->size; i++)
		engine_process_free(pool->slots[i].process);
	free(pool);
	return NULL;
}
