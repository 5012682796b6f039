/**
 * api_handler: list and download the artifacts of runs. Agents upload them
 * (agentapi.h).
 */
#ifndef OFFHOOK_SERVER_API_ARTIFACTS_H
#define OFFHOOK_SERVER_API_ARTIFACTS_H

#include "control/server/request/request.h"

void run_artifacts(struct request *req, struct reply *rep);
void run_artifact_content(struct request *req, struct reply *rep);

#endif
