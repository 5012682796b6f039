/**
 * Starting runs: POST /tests/run and POST /tests/:id/run (contract 4.1).
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_START_H
#define OFFHOOK_SERVER_API_START_H

#include "control/server/api/handler.h"

/** POST /tests/run: the test is named by test.id or test.name. */
void test_run_legacy(struct request *req, struct reply *rep);

/** POST /tests/:id/run */
void test_run(struct request *req, struct reply *rep);

#endif
