/**
 * Scenarios (docs/reference/api.md): list them, and run one without a stored
 * test.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_SCENARIOS_H
#define OFFHOOK_SERVER_API_SCENARIOS_H

#include "control/server/request/request.h"

void scenarios_list(struct request *req, struct reply *rep);
void scenario_get(struct request *req, struct reply *rep);
void scenario_params_get(struct request *req, struct reply *rep);
void scenario_conditions_get(struct request *req, struct reply *rep);

/** GET /scenarios/:name/test: what POST /tests stores, without accounts */
void scenario_test_get(struct request *req, struct reply *rep);

/** POST /tests/scenarios/:name */
void scenario_run(struct request *req, struct reply *rep);

#endif
