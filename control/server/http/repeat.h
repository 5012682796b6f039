/**
 * Run starts that carry an Idempotency-Key happen once.
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_HTTP_REPEAT_H
#define OFFHOOK_SERVER_HTTP_REPEAT_H

#include "control/server/request/request.h"

#define REPEAT_NAME_BYTES 256

/**
 * Call the route's handler, or answer what it answered to the same request of
 * the same key before. Routes other than run starts, and requests without the
 * header, are simply served.
 */
void repeat_serve(const struct route *route, struct request *req,
		  struct reply *rep);

#endif
