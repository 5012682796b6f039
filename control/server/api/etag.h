/**
 * Entity tags of single records (RFC 9110 sections 8.8.3 and 13.1).
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_ETAG_H
#define OFFHOOK_SERVER_API_ETAG_H

#include "control/server/api/handler.h"

#define ETAG_BYTES 35 /* quotes, 16 bytes of hex, terminator */

/**
 * Make the tag of a record.
 * @param shown    the record as answers show it
 * @param version  a number that changes with the record, where it does not
 *                 show all of it; or 0
 * @return 0; -ENOMEM
 */
int etag_make(char tag[static ETAG_BYTES], const json_t *shown,
	      int64_t version);

/** True if a list of tags ("a", W/"b", or *) names this one. */
bool etag_listed(const char *list, const char *tag);

/** Add the tag to the answer of a GET; make it a 304 where If-None-Match
 * names it. */
void etag_reply(struct request *req, struct reply *rep, const char *tag);

#endif
