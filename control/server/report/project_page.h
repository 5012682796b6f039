/**
 * What the page of a project run shows: its runs with links to their reports,
 * signed in or by its public kiosk link, which shows less.
 * Thread: handlers run on worker threads (request.h).
 */
#ifndef OFFHOOK_SERVER_REPORT_PROJECT_PAGE_H
#define OFFHOOK_SERVER_REPORT_PROJECT_PAGE_H

#include "control/server/request/request.h"

void project_data(struct request *req, struct reply *rep);
void project_data_kiosk(struct request *req, struct reply *rep);

#endif
