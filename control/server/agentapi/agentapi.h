/**
 * The agent protocol below /api/v2/agent (docs/internals/wire.md):
 * handlers of the API's route table.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_AGENTAPI_AGENTAPI_H
#define OFFHOOK_SERVER_AGENTAPI_AGENTAPI_H

#include "control/server/request/request.h"

void agent_register(struct request *req, struct reply *rep);
void agent_poll(struct request *req, struct reply *rep);
void agent_disconnect(struct request *req, struct reply *rep);
void agent_lease_start(struct request *req, struct reply *rep);
void agent_lease_renew(struct request *req, struct reply *rep);
void agent_lease_barrier(struct request *req, struct reply *rep);
void agent_lease_stats(struct request *req, struct reply *rep);
void agent_lease_events(struct request *req, struct reply *rep);
void agent_lease_sip(struct request *req, struct reply *rep);
void agent_lease_artifact(struct request *req, struct reply *rep);
void agent_lease_finish(struct request *req, struct reply *rep);

#endif
