/**
 * Starting runs: POST /tests/run and POST /tests/:id/run (docs/reference/api.md), and
 * what other starts share with them.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_START_H
#define OFFHOOK_SERVER_API_START_H

#include "control/server/request/request.h"

/** POST /tests/run: the test is named by test.id or test.name. */
void test_run_legacy(struct request *req, struct reply *rep);

/** POST /tests/:id/run */
void test_run(struct request *req, struct reply *rep);

/**
 * Start a run of a test with the overrides of the request's body, and answer; or answer
 * with the run that request_started() names.
 * @param test    as store_test_load() makes it; taken over
 * @param known   NULL-terminated: keys of the body that the caller has read
 * @param errors  what the caller found wrong with them; taken over
 */
void start_test(struct request *req, struct reply *rep, json_t *test,
		const char *const *known, json_t *errors);

/** The 409 of a repeated start (request_started()): what it started is deleted. */
void start_reply_deleted(struct reply *rep);

/** The 422 of a start: {pointer, detail} each. */
void start_refuse(struct reply *rep, const json_t *errors);

#endif
