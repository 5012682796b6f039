/**
 * Checks before the body of a request is read: route, credentials, rights and
 * request rate. The http layer's own.
 */
#ifndef OFFHOOK_SERVER_HTTP_ADMIT_H
#define OFFHOOK_SERVER_HTTP_ADMIT_H

#include "control/server/http/exchange.h"

/** True if the request is a browser's for a page: its errors are pages, too.
 * Thread: any. */
bool admit_is_page(const struct exchange *x);

/** Find the table with the longest prefix of the path. Thread: any.
 * @return static; NULL: there is none */
const struct route_table *admit_table(const struct exchange *x);

/** Find the upload rule of a request's route. Thread: HTTP.
 * @return static; NULL: the route takes no uploads */
const struct http_upload *admit_upload(struct exchange *x);

/** Set the request id: the client's, if it is safe in a log line and a header
 * field, else a new one. Later calls keep it. */
void admit_request_id(struct exchange *x);

/**
 * Fill in the request except its body and store, and check it. The work is done
 * once; later calls return true.
 * Thread: worker.
 * @return false: the reply says why not
 */
bool admit(struct exchange *x, struct reply *rep);

#endif
