/**
 * Entity tags of single records (RFC 9110 sections 8.8.3 and 13.1).
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_ETAG_H
#define OFFHOOK_SERVER_API_ETAG_H

#include "control/server/request/request.h"

/* "EDIT-OBSERVED" or "EDIT". The first part changes with the members that
 * clients may change, the second with all members shown. If-None-Match compares
 * both parts, If-Match only the first: a change by an agent, the clock or a run
 * is not an edit that could be lost. */
#define EDIT_HEX_BYTES 32
#define ETAG_BYTES     52 /* both parts, quotes, terminator */

/**
 * Make the tag of a record.
 * @param edited   the members that clients may change
 * @param version  a number that changes with parts of the record that are not
 *                 shown; or 0
 * @param shown    the record as answers show it; NULL: the same as edited
 * @return 0; -ENOMEM
 */
int etag_make(char tag[static ETAG_BYTES], const json_t *edited,
	      int64_t version, const json_t *shown);

/** True if If-Match, a list of tags ("a", W/"b", or *), allows a change of the
 * record with this tag. */
bool etag_allows(const char *list, const char *tag);

/** Add the tag to the answer of a GET; make it a 304 if If-None-Match names the
 * tag. */
void etag_reply(struct request *req, struct reply *rep, const char *tag);

#endif
