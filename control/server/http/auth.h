/**
 * Authentication of requests: by API key, agent secret, or the session of a
 * user who has signed in to the pages.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_HTTP_AUTH_H
#define OFFHOOK_SERVER_HTTP_AUTH_H

#include "control/server/request/request.h"

/**
 * Check the Authorization header, or without one the session's cookie, and set
 * request.right, key_id and agent_id.
 * @return 0; -EACCES missing, wrong, unknown or expired (not distinguished);
 *         -EPERM the caller may not use a route of this right; -ESTALE a
 *         change by cookie without the session's X-CSRF-Token; -EIO
 */
int auth_check(struct request *req, enum api_right needed);

#endif
