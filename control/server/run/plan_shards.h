/**
 * Over how many shards a role is divided (docs/internals/orchestration.md, "Shards"): reads the
 * parameter `agents` of its calls, and checks that each shard has calls and accounts of its
 * own. Internal to the planner.
 * Thread: any.
 */
#ifndef OFFHOOK_SERVER_RUN_PLAN_SHARDS_H
#define OFFHOOK_SERVER_RUN_PLAN_SHARDS_H

#include <jansson.h>

struct plan;

/**
 * Set the shards of each role.
 * @param plan  its jobs pass wire_job_decode()
 * @return 0 (see errors); -ENOMEM
 */
int plan_shards(struct plan *plan, json_t *errors);

#endif
