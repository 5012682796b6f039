/**
 * Idempotency-Key: a run start is carried out once for each key.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_HTTP_REPEAT_H
#define OFFHOOK_SERVER_HTTP_REPEAT_H

#include "control/server/request/request.h"

#define REPEAT_NAME_BYTES 256

/**
 * Call the route's handler. For a run start with an Idempotency-Key that has
 * already been answered, repeat that reply instead.
 */
void repeat_serve(const struct route *route, struct request *req,
		  struct reply *rep);

#endif
