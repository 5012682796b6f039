/** What retention would delete; runs that are kept for ever. */
#ifndef OFFHOOK_SERVER_API_RETENTION_H
#define OFFHOOK_SERVER_API_RETENTION_H

#include "control/server/request/request.h"

/** GET /retention: the limits, what is stored, what is due. */
void retention_get(struct request *req, struct reply *rep);
/** PUT /runs/:id/keep: retention leaves the run as it is. */
void run_keep(struct request *req, struct reply *rep);
/** DELETE /runs/:id/keep */
void run_keep_end(struct request *req, struct reply *rep);

#endif
