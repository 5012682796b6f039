/**
 * api_handler: agents and their pools as their operator sees them.
 */
#ifndef OFFHOOK_SERVER_API_AGENTS_H
#define OFFHOOK_SERVER_API_AGENTS_H

#include "control/server/request/request.h"

void agent_replace(struct request *req, struct reply *rep);

/** POST /agent-pools/:id/token: a new join token, the old one ends. */
void agent_pool_token(struct request *req, struct reply *rep);

#endif
