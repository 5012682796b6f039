/**
 * The part of GET /metrics about tests: the last verdict of each and the
 * figures of that run (docs/reference/metrics.md).
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_REPORT_TEST_METRICS_H
#define OFFHOOK_SERVER_REPORT_TEST_METRICS_H

#include "base/buf.h"

struct store;

/** Append the metrics of all tests. @return 0; -EIO; -ENOMEM; -EMSGSIZE */
int test_metrics_put(struct buf *text, struct store *store);

#endif
