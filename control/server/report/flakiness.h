/**
 * What the failed runs of a flaky test have in common, for clients
 * (docs/reference/flakiness.md).
 * Thread: worker threads; reads the store only.
 */
#ifndef OFFHOOK_SERVER_REPORT_FLAKINESS_H
#define OFFHOOK_SERVER_REPORT_FLAKINESS_H

struct reply;
struct request;

/** GET /tests/:id/flakiness */
void flakiness_get(struct request *req, struct reply *rep);

#endif
