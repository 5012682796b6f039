/**
 * What changed between two runs, for clients (docs/reference/differences.md).
 * Thread: worker threads; reads the store only.
 */
#ifndef OFFHOOK_SERVER_REPORT_DIFFERENCES_H
#define OFFHOOK_SERVER_REPORT_DIFFERENCES_H

struct reply;
struct request;

/** GET /runs/:id/differences */
void run_differences(struct request *req, struct reply *rep);

#endif
