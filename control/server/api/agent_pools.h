/**
 * What agent pools have beyond a plain resource.
 */
#ifndef OFFHOOK_SERVER_API_AGENT_POOLS_H
#define OFFHOOK_SERVER_API_AGENT_POOLS_H

#include "control/server/request/request.h"

/** POST /agent-pools/:id/token: a new join token, the old one ends. */
void agent_pool_token(struct request *req, struct reply *rep);

#endif
