/**
 * Who changed what: GET /audit.
 */
#ifndef OFFHOOK_SERVER_API_AUDIT_H
#define OFFHOOK_SERVER_API_AUDIT_H

#include "control/server/request/request.h"

void audit_list(struct request *req, struct reply *rep);

#endif
