/**
 * Who sends a request: an API key or an enrolled agent.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_HTTP_AUTH_H
#define OFFHOOK_SERVER_HTTP_AUTH_H

#include "control/server/api/handler.h"

/**
 * Check the Authorization header and set request.right, key_id and agent_id.
 * @return 0; -EACCES missing, wrong, unknown or expired: not told apart;
 *         -EPERM the caller may not use a route of this right; -EIO
 */
int auth_check(struct request *req, enum api_right needed);

#endif
