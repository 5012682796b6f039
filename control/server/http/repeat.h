/**
 * Idempotency-Key: a run start is carried out once for each key.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_HTTP_REPEAT_H
#define OFFHOOK_SERVER_HTTP_REPEAT_H

#include "control/server/request/request.h"

#define REPEAT_NAME_BYTES 256

/**
 * Call the route's handler, or repeat the reply to the same request with the
 * same Idempotency-Key. Routes other than run starts, and requests without the
 * header, are simply served.
 */
void repeat_serve(const struct route *route, struct request *req,
		  struct reply *rep);

#endif
