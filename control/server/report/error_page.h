/**
 * The page that a browser gets in place of problem+json.
 * Thread: worker, HTTP.
 */
#ifndef OFFHOOK_SERVER_REPORT_ERROR_PAGE_H
#define OFFHOOK_SERVER_REPORT_ERROR_PAGE_H

#include "control/server/request/request.h"

/**
 * Reply the page of a problem: what happened, why, what to do next, and where.
 * The caller sets the status.
 * @param problem  body of reply_problem() with instance and request_id;
 *                 borrowed
 * @return 0; -ENOMEM (rep unchanged)
 */
int error_page(const json_t *problem, struct reply *rep);

#endif
