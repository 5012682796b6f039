/**
 * What is broken and since when: the states of tests, and the overview of all.
 */
#ifndef OFFHOOK_SERVER_API_OVERVIEW_H
#define OFFHOOK_SERVER_API_OVERVIEW_H

#include "control/server/request/request.h"

/** GET /overview */
void overview_get(struct request *req, struct reply *rep);
/** GET /tests/verdicts */
void verdicts_list(struct request *req, struct reply *rep);
/** GET /tests/:id/verdict */
void verdict_get(struct request *req, struct reply *rep);

#endif
