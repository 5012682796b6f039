/**
 * The engine processes of one job: one, or several that share it
 * (docs/internals/engine.md). What several report is handed out as if one had.
 * Thread: the loop's; handlers too.
 */
#ifndef OFFHOOK_AGENT_SUPERVISOR_ENGINE_GROUP_H
#define OFFHOOK_AGENT_SUPERVISOR_ENGINE_GROUP_H

#include "agent/supervisor/engine_pool.h"

#include <jansson.h>
#include <stdint.h>

struct engine_group;

struct engine_group_params {
	uint32_t engines;    /* 1 to WIRE_ENGINES_MAX */
	uint32_t interval_s; /* of the job's statistics */
	const char *role;    /* borrowed */
	int64_t cancel_ms; /* for engines to end after another one has failed */
	/* message_h of the job; end_h once, when all processes have ended */
	struct engine_process_handlers handlers;
};

/** Take the processes from the pool. @return as engine_pool_take(); -ENOMEM */
int engine_group_new(struct engine_group **ret, struct engine_pool *pool,
		     const struct engine_group_params *params);
/** Kill the processes that run, and free it. Accepts NULL. @return NULL */
struct engine_group *engine_group_free(struct engine_group *g);

/** Send a job to all: to each of several with its share of it.
 * @param job  the message, borrowed @return as engine_process_send(); -ENOMEM */
int engine_group_job(struct engine_group *g, json_t *job);
/** Send a message to all that run. @return as engine_process_send() */
int engine_group_send(struct engine_group *g, json_t *message);

/** Over how many processes the job was divided. */
uint32_t engine_group_count(const struct engine_group *g);

/** Within message_h: the text of the message as an engine sent it.
 * @return NULL: it is made of those of several engines */
const char *engine_group_text(const struct engine_group *g, size_t *ret_len);

/** As engine_process_kill(), of all. */
void engine_group_kill(struct engine_group *g);
/** As engine_process_kill_after(), of all. */
void engine_group_kill_after(struct engine_group *g, int64_t delay_ms);

#endif
