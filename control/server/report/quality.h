/**
 * What the captured packets of a run give behind other de-jitter buffers and with
 * another codec (docs/reference/rescore.md).
 * Thread: worker threads; reads the store only.
 */
#ifndef OFFHOOK_SERVER_REPORT_QUALITY_H
#define OFFHOOK_SERVER_REPORT_QUALITY_H

struct reply;
struct request;

/* Streams of a role; the packets of further ones are counted. They take 110 KiB
 * each while a request is served. */
#define QUALITY_STREAMS_MAX 100

/** GET /runs/:id/quality */
void run_quality(struct request *req, struct reply *rep);

#endif
