/**
 * api_handler: agents and agent pools, for operators.
 */
#ifndef OFFHOOK_SERVER_API_AGENTS_H
#define OFFHOOK_SERVER_API_AGENTS_H

#include "control/server/request/request.h"

void agent_replace(struct request *req, struct reply *rep);

/** POST /agent-pools/:id/token: make a new join token; the old one becomes
 * invalid. */
void agent_pool_token(struct request *req, struct reply *rep);

#endif
