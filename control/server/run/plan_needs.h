/**
 * The capabilities that a job needs of its agent (docs/internals/orchestration.md).
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PLAN_NEEDS_H
#define OFFHOOK_SERVER_RUN_PLAN_NEEDS_H

#include <jansson.h>

/**
 * Add `needs` to a spec: texts KIND:VALUE, each once. Capabilities that every
 * agent has (client native, UDP, PCMU, PCMA, plain RTP) are left out; without
 * needs there is no member.
 * @param spec  in/out, complete
 * @return 0; -ENOMEM
 */
int plan_needs_add(json_t *spec);

/** Add that of an agent that carries out a shard of a role. @return 0; -ENOMEM */
int plan_needs_shards(json_t *spec);

#endif
