/**
 * api_handler: agents as their operator sees them.
 */
#ifndef OFFHOOK_SERVER_API_AGENTS_H
#define OFFHOOK_SERVER_API_AGENTS_H

#include "control/server/request/request.h"

void agent_replace(struct request *req, struct reply *rep);

#endif
