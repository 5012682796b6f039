/**
 * The page of a project run: its runs with links to their reports, signed in
 * or by its public kiosk link.
 * Thread: handlers run on worker threads (request.h).
 */
#ifndef OFFHOOK_SERVER_REPORT_PROJECT_PAGE_H
#define OFFHOOK_SERVER_REPORT_PROJECT_PAGE_H

#include "control/server/request/request.h"

void project_page(struct request *req, struct reply *rep);
void project_page_kiosk(struct request *req, struct reply *rep);

#endif
