/**
 * What is looked at before a request's body: its route, who sends it, what
 * they may do, and how often they ask. The http layer's own.
 */
#ifndef OFFHOOK_SERVER_HTTP_ADMIT_H
#define OFFHOOK_SERVER_HTTP_ADMIT_H

#include "control/server/http/exchange.h"

/** Thread: HTTP. @return the rule of a route that takes uploads; or NULL */
const struct http_upload *admit_upload(struct exchange *x);

/** Set the request's id, the client's own if it can do no harm in a log or a
 * header. Done once; later calls keep it. */
void admit_request_id(struct exchange *x);

/**
 * Fill the request but its body and store, and check it with the store it has.
 * Done once; later calls are true.
 * Thread: worker.
 * @return false: the reply says why not
 */
bool admit(struct exchange *x, struct reply *rep);

#endif
