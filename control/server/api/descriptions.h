/** GET /descriptions: what a test is made of. Thread: worker. */
#ifndef OFFHOOK_CONTROL_SERVER_API_DESCRIPTIONS_H
#define OFFHOOK_CONTROL_SERVER_API_DESCRIPTIONS_H

#include "control/server/request/request.h"

void descriptions_get(struct request *req, struct reply *rep);

#endif
