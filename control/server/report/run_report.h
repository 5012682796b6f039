/**
 * Reports of finished runs for other programs: JUnit XML, Markdown, HTML
 * (control/render).
 * Thread: handlers run on worker threads.
 */
#ifndef OFFHOOK_SERVER_REPORT_RUN_REPORT_H
#define OFFHOOK_SERVER_REPORT_RUN_REPORT_H

#include "control/server/request/request.h"

/* GET /runs/:id/report/... */
void run_report_junit(struct request *req, struct reply *rep);
void run_report_markdown(struct request *req, struct reply *rep);
void run_report_html(struct request *req, struct reply *rep);

/* GET /projects/runs/:uuid/report/... */
void project_report_junit(struct request *req, struct reply *rep);
void project_report_markdown(struct request *req, struct reply *rep);
void project_report_html(struct request *req, struct reply *rep);

/** Set `report_url` of a run of store_run_get(), in place of its kiosk_id. */
void run_report_url(const struct request *req, json_t *run);

#endif
