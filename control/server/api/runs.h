/**
 * Runs: list, read, stop, delete; the latest of a test or project.
 */
#ifndef OFFHOOK_SERVER_API_RUNS_H
#define OFFHOOK_SERVER_API_RUNS_H

#include "control/server/request/request.h"

void runs_list(struct request *req, struct reply *rep);
void run_get(struct request *req, struct reply *rep);
void run_status(struct request *req, struct reply *rep);
void run_stop_request(struct request *req, struct reply *rep);
void run_delete(struct request *req, struct reply *rep);
/** PUT /runs/:id/kiosk: the run gets a public link, or keeps its own. */
void run_kiosk_share(struct request *req, struct reply *rep);
/** DELETE /runs/:id/kiosk: the public link ends. */
void run_kiosk_revoke(struct request *req, struct reply *rep);
void test_status_last(struct request *req, struct reply *rep);
void project_status_last(struct request *req, struct reply *rep);

/* stats.c */
void run_stats_dimensions(struct request *req, struct reply *rep);
void run_stats_data(struct request *req, struct reply *rep);
void test_stats_dimensions(struct request *req, struct reply *rep);
void test_stats_data(struct request *req, struct reply *rep);

#endif
