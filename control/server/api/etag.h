/**
 * Entity tags of single records (RFC 9110 sections 8.8.3 and 13.1).
 * Thread: worker.
 */
#ifndef OFFHOOK_SERVER_API_ETAG_H
#define OFFHOOK_SERVER_API_ETAG_H

#include "control/server/request/request.h"

/* "EDIT-OBSERVED" or "EDIT": the first part changes with what clients may
 * change, the second with all that is shown. If-None-Match compares both,
 * If-Match the first alone: changes by an agent, the clock or a run are no
 * edits that could be lost. */
#define EDIT_HEX_BYTES 32
#define ETAG_BYTES     52 /* with the quotes, the second part and the end */

/**
 * Make the tag of a record.
 * @param edited   those members of it that clients may change
 * @param version  a number that changes with parts of the record that it does
 *                 not show; or 0
 * @param shown    the record as answers show it; NULL: edited is all of it
 * @return 0; -ENOMEM
 */
int etag_make(char tag[static ETAG_BYTES], const json_t *edited,
	      int64_t version, const json_t *shown);

/** True if If-Match, a list of tags ("a", W/"b", or *), lets a change of the
 * record with this tag through. */
bool etag_allows(const char *list, const char *tag);

/** Add the tag to the answer of a GET; make it a 304 where If-None-Match
 * names it. */
void etag_reply(struct request *req, struct reply *rep, const char *tag);

#endif
