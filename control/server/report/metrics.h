/**
 * GET /metrics: the controller's figures in the text format of Prometheus
 * (exposition format 0.0.4), docs/reference/controller.md.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_REPORT_METRICS_H
#define OFFHOOK_SERVER_REPORT_METRICS_H

#include "control/server/request/request.h"

void metrics_get(struct request *req, struct reply *rep);

#endif
