/**
 * The query of a request: its pairs, and whether they are parameters of the
 * route.
 * Thread: worker.
 */
#ifndef OFFHOOK_CONTROL_SERVER_REQUEST_QUERY_H
#define OFFHOOK_CONTROL_SERVER_REQUEST_QUERY_H

#include "control/server/request/request.h"

struct MHD_Connection;

/**
 * Read the query, names and values decoded, in the order sent.
 * @return new array of [name, value]; NULL: it is not percent-encoded UTF-8
 */
json_t *query_read(struct MHD_Connection *connection);

/**
 * Answer 422 to names that the route does not have, and to names repeated
 * without permission: a misspelt filter must not select everything.
 * @param query  of query_read(), borrowed
 * @param known  names separated by blanks, `*` behind those that may be
 *               repeated
 * @return true: all is well
 */
bool query_check(const json_t *query, const char *known, struct reply *rep);

/**
 * Append text to a query, percent-encoded except for '/'.
 * Source: RFC 3986 sections 2.1 and 3.4
 * @param dst  in/out, terminated; text that does not fit is left out
 */
void query_escape(char *dst, size_t size, const char *text);

#endif
